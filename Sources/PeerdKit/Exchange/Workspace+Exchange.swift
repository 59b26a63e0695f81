internal import CRDTCore
internal import Engine
public import Foundation
internal import PeerCrypto
internal import Persistence

extension Workspace {
    /// The progress of an import.
    public struct ImportReport: Hashable, Sendable, Codable {
        /// The number of objects that were imported.
        public let objectCount: Int
        /// The number of objects in the file.
        public let totalCount: Int
        /// What was done otherwise than the file says, as sentences.
        public let notes: [String]
    }

    /// Imports objects from JSON, as ``export(to:under:)`` writes it.
    ///
    /// The text is an array of objects with these members, all but `type` optional:
    ///
    /// - `type` and `kind`: text.
    /// - `id`: a UUID. Or `key`: text from which, with the type, the id is derived. Without both the id is random.
    /// - `parent`, an id; or `parent_key` and `parent_type`.
    /// - `position`: text; siblings are sorted by it.
    /// - `properties`: an object with the values by name.
    ///
    /// The other members of an export are ignored, since an import is a new edit by this machine. Objects that exist
    /// already get the properties and the place in the file.
    ///
    /// - Parameters:
    ///   - json: the text of the array.
    ///   - branch: the branch that takes the edits; nil for the main timeline.
    ///   - progress: a function that is called after each transaction.
    /// - Returns: the number of objects.
    /// - Throws: ``PeerdError`` with `importInvalid` or `noSuchBranch`, and nothing was imported. With `readOnly`,
    ///   `closed`, what a disk can refuse, or `CancellationError`, the objects of earlier transactions stay; the import
    ///   can be repeated.
    /// - Complexity: O(*n*) in the bytes of the text; memory for the place of each object.
    @discardableResult
    public func importObjects(
        from json: Data,
        on branch: BranchID? = nil,
        progress: (@Sendable (ImportReport) -> Void)? = nil
    ) async throws -> ImportReport {
        try await self.importObjects(from: ImportText(json), on: branch, progress: progress)
    }

    /// The same, of a text that need not be in memory.
    package func importObjects(
        from text: ImportText,
        on branch: BranchID? = nil,
        progress: (@Sendable (ImportReport) -> Void)? = nil
    ) async throws -> ImportReport {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else { throw PeerdError.noRandomness }
        let file = try ImportFile(reading: text) {
            ObjectID(random: Bytes16(high: entropy.nextUInt64(), low: entropy.nextUInt64()))
        }
        let notes = try await self.notes(on: file, branch)
        return try await self.action {
            var (count, writtenCount) = (0, 0)
            var batches = ImportBatches(file)
            while let batch = try batches.next() {
                try Task.checkCancellation()
                do {
                    count += try await self.importBatch(batch, on: branch)
                } catch let error as PeerdError {
                    throw error.behind(writtenCount).naming(batch)
                }
                writtenCount += 1
                progress?(ImportReport(objectCount: count, totalCount: file.count, notes: notes))
            }
            return ImportReport(objectCount: count, totalCount: file.count, notes: notes)
        }
    }

    /// Checks the file against the workspace before anything is written; returns what will not be as the file says.
    private func notes(on file: ImportFile, _ branch: BranchID?) async throws -> [String] {
        let (strangers, typeless) = file.placesToCheck()
        guard !strangers.isEmpty || !typeless.isEmpty else { return [] }
        let plan = ImportPlan(user: self.identity.user, namespace: self.identity.objectNamespace)
        return try await self.reading(at: branch.map { .branch($0) }) { state in
            for place in typeless {
                let object = try file.object(at: place)
                guard try !plan.isKnown(object.reference, in: &state) else { continue }
                let what = "has no \"type\", and is not in the workspace"
                throw ImportFile.failure(object.number, line: object.line, what)
            }
            var (first, count): (ImportedObject?, Int) = (nil, 0)
            for place in strangers {
                let object = try file.object(at: place)
                guard let parent = object.parent, try !plan.isKnown(parent, in: &state) else { continue }
                count += 1
                if object.number < first?.number ?? .max { first = object }
            }
            return first.map { ["\($0.strangerSentence(count: count))"] } ?? []
        }
    }

