internal import Engine
public import Foundation
internal import PeerCrypto
internal import Persistence

extension Workspace {
    /// Writes a backup: one file with the database and the keys of this machine.
    ///
    /// It shows one moment, and holds every transaction that returned before the call. Writes and the sync continue
    /// meanwhile and do not wait; SQLite's write-ahead log cannot be emptied, and may grow. The file has its name only
    /// once it is complete and on the disk. Only its owner can read it.
    ///
    /// - Parameters:
    ///   - file: the file to write. Its folder needs room for twice the size of the database.
    ///   - replacing: tells whether a backup of that name is replaced; no other file ever is.
    ///   - progress: a function that is called with the part that is done, from 0 to 1.
    /// - Returns: the backup.
    /// - Throws: ``PeerdError`` with `invalidArgument` if there is such a file, `closed`, `diskFull`, or
    ///   what a disk can refuse; `CancellationError`. An old file stays.
    /// - Complexity: O(*n*) in the size of the database.
    @discardableResult
    public func backUp(
        to file: URL,
        replacing: Bool = false,
        progress: (@Sendable (Double) -> Void)? = nil
    ) async throws -> Backup {
        let backup = try await self.makeBackup(at: file.standardizedFileURL.path, replaces: replacing, progress)
        // Only whoever has the directory writes in it.
        if self.runtime != nil { self.backups.note(backup) }
        return backup
    }

    func makeBackup(
        at path: String,
        replaces: Bool = false,
        _ progress: (@Sendable (Double) -> Void)?
    ) async throws -> Backup {
        try self.requireOpen()
        try AbandonedBackup.requireOutside(self.paths, path)
        try AbandonedBackup.requireUsable(BackupFailure.folder(of: path))
        try AbandonedBackup.requireFree(path, replaces: replaces)
        let work = BackupWork(path: path, replaces: replaces, paths: self.paths, device: self.identity.device)
        let copy = try UnfinishedFile(for: path)
        try await self.streamTurns.begin()
        let time: UInt64
        do {
            defer { self.streamTurns.end() }
            time = try await self.reading { transaction in
                // The copy begins with the state that is read here.
                let time = SystemClock.now().wall.milliseconds
                do {
                    try transaction.copyDatabase(to: copy.path) { part in
                        try Task.checkCancellation()
                        progress?(part / 2)
                    }
                } catch let error as StoreError where error == .diskFull {
                    throw BackupFailure.noRoom(path)
                }
                return time
            }
        }
        return try await OwnThread.forDisk.run {
            try work.write(copy, time: time) { part in
                try Task.checkCancellation()
                progress?((1 + part) / 2)
            }
        }
    }
}

/// Puts a backup together.
private struct BackupWork: Sendable {
    let path: String
    let replaces: Bool
    let paths: DirectoryPaths
    /// Whose database it is.
    let device: DeviceID

    func write(_ copy: UnfinishedFile, time: UInt64, progress: (Double) throws -> Void) throws -> Backup {
        let keys = try KeyFile.read(self.paths.keys)
        let identity = try KeyFile.identity(in: keys, self.paths.keys)
        guard identity.device == self.device else {
            throw PeerdError(
                .storageFailed,
                "\(self.paths.keys) has the keys of another machine.",
                advice: "Put those of this one back, from a backup of it."
            )
        }
        let manifest = BackupManifest(
            workspace: identity.workspace.description,
            device: identity.device.description,
            deviceName: identity.name,
            time: time
        )
        var writer = try BackupWriter(self.path)
        try manifest.encoded.withUnsafeBytes { try writer.add(.manifest, $0) }
        try keys.withBytes { bytes throws in try writer.add(.keys, bytes) }
        if let settings = try self.settings() { try settings.withUnsafeBytes { try writer.add(.settings, $0) } }
        var status = stat()
        fstat(copy.descriptor, &status)
        let total = Double(max(1, status.st_size))
        try writer.add(.database, from: copy.descriptor) { try progress(Double($0) / total) }
        let (byteCount, warning) = try writer.finish(replaces: self.replaces)
        return Backup(manifest, at: self.path, byteCount: byteCount, warning: warning)
    }

    /// The content of the file `config`; nil if there is none.
    private func settings() throws -> [UInt8]? {
        do throws(RegularFile.Failure) {
            return try RegularFile.content(of: self.paths.settings, atMost: BackupFormat.smallByteCountMax)
        } catch {
            // What is damaged is no use in a backup.
            switch error {
            case .absent, .tooLong, .notRegular: return nil
            case .hasOtherNames, .system: throw PeerdError(error, self.paths.settings)
            }
        }
    }
}
