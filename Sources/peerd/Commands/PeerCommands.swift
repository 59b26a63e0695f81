internal import ArgumentParser
internal import PeerdKit

struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "invite",
        abstract: "Print a line with which one other machine may join.",
        discussion: """
            The line holds a secret: who has it may join. It is good once and for ten minutes; at most eight are \
            open at \
            a time. The daemon must run for the other machine to be let in. On a terminal a QR code of it follows.
            """,
        exitCodes: ExitStatus.common
    )

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.perform(.invite) }
}

struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "peers",
        abstract: "List the machines of the workspace, and which are connected.",
        exitCodes: ExitStatus.common
    )

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.perform(.peers) }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "status",
        abstract: "Tell what this machine has, and whether anything is amiss.",
        exitCodes: ExitStatus.common
    )

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.perform(.status) }
}

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "sync",
        abstract: "Exchange with the peers now; print how many operations were pushed and pulled.",
        discussion: """
            Ends when nothing is missing on either side of any connection. Machines that do not answer within a few \
            seconds are left out; with --wait, all known ones must be reached. What the daemon had already exchanged \
            by \
            itself before is not counted.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .syncIncomplete, .storage]
    )

    @OptionGroup var options: DataOptions

    @Flag(name: .customLong("wait"), help: "Wait until every known machine is reached and in sync.")
    var waits = false

    @Option(name: .customLong("timeout"), help: "How long to wait at most, in seconds.")
    var timeoutSeconds = 60.0

    func run() async throws {
        let timeout = try TimeLimit.milliseconds(ofSeconds: self.timeoutSeconds)
        try await self.options.perform(.sync(self.waits ? .everyone : .whoeverAnswers, timeoutMilliseconds: timeout))
    }
}