    /// Imports objects as one transaction.
    ///
    /// Objects that are there already get only what differs. Returns the number of objects that begin in this batch.
    package func importBatch(_ objects: [ImportedObject], on branch: BranchID? = nil) async throws -> Int {
        let driver = try self.driver()
        let identity = self.identity
        let steps = try await self.reading(at: branch.map { .branch($0) }) { state in
            var plan = ImportPlan(user: identity.user, namespace: identity.objectNamespace)
            for object in objects { try plan.add(object, in: &state) }
            return plan.steps
        }
        if !steps.isEmpty {
            let answer = await driver.write(Transaction(steps), on: branch)
            _ = try answer.mapError { PeerdError($0) }.get()
        }
        return objects.count { !$0.isContinuation }
    }

    /// Writes all objects, or one and everything below it, to a file as canonical JSON.
    ///
    /// Machines that have seen the same changes write the same bytes. The file shows one moment. It replaces an old one
    /// only when it is complete, and only its owner can read it.
    ///
    /// - Parameters:
    ///   - file: the file to write or replace.
    ///   - object: the object at the top; nil for all objects.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `closed`, or what a disk can refuse; `CancellationError`. An old
    ///   file stays.
    /// - Complexity: O(*n*) in the objects, with memory for a part of them. With an object at the top, O(*n* log *n*)
    ///   in what is below it, with memory for all of that.
    public func export(to file: URL, under object: ObjectID? = nil) async throws {
        let temporary = file.deletingLastPathComponent()
            .appendingPathComponent(".\(file.lastPathComponent).\(UUID().uuidString)")
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: temporary.path, contents: nil, attributes: attributes) else {
            throw PeerdError(
                .storageFailed,
                "\(temporary.deletingLastPathComponent().path) is not writable.",
                advice: "Choose another place."
            )
        }
        do {
            try await self.reading { transaction in
                let handle = try FileHandle(forWritingTo: temporary)
                defer { try? handle.close() }
                var root: ObjectIndex?
                if let object {
                    root = try transaction.visibleObject(object)
                    guard root != nil else {
                        throw PeerdError(.noSuchObject, "There is no object \(object).", advice: "Check the id.")
                    }
                }
                try ExportText.write(under: root, in: &transaction) { bytes in try handle.write(contentsOf: bytes) }
                try handle.synchronize()
            }
            guard Glibc.rename(temporary.path, file.path) == 0 else {
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

extension ImportedObject {
    /// Says that parents of so many objects are nowhere, this being the first.
    fileprivate func strangerSentence(count: Int) -> String {
        let name =
            switch self.parent {
            case .id(let id): "\"parent\" \(id)"
            case .key(let type, let key): "\"parent_key\" \"\(key.text)\" of the type \"\(type.text)\""
            case nil: "parent"
            }
        let others = count > 1 ? " The same holds for \(count - 1) more." : ""
        return """
            Object \(self.number) of the file, on line \(self.line), names the \(name), which is neither in the file \
            nor in the workspace: it stands at the root, or stays where it is if it was there before.\(others)
            """
    }
}

extension PeerdError {
    /// The same failure, with the objects that it kept from being imported.
    fileprivate func naming(_ batch: [ImportedObject]) -> PeerdError {
        guard let first = batch.first, let last = batch.last else { return self }
        let start = "number \(first.number) on line \(first.line)"
        let what =
            batch.count == 1
            ? "object \(start)" : "the objects from \(start) to number \(last.number) on line \(last.line)"
        return PeerdError(self.code, "\(self.message) This was with \(what).", advice: self.advice)
    }
}

/// The canonical export, written object by object instead of as one array of bytes.
package enum ExportText {
    /// The number of objects that are looked up at once.
    private static let pageCount = 256
    private static let pieceByteCount = 64 << 10

    /// Writes exactly the bytes of `StateExport.json(under:of:)`, in pieces.
    package static func write(
        under root: ObjectIndex?,
        in transaction: inout some StateReading,
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
