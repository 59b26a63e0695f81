internal import Foundation
internal import PeerdKit

extension DirectoryPaths {
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
                "HOME is not set, so there is no default data directory; name one with --dir DIR."
            )
        }
        if !path.hasPrefix("/") { path = currentDirectory + "/" + path }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return DirectoryPaths(directory: path)
    }
}
