internal import Foundation

/// Where things lie in a data directory.
struct DirectoryPaths: Hashable, Sendable {
    let directory: String

    var database: String { self.directory + "/peerd.sqlite" }
    var keys: String { self.directory + "/keys" }
    var token: String { self.directory + "/token" }
    var socket: String { self.directory + "/socket" }
    var lock: String { self.directory + "/lock" }
    var settings: String { self.directory + "/config" }

    /// Whether there is a workspace: its keys make it one.
    var hasWorkspace: Bool { access(self.keys, F_OK) == 0 }

    init(directory: String) {
        self.directory = directory
    }

    /// The directory that the option names, or else the environment.
    static func chosen(
        option: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        currentDirectory: String = FileManager.default.currentDirectoryPath
    ) throws -> DirectoryPaths {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let option, option.isEmpty {
            throw CommandFailure(.usage, "--dir needs the path of a directory.")
        }
        var path: String
        if let named = option ?? value("PEERD_DIR") {
            path = named
        } else if let state = value("XDG_STATE_HOME"), state.hasPrefix("/") {
            path = state + "/peerd"
        } else if let home = value("HOME") {
            path = home + "/.local/state/peerd"
        } else {
            throw CommandFailure(
                .usage,
                "There is no place for the data directory, since HOME is not set; name one with --dir DIR."
            )
        }
        if !path.hasPrefix("/") { path = currentDirectory + "/" + path }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return DirectoryPaths(directory: path)
    }

    /// Stops a command that needs a workspace where there is none.
    func requireWorkspace() throws {
        guard !self.hasWorkspace else { return try PrivateFile.requireOwn(directory: self.directory) }
        throw CommandFailure(
            .workspace,
            """
            There is no workspace in \(self.directory); make one with "peerd init", or join one with "peerd join LINE".
            """
        )
    }

    /// Stops a command that would make a workspace where there is one.
    func requireNoWorkspace() throws {
        if self.hasWorkspace {
            throw CommandFailure(
                .workspace,
                "\(self.directory) holds a workspace already; name another directory with --dir DIR for a second one."
            )
        }
        if access(self.database, F_OK) == 0 {
            throw CommandFailure(
                .workspace,
                """
                \(self.database) is there, but the keys that belong to it are not; put the file "keys" back beside \
                it, or name another directory with --dir DIR.
                """
            )
        }
    }
}
