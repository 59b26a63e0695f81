internal import CRDTCore
internal import Engine
internal import Foundation
internal import PeerCrypto
internal import Persistence

/// Checks a backup in a place of its own.
struct BackupCheck {
    let path: String

    func run(_ progress: ((String) async throws -> Void)?) async throws -> Diagnosis {
        let place = try ScratchPlace()
        defer { place.remove() }
        var diagnosis = Diagnosis()
        try await progress?("reading the backup")
        let identity: Workspace.Identity
        do {
            identity = try await OwnThread.forDisk.run {
                let content = try BackupReader.read(self.path, database: place.paths.database) { _ in
                    try Task.checkCancellation()
                }
                return try Workspace.Identity(KeyFile.identity(in: content.keys, self.path))
            }
        } catch let error as PeerdError where error.code == .damaged {
            diagnosis.add(.problem, "file", error.message.droppingFullStop, error.advice.droppingFullStop)
            return diagnosis
        }
        diagnosis.add(.ok, "file", "every byte is as it was written")
        do throws(StoreError) {
            // A database of an earlier version gets the tables of this one, as it would after a restore.
            var configuration = StoreConfiguration()
            configuration.waitsForDisk = false
            var store = try SQLiteStore(
                directory: place.paths.directory,
                origin: identity.origin,
                configuration: configuration
            )
            let schema = try store.read { transaction throws(StoreError) in try transaction.schema() }
            store.close()
            let reader = CircleReader(user: identity.user, founder: identity.founder)
            var new = try SQLiteStore.scratch(in: place.paths.directory, origin: identity.origin, for: reader)
            let others = try new.read { transaction throws(StoreError) in
                schema.symmetricDifference(try transaction.schema())
            }
            guard others.isEmpty else {
                let names = Set(others.map { "\($0[0]) \($0[1])" }).sorted().prefix(3).joined(separator: ", ")
                diagnosis.add(
                    .problem,
                    "database",
                    "it has other tables than peerd makes: \(names)",
                    "use another backup"
                )
                return diagnosis
            }
        } catch {
            guard case .damaged = error else { throw PeerdError(error) }
            diagnosis.add(.problem, "database", PeerdError(error).message.droppingFullStop, "use another backup")
            return diagnosis
        }
        let readers = ReadPool(directory: place.paths.directory)
        do {
            try await diagnosis.checkContent(identity, readers, of: place.paths, progress)
        } catch {
            await readers.close()
            throw error
        }
        await readers.close()
        return diagnosis
    }
}

/// A temporary directory that only the user can enter.
private struct ScratchPlace {
    let paths: DirectoryPaths

    init() throws {
        let template = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-verify-XXXXXX").path
        var characters = Array(template.utf8CString)
        guard mkdtemp(&characters) != nil else { throw BackupFailure.ofErrno(template, "cannot be made") }
        self.paths = DirectoryPaths(
            directory: String(decoding: characters.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        )
    }

    func remove() { try? FileManager.default.removeItem(atPath: self.paths.directory) }
}

extension String {
    /// The sentence as a finding has it.
    fileprivate var droppingFullStop: String { self.hasSuffix(".") ? String(self.dropLast()) : self }
}
