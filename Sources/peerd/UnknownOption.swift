internal import ArgumentParser
internal import Foundation

/// An option that the verb of a command line does not have.
///
/// The parser names it only if nothing is missing, and so advises on what is missing, though the option was meant.
enum UnknownOption {
    /// A command as the parser describes it to programs.
    private struct Description: Decodable {
        var commandName: String
        var defaultSubcommand: String?
        var subcommands: [Description]?
        var arguments: [Argument]?

        struct Argument: Decodable {
            var names: [Name]?
        }

        struct Name: Decodable {
            var name: String
        }

        func below(_ name: String?) -> Description? { self.subcommands?.first { $0.commandName == name } }
    }

    private struct Dump: Decodable {
        var command: Description
    }

    /// The first one; nil if there is none, or if the verb is unknown.
    static func first(in arguments: [String]) -> String? {
        guard var command = self.root else { return nil }
        var rest = arguments[...]
        while let next = command.below(rest.first) {
            command = next
            rest.removeFirst()
        }
        command = command.below(command.defaultSubcommand) ?? command
        guard command.subcommands?.isEmpty ?? true else { return nil }
        let known = Set((command.arguments ?? []).flatMap { $0.names ?? [] }.map { "--" + $0.name })
        let options = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }
        return options.map { String($0.prefix { $0 != "=" }) }.first { !known.contains($0) }
    }

    private static var root: Description? {
        do {
            _ = try Peerd.parseAsRoot(["--experimental-dump-help"])
            return nil
        } catch {
            let text = Peerd.fullMessage(for: error)
            return try? JSONDecoder().decode(Dump.self, from: Data(text.utf8)).command
        }
    }

    /// The parser's message, with the option in the place of what it says is wrong.
    static func message(_ option: String, in message: String) -> String {
        let usage = message.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix("Usage:") }
        return (["Error: Unknown option '\(option)'"] + usage.map(String.init)).joined(separator: "\n")
    }
}
