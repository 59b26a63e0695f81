internal import Foundation

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
    /// The folder that the local API serves files from.
    package var files: String { self.directory + "/files" }
    package var lock: String { self.directory + "/lock" }
    package var settings: String { self.directory + "/config" }

    /// Whether there is a workspace: its keys make it one.
    package var hasWorkspace: Bool { access(self.keys, F_OK) == 0 }

    package init(directory: String) {
        self.directory = directory
    }

    /// Stops what needs a workspace where there is none.
    package func requireWorkspace() throws {
        guard !self.hasWorkspace else { return try PrivateFile.requireOwn(directory: self.directory) }
        throw PeerdError(
            .noWorkspace,
            "There is no workspace in \(self.directory).",
            advice: "Create one there, or join one with an invite."
        )
    }

    /// Stops what would make a workspace where there is one.
    package func requireNoWorkspace() throws {
        if self.hasWorkspace {
            throw PeerdError(
                .workspaceExists,
                "\(self.directory) already holds a workspace.",
                advice: "Open it, or name another directory for a second one."
            )
        }
        if access(self.database, F_OK) == 0 {
            throw PeerdError(
                .keysMissing,
                "\(self.database) exists, but its keys are missing.",
                advice: "Put the file “keys” back beside it, or name another directory."
            )
        }
    }
}
