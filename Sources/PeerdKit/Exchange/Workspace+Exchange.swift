internal import CRDTCore
internal import Engine
public import Foundation
internal import PeerCrypto
internal import Persistence

extension Workspace {
    /// What an import has done so far.
    public struct ImportReport: Hashable, Sendable, Codable {
        /// Objects taken in.
        public let objectCount: Int
        /// Objects of the file.
        public let totalCount: Int
    }

    /// Takes in objects that ``export(to:under:)`` wrote, or any JSON array of objects of this form.
    ///
    /// Members of an object: `type`; `kind`; `id` (a UUID) or `key` (text from which, with the type, the id is
    /// derived), or neither for a random one; `parent` (an id), or `parent_key` with `parent_type`; `position`
    /// (siblings are put in its order, as text); `properties`. An export's other members are not taken over: this is a
    /// new edit by this machine. Objects that are there already get the file's properties and place.
    ///
    /// - Parameters:
    ///   - json: the array.
    ///   - progress: called after each transaction.
    /// - Returns: how many objects were taken in.
    /// - Throws: ``PeerdError`` with `importInvalid`, and nothing was imported; `readOnly`, `closed`, and what a disk
    ///   can refuse, and the objects of former transactions stay: importing the rest again does no harm.
    @discardableResult
    public func importObjects(
        from json: Data,
        progress: (@Sendable (ImportReport) -> Void)? = nil
    ) async throws -> ImportReport {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else { throw PeerdError.noRandomness }
        let file = try ImportFile(parsing: json) {
            ObjectID(random: Bytes16(high: entropy.nextUInt64(), low: entropy.nextUInt64()))
        }
        var count = 0
        for batch in file.batches {
            try Task.checkCancellation()
            count += try await self.importBatch(batch)
            progress?(ImportReport(objectCount: count, totalCount: file.objects.count))
        }
        return ImportReport(objectCount: count, totalCount: file.objects.count)
    }

    /// Takes in objects as one transaction.
    ///
    /// Objects that are there already get only what differs. Returns how many begin with these.
    package func importBatch(_ objects: [ImportedObject]) async throws -> Int {
        let driver = try self.driver()
        let namespace = self.identity.objectNamespace
        let steps = try await self.reading { transaction in
            var plan = ImportPlan(namespace: namespace)
            for object in objects { try plan.add(object, in: &transaction) }
            return plan.steps
        }
        if !steps.isEmpty { _ = try await driver.write(Transaction(steps)).mapError { PeerdError($0) }.get() }
        return objects.count { !$0.isContinuation }
    }

    /// Writes all objects, or one with what is below it, as canonical JSON: equal bytes wherever the same is in force.
    ///
    /// The file is of one moment. It is written under another name and then put in its place, and only its owner can
    /// read it.
    ///
    /// - Parameters:
    ///   - file: where to write it; replaced if it is there.
    ///   - object: the object at the top; nil for everything.
    /// - Throws: ``PeerdError`` with `noSuchObject`, or what a disk can refuse; then nothing was replaced.
    /// - Complexity: O(*n*) in the objects, with memory for a page of them; for one object, for what is below it.
    public func export(to file: URL, under object: ObjectID? = nil) async throws {
        let temporary = file.deletingLastPathComponent()
            .appendingPathComponent(".\(file.lastPathComponent).\(UUID().uuidString)")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: temporary.path, contents: nil, attributes: attributes) else {
            throw PeerdError(
                .storageFailed,
                "\(temporary.deletingLastPathComponent().path) cannot be written to.",
                advice: "Choose another place."
            )
        }
        do {
            try await self.reading { transaction in
                let handle = try FileHandle(forWritingTo: temporary)
                defer { try? handle.close() }
                var root: ObjectIndex?
                if let object {
                    guard let index = try transaction.existingObjectIndex(of: object),
                        try transaction.object(index).isVisible
                    else { throw PeerdError(.noSuchObject, "There is no object \(object).", advice: "Look again.") }
                    root = index
                }
                try ExportText.write(under: root, in: &transaction) { bytes in try handle.write(contentsOf: bytes) }
                try handle.synchronize()
            }
            guard rename(temporary.path, file.path) == 0 else {
                throw PeerdError(
                    .storageFailed,
                    "\(file.path) cannot be replaced: \(SystemText.ofErrno()).",
                    advice: "Choose another place."
                )
            }
        } catch {
            try? FileManager.default.removeItem(at: temporary)
            if error is PeerdError || error is CancellationError { throw error }
            throw PeerdError(
                .storageFailed,
                "The export could not be written: \(error.localizedDescription)",
                advice: "Make room, or choose another place."
            )
        }
    }
}

/// The canonical export, written object by object instead of as one array of bytes.
package enum ExportText {
    /// How many objects are looked up at once.
    private static let pageCount = 256
    private static let pieceByteCount = 64 << 10

    /// Writes exactly the bytes of `StateExport.json(under:of:)`, in pieces.
    package static func write(
        under root: ObjectIndex?,
        in transaction: inout some StoreTransaction,
        to write: ([UInt8]) throws -> Void
    ) throws {
        guard root == nil else {
            // Its objects must be sorted, so that they are in memory anyway.
            return try write(try StateExport.json(under: root, of: &transaction))
        }
        var last: ObjectID?
        var bytes = Array("[".utf8)
        var isFirst = true
        while true {
            let page = try transaction.visibleObjects(after: last, limit: Self.pageCount)
            for object in page {
                bytes += (isFirst ? "\n" : ",\n").utf8
                isFirst = false
                last = try transaction.object(object).id
                try StateExport.json(of: object, in: &transaction).append(to: &bytes)
                guard bytes.count >= Self.pieceByteCount else { continue }
                try write(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
            if page.count < Self.pageCount { break }
        }
        bytes += (isFirst ? "]\n" : "\n]\n").utf8
        try write(bytes)
    }
}
