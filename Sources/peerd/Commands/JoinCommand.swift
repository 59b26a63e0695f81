internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import PeerTransport
internal import PeerdKit

struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "join",
        abstract: "Join the workspace of an invite.",
        discussion: """
            Asks for the line that "peerd invite" printed on another machine of the workspace, or reads it from \
            standard input; "peerd run" must be running there. The line works once, within ten minutes. A script may \
            give it as LINE, but all users of this machine can read the arguments of a program, and whoever uses the \
            line first is a member for good. Another person is shown 13 recovery words first, with --json on standard \
            error. After joining, the command fetches the changes of that machine once; \
            from then on "peerd run" keeps the machines in sync. In a directory that already holds the same \
            workspace, the command introduces the two machines to each other.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .syncIncomplete, .storage]
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The line that the other machine printed; better not given here.")
    var line: String?

    @Option(name: .customLong("name"), help: "The name of this machine, as others see it. Default: its host name.")
    var name: String?

    @Option(name: .customLong("timeout"), help: "How long to wait for the first exchange, in seconds.")
    var timeoutSeconds = 60.0

    func run() async throws {
        let paths = try self.options.directory.paths
        if !paths.hasWorkspace { try paths.requireNoWorkspace() }
        let name = try DeviceName.checked(self.name)
        let timeout = try TimeLimit.milliseconds(ofSeconds: self.timeoutSeconds)
        guard let invite = Invite(text: try await self.readLine()) else {
            throw CommandFailure(
                .usage,
                "This is not a complete invite; copy the whole line that \"peerd invite\" printed."
            )
        }
        guard !invite.addresses.isEmpty else {
            throw CommandFailure(.usage, "The invite names no address; print a new one.")
        }
        if paths.hasWorkspace {
            // Whoever has these keys is the machine that made it.
            guard try KeyFile.load(paths).publicStaticKey != invite.staticKey else {
                throw CommandFailure(
                    .usage,
                    "This machine made the invite, or a copy of it did; use it on another machine."
                )
            }
            return try await self.meet(invite, timeout)
        }
        let words = RecoveryWords()
        if invite.workspace != nil { try self.show(words) }
        let address = try await Pairing(invite: invite, deviceName: name, words: words).join(paths)
        if !self.options.isJSON {
            let output = CommandOutput(isJSON: false, hasEffect: true)
            try output.line("Joined the workspace through \(address); this machine is \"\(name)\".")
            if invite.workspace != nil, let words = try Workspace.comparisonWords(paths) {
                try output.line("Read these words to whoever invited you, who sees the same ones: \(words)")
            }
            try output.end()
        }
        try await self.options.work(mayWrite: true) { workplace in
            try await workplace.meet(hosts: [address.host], port: address.port)
            do {
                try await workplace.sync(.anyone, timeoutMilliseconds: timeout)
            } catch let failure as CommandFailure where failure.status == .syncIncomplete {
                throw CommandFailure(
                    .syncIncomplete,
                    """
                    This machine has joined, but has not fetched everything yet: \(failure.message) \
                    "peerd run" fetches it.
                    """
                )
            }
        }
    }
}

extension JoinCommand {
    /// Shows the words of a new user, before he is one: if they are lost, nothing is.
    private func show(_ words: RecoveryWords) throws {
        // The answer is that of the first exchange.
        if self.options.isJSON { return StandardStreams.note("recovery words: \(words.text)") }
        let output = CommandOutput(isJSON: false)
        try output.show(words)
        try output.end()
    }

    /// The line that is pasted, or the first one of standard input.
    private func readLine() async throws -> String {
        if let line = self.line, line != "-" {
            StandardStreams.note(
                "Others on this machine can read the invite among the arguments of this command, and use it first. "
                    + "\"peerd join\" without it asks for it."
            )
            return line
        }
        let (question, byteCountMax) = ("The line that \"peerd invite\" printed: ", Invite.textByteCountMax)
        let line = try await StandardStreams.secretLine(question, atMost: byteCountMax)
        guard let line else {
            throw CommandFailure(.usage, "No invite was given; paste the line that \"peerd invite\" printed.")
        }
        return line
    }

    /// The workspace is here already: the machine that invites may be one that this one has not heard of.
    private func meet(_ invite: Invite, _ timeout: UInt64) async throws {
        try await self.options.work(mayWrite: true, mayLackDatabase: true) { workplace in
            try await workplace.meet(hosts: invite.addresses, port: invite.port)
            try await workplace.sync(.anyone, timeoutMilliseconds: timeout)
        }
    }
}

/// Time limits on the command line.
enum TimeLimit {
    private static let secondsMax = 86_400.0 * 365

    static func milliseconds(ofSeconds seconds: Double) throws -> UInt64 {
        guard seconds >= 0, seconds <= self.secondsMax else {
            throw CommandFailure(.usage, "The time limit is out of range; give a number of seconds from 0 to a year.")
        }
        return UInt64(seconds * 1000)
    }
}
