internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import PeerTransport
internal import PeerdKit

struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "recover",
        abstract: "Make this machine stand above all your others, with the recovery words.",
        discussion: """
            Asks for the 13 words that were printed when the workspace, or your user, was made, or reads them as the \
            first line of standard input. From then on this machine can remove any other one of yours with "peerd \
            peers remove", and nothing that one of them has removed binds it. In a directory without a workspace the \
            command also asks for the line that "peerd invite" printed on another machine of yours, or "peerd invite \
            --back" on a machine of anybody else in the workspace, and joins first. The daemon must not run here.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .syncIncomplete, .storage]
    )

    @OptionGroup var options: DataOptions

    @Flag(help: "Only say whether the words are the right ones.")
    var check = false

    @Option(name: .customLong("name"), help: "The name of this machine, as others see it. Default: its host name.")
    var name: String?

    @Option(name: .customLong("timeout"), help: "How long to wait for the first exchange, in seconds.")
    var timeoutSeconds = 60.0

    private static let wordsByteCountMax = 1 << 10

    func run() async throws {
        let paths = try self.options.directory.paths
        if !paths.hasWorkspace || self.check { try self.check ? paths.requireWorkspace() : paths.requireNoWorkspace() }
        let name = try DeviceName.checked(self.name)
        let timeout = try TimeLimit.milliseconds(ofSeconds: self.timeoutSeconds)
        let words = try await self.readWords()
        if self.check {
            guard try Workspace.isRecoverable(paths, with: words) else {
                throw CommandFailure(.failure, "These are the recovery words of another user.")
            }
            return try self.show("These are the recovery words of the user of this machine.")
        }
        if !paths.hasWorkspace { try await self.join(paths, name, words, timeout) }
        try await Workspace.recover(paths, with: words)
        try self.show(
            "This machine stands above all your others now; \"peerd peers\" lists them, and \"peerd peers remove\" "
                + "removes one."
        )
    }

    /// The words, which may be on several lines.
    private func readWords() async throws -> RecoveryWords {
        var text = ""
        repeat {
            let question = text.isEmpty ? "The \(RecoveryWords.count) recovery words: " : "The rest of them: "
            let line = try await StandardStreams.secretLine(question, atMost: Self.wordsByteCountMax)
            guard let line, text.utf8.count < Self.wordsByteCountMax else { break }
            text += line + " "
        } while RecoveryWords.count(in: text) < RecoveryWords.count
        return try RecoveryWords(text)
    }

    private func show(_ text: String) throws {
        try self.options.show(JSON.object(["recovered": .bool(!self.check)]), text, hasEffect: !self.check)
    }

    /// Joins through somebody who is in the workspace, and takes in what he has: it says what was certified last.
    private func join(_ paths: DirectoryPaths, _ name: String, _ words: RecoveryWords, _ timeout: UInt64) async throws {
        let line = try await StandardStreams.secretLine("The line of the invite: ", atMost: Invite.textByteCountMax)
        guard let invite = line.flatMap({ Invite(text: $0) }), !invite.addresses.isEmpty else {
            throw CommandFailure(
                .usage,
                "This is not a complete invite; copy the whole line that \"peerd invite\" printed."
            )
        }
        let address = try await Pairing(invite: invite, deviceName: name, words: words, isRecovery: true).join(paths)
        try await self.options.work(mayWrite: true) { workplace in
            try await workplace.meet(hosts: [address.host], port: address.port)
            try await workplace.sync(.anyone, timeoutMilliseconds: timeout)
        }
    }
}

extension CommandOutput {
    /// Shows words, and says what to do with them.
    func show(_ words: RecoveryWords) throws {
        try self.line("Recovery words, shown this once; write them down, and keep them where no machine is:")
        try self.line("  \(words.text)")
    }
}
