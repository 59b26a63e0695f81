import ArgumentParser
import Foundation
import PeerdKit
import Testing

@testable import peerd

@Suite struct HelpTests {
    /// The rows of the table in docs/guide/commands.md with this first line: the text of each cell.
    private static func table(_ head: String) throws -> [[String]] {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/guide/commands.md"), encoding: .utf8)
        let start = try #require(text.firstRange(of: "\n\(head)\n")).upperBound
        return text[start...].split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("|") }
            .dropFirst().map { line in
                // A bar within a cell is escaped.
                line.replacing("\\|", with: "\u{0}").split(separator: "|").map { cell in
                    cell.replacing("\u{0}", with: "|").trimmingCharacters(in: .whitespaces)
                }
            }
    }

    /// What can be run, by the words that name it.
    private static var commands: [String: any ParsableCommand.Type] {
        var commands: [String: any ParsableCommand.Type] = [:]
        for verb in Peerd.configuration.subcommands {
            let name = verb.configuration.commandName ?? "?"
            let usual = verb.configuration.defaultSubcommand.map { ObjectIdentifier($0) }
            if verb.configuration.subcommands.isEmpty { commands[name] = verb }
            for part in verb.configuration.subcommands {
                let isUsual = ObjectIdentifier(part) == usual
                commands[isUsual ? name : "\(name) \(part.configuration.commandName ?? "?")"] = part
            }
        }
        return commands
    }

    @Test func `the guide lists every command, and names only options that it takes`() throws {
        let commands = Self.commands
        var listed: Set<String> = []
        for row in try Self.table("| command | effect |") {
            for match in row[0].matches(of: /`([^`]+)`/) {
                let words = match.output.1.split(separator: " ")
                let name = words.prefix(2).prefix { $0.allSatisfy { $0.isASCII && $0.isLowercase } }
                    .joined(separator: " ")
                listed.insert(name)
                let command = try #require(commands[name], "\(name)")
                let help = Peerd.helpMessage(for: command)
                for option in match.output.1.matches(of: /--[a-z-]+/) {
                    #expect(help.contains(option.output), "\(name)")
                }
            }
        }
        #expect(listed == Set(commands.keys))
    }

    @Test func `the help of each verb names its exit codes`() {
        for verb in Peerd.configuration.subcommands.flatMap({ [$0] + $0.configuration.subcommands }) {
            let discussion = verb.configuration.discussion
            let name = verb.configuration.commandName ?? "?"
            #expect(discussion.contains("Exit codes: 0, "), "\(name)")
            #expect(!verb.configuration.abstract.isEmpty, "\(name)")
            #expect(Peerd.helpMessage(for: verb).contains("Exit codes:"), "\(name)")
        }
    }

    @Test func `the help of a moment names every unit of time`() throws {
        let help = Peerd.helpMessage(for: GetCommand.self).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let units = try #require(help.firstMatch(of: /'2 days ago' \((.*?)\)/)?.output.1)
        for unit in ["s", "min", "h", "days", "weeks", "months", "years"] {
            #expect(units.split(whereSeparator: { !$0.isLetter }).contains { $0 == unit }, "\(unit)")
            #expect(throws: Never.self) { try Moment("2 \(unit) ago") }
        }
    }

    @Test func `every verb that prints data takes a directory and --json`() {
        let verbs = Peerd.configuration.subcommands.flatMap { verb in
            verb.configuration.subcommands.isEmpty ? [verb] : verb.configuration.subcommands
        }
        for verb in verbs where verb.configuration.commandName != "completion" {
            let help = Peerd.helpMessage(for: verb)
            // A preview names directories, and has none of its own.
            let hasDirectory = verb.configuration.commandName == "preview" ? "<dir>" : "--dir"
            #expect(help.contains("--json") && help.contains(hasDirectory), "\(verb)")
        }
    }

    @Test func `the exit codes are those that the guide promises to scripts`() throws {
        let promised = try Self.table("| code | meaning |").map { row in row.map { $0.filter { $0 != "`" } } }
        #expect(promised == ExitStatus.allCases.map { ["\($0.rawValue)", $0.meaning] })
        let help = Peerd.helpMessage()
        for status in ExitStatus.allCases { #expect(help.contains("  \(status.rawValue)  ")) }
    }

    @Test(arguments: [
        ["mv", "abcd"], ["mv", "abcd", "efgh", "--root"], ["set", "abcd", "x"], ["create", "a=1"],
        ["sync", "--timeout", "-1"], ["join", "peerd:1:xyz"], ["run", "--listen", "nonsense", "--no-discovery"],
        ["run", "--log-level", "loud"], ["completion", "tcsh"],
        ["preview"], ["preview", "only-one"], ["preview", "a", "b", "--link", "pigeon"],
        ["preview", "a", "b", "--orders", "0"],
        ["snapshot", "create"], ["snapshot", "restore"], ["snapshot", "import"], ["snapshot", "take", "abcd"],
        ["branch", "create"], ["branch", "switch"], ["branch", "merge"], ["branch", "rename", "a", "b"],
        ["backup", "x", "--every", "1d"], ["backup", "--every", "1y"], ["backup", "--keep", "3"],
        ["backup", "--every", "1d", "--keep", "0"], ["backup", "verify"], ["backup", "restore"],
    ])
    func `a command line that cannot be meant is a usage error`(arguments: [String]) async throws {
        let status = await Peerd.run(arguments + self.directory(arguments))
        #expect(status == .usage)
    }

    private func directory(_ arguments: [String]) -> [String] {
        ["completion", "preview"].contains(arguments.first) ? [] : ["--dir", "/nonexistent/peerd"]
    }
}
