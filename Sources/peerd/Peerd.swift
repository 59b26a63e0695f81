internal import ArgumentParser
internal import Foundation

/// The command line program.
@main
struct Peerd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peerd",
        abstract: "Keep structured data in sync between machines that edit it offline, without a server.",
        discussion: ExitStatus.help,
        version: Version.text,
        subcommands: [
            InitCommand.self, RunCommand.self, InviteCommand.self, JoinCommand.self, RecoverCommand.self,
            PeersCommand.self, StatusCommand.self, SyncCommand.self, CreateCommand.self, SetCommand.self,
            UnsetCommand.self,
            GetCommand.self, MoveCommand.self, RemoveCommand.self, ListCommand.self, TreeCommand.self,
            ConflictsCommand.self, PreviewCommand.self, LogCommand.self, HistoryCommand.self, DiffCommand.self,
            RestoreCommand.self, UndoCommand.self, RedoCommand.self, ImportCommand.self, ExportCommand.self,
            BranchCommand.self, SnapshotCommand.self, BackupCommand.self, CompactCommand.self, EraseCommand.self,
            ErasuresCommand.self, ShareCommand.self, UnshareCommand.self, HideCommand.self, UnhideCommand.self,
            LeaveCommand.self, AccessCommand.self, WhyCommand.self, UsersCommand.self,
            RejectedCommand.self, AdoptCommand.self,
            DoctorCommand.self, RestampCommand.self, OpenCommand.self, SessionsCommand.self, APICommand.self,
            CompletionCommand.self,
        ]
    )

    static func main() async {
        StandardStreams.occupyClosed()
        let words: [String]
        do throws(CommandFailure) {
            words = try ProgramArguments.read()
        } catch {
            StandardStreams.note(error.message)
            Foundation.exit(error.status.rawValue)
        }
        let arguments = LeadingOptions.movedBehindVerb(words)
        let (parsed, rest) = SetAsideAssignments.divided(arguments)
        let status = await SetAsideAssignments.$rest.withValue(rest) { await self.run(parsed) }
        Foundation.exit(status.rawValue)
    }

    /// Parses and runs one command line; what went wrong is said on standard error.
    static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            var command = try self.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .success
        } catch is StandardStreams.ReaderGone {
            Foundation.exit(StandardStreams.ReaderGone.exitCode)
        } catch {
            guard let failure = CommandFailure(error) else { return self.report(error, of: arguments) }
            StandardStreams.note(failure.message)
            return failure.status
        }
    }

    /// Help and version requests are "errors" of the parser, too.
    private static func report(_ error: any Error, of arguments: [String]) -> ExitStatus {
        let code = self.exitCode(for: error)
        if code.isSuccess {
            do {
                try StandardStreams.output((self.fullMessage(for: error) + "\n").utf8)
            } catch {
                if error is StandardStreams.ReaderGone { Foundation.exit(StandardStreams.ReaderGone.exitCode) }
                if let failure = CommandFailure(error) { StandardStreams.note(failure.message) }
                return .failure
            }
            return .success
        }
        var message = self.fullMessage(for: self.parserError(of: arguments) ?? error)
        if let option = UnknownOption.first(in: arguments.map(TerminalText.line)), !message.contains("'\(option)'") {
            message = UnknownOption.message(option, in: message)
        }
        StandardStreams.usage(message)
        return code == .validationFailure ? .usage : .failure
    }

    /// The parser's error with each argument on one line, since its message quotes what was typed.
    private static func parserError(of arguments: [String]) -> (any Error)? {
        do {
            _ = try self.parseAsRoot(arguments.map(TerminalText.line))
            return nil
        } catch {
            return error
        }
    }
}

/// The version of this program, and what it runs on.
enum Version {
    static let text = "0.1.0"

    static var platform: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "Linux" }
        func text<Content>(_ content: Content) -> String {
            withUnsafeBytes(of: content) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(name.sysname)) \(text(name.machine))"
    }
}

/// Lets `--dir`, `--branch` and `--json` stand before the verb, too, as they do in git.
enum LeadingOptions {
    /// Verbs that have verbs of their own, behind which options stand.
    private static let verbsBelow: [String: Set<String>] = Dictionary(
        uniqueKeysWithValues: Peerd.configuration.subcommands.map { verb in
            (
                verb.configuration.commandName ?? "",
                Set(verb.configuration.subcommands.compactMap { $0.configuration.commandName })
            )
        }
    )

    /// Moves them behind the verb, and behind the verb below it if there is one.
    static func movedBehindVerb(_ arguments: [String]) -> [String] {
        var (moved, rest) = self.divided(arguments[...])
        guard let verb = rest.first, !verb.hasPrefix("-") else { return arguments }
        var verbs = [verb]
        let (between, below) = self.divided(rest.dropFirst())
        if let next = below.first, self.verbsBelow[verb]?.contains(next) ?? false {
            verbs.append(next)
            moved += between
            rest = below
        }
        return verbs + moved + rest.dropFirst()
    }

    /// The options at the beginning, and what follows.
    private static func divided(_ arguments: ArraySlice<String>) -> (options: [String], rest: ArraySlice<String>) {
        var (options, rest) = ([String](), arguments)
        while let first = rest.first {
            if first == "--json" || first.hasPrefix("--dir=") || first.hasPrefix("--branch=") {
                options.append(rest.removeFirst())
            } else if first == "--dir" || first == "--branch", rest.count >= 2 {
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        return (options, rest)
    }
}
