internal import Foundation
internal import PeerCrypto
internal import Persistence

/// Makes a data directory from a backup.
struct BackupRestore {
    let path: String
    let target: DirectoryPaths

    private static let unfinishedSuffix = ".restoring"

    /// The keys come last: without them there is no workspace, so that a restore which was broken off leaves none.
    func run(progress: (Double) throws -> Void) throws -> Backup {
        // Before a folder is made.
        guard access(self.path, R_OK) == 0 else { throw BackupFailure.ofErrno(self.path, "cannot be read") }
        let isNew = access(self.target.directory, F_OK) != 0
        try self.requireEmpty()
        try PrivateFile.makeDirectory(self.target.directory)
        // An empty directory that was there before is the user's own, and holds keys from now on.
        guard chmod(self.target.directory, PrivateFile.directoryMode) == 0 else {
            throw BackupFailure.ofErrno(self.target.directory, "cannot be kept from others")
        }
        let unfinished = self.target.database + Self.unfinishedSuffix
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
            try self.examine(unfinished)
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

    /// A directory that no command could open is worth less than none.
    private func examine(_ database: String) throws {
        do throws(StoreError) {
            try SQLiteStore.examine(file: database)
        } catch {
            switch error {
            case .newerSchema:
                throw PeerdError(
                    .newerVersion,
                    "The database in \(self.path) was written by a newer program; nothing was restored.",
                    advice: "Use that program, or another backup."
                )
            case .earlierSchema:
                throw PeerdError(
                    .storageFailed,
                    "The database in \(self.path) was written by an earlier peerd; nothing was restored.",
                    advice: "Restore it with that version, export it there, and import the export here."
                )
            case .damaged, .unavailable:
                throw BackupFailure.damaged(self.path, "what it holds is not a database of peerd")
            case .diskFull, .inputOutput, .moved, .locked, .compacted: throw PeerdError(error)
            }
        }
    }

    private func requireEmpty() throws {
        try self.target.requireNoWorkspace()
        guard access(self.target.directory, F_OK) == 0 else { return }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: self.target.directory)
        } catch {
            throw PeerdError(
                .storageFailed,
                "What is in \(self.target.directory) cannot be read: \(error.localizedDescription)",
                advice: "Check its permissions, or name another directory."
            )
        }
        guard let name = names.min() else { return }
        if names.contains(where: { $0.hasSuffix(Self.unfinishedSuffix) }) {
            throw PeerdError(
                .workspaceExists,
                "\(self.target.directory) holds what a restore left that was broken off, or that still runs.",
                advice: "If none runs, remove what is in the directory, and try again."
            )
        }
        throw PeerdError(
            .workspaceExists,
            "\(self.target.directory) is not empty: it holds “\(name)”; nothing was restored.",
            advice: "Name an empty or missing directory."
        )
    }
}
