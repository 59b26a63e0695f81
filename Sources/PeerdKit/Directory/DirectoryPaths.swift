internal import Foundation
internal import Persistence

/// Where things lie in a data directory.
package struct DirectoryPaths: Hashable, Sendable {
    package let directory: String

    package var database: String { self.directory + "/peerd.sqlite" }
    package var keys: String { self.directory + "/keys" }
    package var token: String { self.directory + "/token" }
    /// The socket of the local API, through which commands reach the daemon.
    package var socket: String { self.directory + "/socket" }
    /// Where the local API is on loopback.
    package var api: String { self.directory + "/api" }
    /// The page that leads a browser to the link that lets it in.
    package var openPage: String { self.directory + "/open.html" }
    /// The folder that the local API serves files from.
    package var files: String { self.directory + "/files" }
    package var lock: String { self.directory + "/lock" }
    package var settings: String { self.directory + "/config" }
    /// Which branch the commands of this machine act on.
    package var branch: String { self.directory + "/branch" }

    /// Whether there is a workspace: its keys make it one.
    package var hasWorkspace: Bool { access(self.keys, F_OK) == 0 }

    package init(directory: String) {
        self.directory = directory
    }

    /// Stops what needs a workspace where there is none, or only a part of one.
    ///
    /// `mayLackDatabase`: for whoever fetches everything from another machine.
    package func requireWorkspace(mayLackDatabase: Bool = false) throws {
        try self.requireRegularFiles()
        guard access(self.keys, F_OK) == 0 else { throw self.absence(errno) }
        try PrivateFile.requireOwn(directory: self.directory)
        try self.requireOwnDatabase()
        if !mayLackDatabase, self.hasHadDatabase, !self.hasDatabase { throw self.databaseMissing }
    }

    /// Stops where something else lies in the place of a file, before anything is opened or written.
    ///
    /// A named pipe would be waited for, and a link could lead to a file that others can change.
    package func requireRegularFiles() throws {
        let databases = SQLiteStore.databaseSuffixes.map { self.database + $0 }
        // Two directories with one lock would take turns with one database, each with a log of its own.
        let exclusive = [self.lock] + databases
        for path in [self.keys] + exclusive + [self.token, self.settings, self.branch, self.api] {
            do throws(RegularFile.Failure) {
                _ = try RegularFile.byteCount(of: path, mayHaveOtherNames: !exclusive.contains(path))
            } catch {
                switch error {
                case .notRegular, .hasOtherNames: throw PeerdError(error, path)
                // Of what cannot be looked at, whoever opens it says why.
                case .absent, .tooLong, .system: break
                }
            }
        }
        var status = stat()
        guard lstat(self.socket, &status) != 0 || status.st_mode & S_IFMT == S_IFSOCK else {
            throw PeerdError(.storageFailed, "\(self.socket) is not a socket.", advice: "Move it away.")
        }
    }

    package var databaseMissing: PeerdError {
        PeerdError(
            .damaged,
            "The keys of a workspace are in \(self.directory), but \(self.database) is missing or empty.",
            advice: """
                Put a backup of it back. Or run “peerd join” here with an invite from another machine: everything \
                comes from there.
                """
        )
    }

    /// Stops what would take a file for the database that is something else, and write to it.
    private func requireOwnDatabase() throws {
        do throws(StoreError) {
            guard self.hasHadDatabase, try SQLiteStore.isOfAnother(file: self.database) else { return }
        } catch {
            // Whoever opens it says why it cannot be read.
            return
        }
        throw PeerdError(
            .damaged,
            "\(self.database) is not the database of this workspace: another program made it, or it is empty.",
            advice: """
                Move it away, and put a backup of the right one back. Or move it away, and run “peerd join” here \
                with an invite from another machine: everything comes from there.
                """
        )
    }

    /// Why the keys are not there.
    package func absence(_ code: Int32) -> PeerdError {
        switch code {
        case ENOENT where access(self.database, F_OK) == 0: self.keysMissing
        case ENOENT:
            PeerdError(
                .noWorkspace,
                "There is no workspace in \(self.directory).",
                advice: "Create one there, or join one with an invite."
            )
        case ENOTDIR:
            PeerdError(.storageFailed, "\(self.directory) is not a directory.", advice: "Name another place.")
        default:
            PeerdError(
                .storageFailed,
                "\(self.directory) cannot be read: \(SystemText.ofErrno(code)).",
                advice: "Check whose directory it is, and its permissions."
            )
        }
    }

    /// Whether there was a database once: the token is written as soon as there is one.
    private var hasHadDatabase: Bool {
        var status = stat()
        return stat(self.token, &status) == 0 && status.st_size > 0
    }

    /// Whether there is a database with something in it, as far as can be seen.
    package var hasDatabase: Bool {
        var status = stat()
        guard stat(self.database, &status) == 0 else { return errno != ENOENT }
        return status.st_size > 0
    }

    private var keysMissing: PeerdError {
        PeerdError(
            .keysMissing,
            "\(self.database) exists, but its keys are missing.",
            advice: "Put the file “keys” back beside it, or name another directory."
        )
    }

    /// Stops what would make a workspace where there is one.
    package func requireNoWorkspace() throws {
        try self.requireRegularFiles()
        if self.hasWorkspace {
            throw PeerdError(
                .workspaceExists,
                "\(self.directory) already holds a workspace.",
                advice: "Open it, or name another directory for a second one."
            )
        }
        if access(self.database, F_OK) == 0 { throw self.keysMissing }
    }
}
