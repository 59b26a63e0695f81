internal import Foundation
internal import PeerCrypto
internal import Persistence

/// Makes a data directory from a backup.
struct BackupRestore {
    private let path: String
    private let target: DirectoryPaths

    init(_ path: String, _ target: DirectoryPaths) {
        self.path = path
        self.target = target
    }

    /// The keys come last: without them there is no workspace, so that a restore which was broken off leaves none.
    func run(progress: (Double) throws -> Void) throws -> Backup {
        // Before a folder is made.
        guard access(self.path, R_OK) == 0 else { throw BackupFailure.ofErrno(self.path, "cannot be read") }
        let isNew = access(self.target.directory, F_OK) != 0
        try self.requireEmpty()
        try PrivateFile.makeDirectory(self.target.directory)
        let unfinished = self.target.database + ".restoring"
        do {
            let content = try BackupReader.read(self.path, database: unfinished, progress: progress)
            let backup = Backup(content.manifest, at: self.path, byteCount: content.byteCount)
            _ = try KeyFile.identity(in: content.keys, self.path)
            if let settings = content.settings {
                try settings.withUnsafeBytes { try PrivateFile.write($0, to: self.target.settings) }
            }
            try Settings.update(self.target) { settings in
                settings.backups = settings.backups ?? Settings.Backups()
                settings.backups?.last = backup
            }
            guard rename(unfinished, self.target.database) == 0 else {
                throw BackupFailure.ofErrno(self.target.database, "cannot be made")
            }
            try KeyFile.create(content.keys, at: self.target.keys)
            return backup
        } catch {
            if access(self.target.keys, F_OK) != 0 {
                for path in [unfinished, self.target.database, self.target.settings] { unlink(path) }
                if isNew { rmdir(self.target.directory) }
            }
            throw error
        }
    }

    private func requireEmpty() throws {
        try self.target.requireNoWorkspace()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.target.directory)) ?? []
        guard let name = names.min() else { return }
        throw PeerdError(
            .workspaceExists,
            "\(self.target.directory) is not empty: it holds “\(name)”; nothing was restored.",
            advice: "Name an empty or missing directory."
        )
    }
}
