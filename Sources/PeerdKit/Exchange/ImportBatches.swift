internal import CRDTCore

/// The objects of a file in batches that each fit into one transaction, each read when it is asked for.
package struct ImportBatches {
    private let file: ImportFile
    private var place = 0
    /// Parts of objects that are still to come.
    private var pieces: ArraySlice<ImportedObject> = []

    /// Well below what one change can hold.
    private static let operationCountMax = 4096
    private static let byteCountMax = 64 << 10

    package init(_ file: ImportFile) { self.file = file }

    /// Returns the next batch; nil behind the last.
    package mutating func next() throws -> [ImportedObject]? {
        var (batch, operationCount, byteCount): ([ImportedObject], Int, Int) = ([], 0, 0)
        while let object = try self.piece() {
            let operations = object.properties.count + 2
            if !batch.isEmpty,
                batch.count >= ImportFile.batchObjectCountMax || operationCount + operations > Self.operationCountMax
                    || byteCount + object.byteCount > Self.byteCountMax || object.isContinuation
            {
                return batch
            }
            self.pieces.removeFirst()
            batch.append(object)
            operationCount += operations
            byteCount += object.byteCount
        }
        return batch.isEmpty ? nil : batch
    }

    private mutating func piece() throws -> ImportedObject? {
        if self.pieces.isEmpty, self.place < self.file.count {
            self.pieces = try self.file.object(at: self.place).pieces(byteCountMax: Self.byteCountMax)[...]
            self.place += 1
        }
        return self.pieces.first
    }
}

extension ImportFile {
    package static let batchObjectCountMax = 512
}

extension ImportedObject {
    fileprivate var byteCount: Int {
        self.properties.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.utf8.count }
    }

    /// The object in parts, each with some of its properties: it may have come to hold more than one transaction can.
    fileprivate func pieces(byteCountMax: Int) -> [ImportedObject] {
        var pieces: [ImportedObject] = []
        var piece = self
        piece.properties = [:]
        var byteCount = 0
        for (name, text) in self.properties.sorted(by: { $0.key < $1.key }) {
            let added = name.text.utf8.count + text.utf8.count
            if !piece.properties.isEmpty, byteCount + added > byteCountMax || piece.properties.count >= 1 << 12 {
                pieces.append(piece)
                (piece.properties, piece.isContinuation, byteCount) = ([:], true, 0)
            }
            piece.properties[name] = text
            byteCount += added
        }
        return pieces + [piece]
    }
}
