public import Foundation
internal import Persistence

/// A file with everything that a machine needs to continue: the database and the keys.
///
/// ``Workspace/backUp(to:replacing:progress:)`` makes it. It holds secret keys, so keep it where only you can read it.
/// The files that the local API serves are ordinary files in the folder `files`, and are not part of it.
public struct Backup: Hashable, Sendable, Codable {
    /// The place of the file.
    public let file: URL
    /// The time when the state in it was read.
    public let date: Date
    /// The length of the file.
    public let byteCount: Int
    /// The id of the workspace, as hexadecimal text.
    public let workspace: String
    /// The id of the machine, as hexadecimal text.
    public let device: String
    /// The name of the machine, as other members see it.
    public let deviceName: String
    /// What is uncertain about it, in words; nil if nothing is.
    public let warning: String?

    init(_ manifest: BackupManifest, at path: String, byteCount: Int, warning: String? = nil) {
        self.file = URL(fileURLWithPath: path)
        self.date = Date(timeIntervalSince1970: Double(manifest.time) / 1000)
        self.byteCount = byteCount
        self.workspace = manifest.workspace
        self.device = manifest.device
        self.deviceName = manifest.deviceName
        self.warning = warning
    }

    /// Makes a data directory from a backup.
    ///
    /// The machine continues under a new replica id, as it does whenever its database is another one than it wrote
    /// last. So nothing is lost, not even if the first directory is still in use: what both write counts.
    ///
    /// - Parameters:
    ///   - file: a file that ``Workspace/backUp(to:replacing:progress:)`` made.
    ///   - directory: the place for the data; missing or empty.
    ///   - progress: a function that is called with the part that is done, from 0 to 1.
    /// - Returns: the backup.
    /// - Throws: ``PeerdError`` with `workspaceExists` if there is anything in the directory; `damaged` if a byte of
    ///   the file is not what was written, `newerVersion`, or what a disk can refuse. There is no workspace then.
    @discardableResult
    public static func restore(
        from file: URL,
        to directory: URL,
        progress: (@Sendable (Double) -> Void)? = nil
    ) async throws -> Backup {
        try await OwnThread.forDisk.run {
            let restore = BackupRestore(path: file.standardizedFileURL.path, target: DirectoryPaths(directory))
            return try restore.run { part in
                try Task.checkCancellation()
                progress?(part)
            }
        }
    }

    /// Checks a backup without trusting it: its checksums, and whatever ``Workspace/diagnose(progress:)`` checks.
    ///
    /// The database is examined as a copy in the folder for temporary files, which must have room for twice its size.
    ///
    /// - Parameters:
    ///   - file: a file that ``Workspace/backUp(to:replacing:progress:)`` made.
    ///   - progress: a function that is called with a description of each step that may take long.
    /// - Returns: the findings, good ones included.
    /// - Throws: ``PeerdError`` if the file cannot be read at all, if it is newer than this version, or if there is no
    ///   room; the error of `progress`.
    /// - Complexity: O(*n* log *n*) in the operations of the log.
    public static func verify(
        at file: URL,
        progress: ((String) async throws -> Void)? = nil
    ) async throws -> Diagnosis {
        try await BackupCheck(path: file.standardizedFileURL.path).run(progress)
    }
}

extension OwnThread {
    /// One for what waits for a disk.
    static var forDisk: OwnThread { OwnThread(label: "peerd.disk") }
}
