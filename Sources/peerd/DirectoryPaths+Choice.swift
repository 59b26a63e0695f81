internal import Foundation
internal import PeerdKit

extension DirectoryPaths {
    /// The directory that the option names, or else the environment.
    static func chosen(
        option: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        currentDirectory: String = FileManager.default.currentDirectoryPath
    ) throws -> DirectoryPaths {
        func value(_ name: String) throws -> String? {
            guard let text = environment[name], !text.isEmpty else { return nil }
            // Foundation has put something else in the place of bytes that are no text.
            if text.contains("\u{FFFD}"), let bytes = getenv(name), String(validatingCString: bytes) == nil {
                throw CommandFailure(.usage, "\(name) is not UTF-8; name the data directory with --dir DIR.")
            }
            return text
        }
        if let option, option.isEmpty {
            throw CommandFailure(.usage, "--dir needs the path of a directory.")
        }
        var path: String
        if let named = try option ?? value("PEERD_DIR") {
            path = named
        } else if let state = try value("XDG_STATE_HOME"), state.hasPrefix("/") {
            path = state + "/peerd"
        } else if let home = try value("HOME") {
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
