import ArgumentParser
import PeerdKit
import Testing

@testable import peerd

@Suite struct HelpTests {
    static let verbs = [
        "init", "run", "invite", "join", "peers", "status", "sync", "create", "set", "unset", "get", "mv", "rm", "ls",
        "tree", "conflicts", "preview", "log", "history", "diff", "restore", "undo", "redo", "import", "export",
        "branch", "snapshot", "backup", "compact", "forget", "doctor", "restamp", "open", "api", "completion",
    ]

    @Test func `every verb is there`() {
        let names = Peerd.configuration.subcommands.compactMap { verb in verb.configuration.commandName }
        #expect(names == Self.verbs)
    }

    @Test func `the help of each verb names its exit codes`() {
        for verb in Peerd.configuration.subcommands.flatMap({ [$0] + $0.configuration.subcommands }) {
            let discussion = verb.configuration.discussion
            let name = verb.configuration.commandName ?? "?"
            #expect(discussion.contains("Exit codes:\n  0  done\n"), "\(name)")
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

    @Test func `the exit codes are those that scripts know`() {
        let codes = ExitStatus.allCases.map(\.rawValue)
        #expect(codes == Array(0...7))
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
