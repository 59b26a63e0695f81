internal import ArgumentParser
internal import PeerdKit

struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "invite",
        abstract: "Print an invite: a line that lets one other machine, or another person, join.",
        discussion: """
            The line holds a secret: anyone who has it can join. It works once, within ten minutes, and at most eight \
            invites are open at a time. The daemon must run to let the other machine in. On a terminal the command \
            also draws the line as a QR code. With NAME the line is for another person, who reads nothing until \
            "peerd share" shares something with him; without it, for a machine of your own. With --back it is for \
            somebody of the workspace who has lost all his machines, and runs "peerd recover" with his recovery words.
            """
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("What another person is called here.", valueName: "name"))
    var person: String?

    @Flag(help: "For somebody of the workspace who has lost all machines, and has his recovery words.")
    var back = false

    func run() async throws {
        if self.back, self.person != nil {
            throw CommandFailure(.usage, "Who comes back has a name already; leave NAME or --back away.")
        }
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        // Without a daemon an invite names the address where one listened last.
        if try Settings.load(paths).listen == nil { _ = try await paths.hasDaemonSoon }
        try await self.options.work { try await $0.invite(self.person, isBack: self.back) }
    }
}

struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "peers",
        abstract: "List the machines of the workspace, and which are connected; remove one that was lost or stolen.",
        discussion: """
            "peerd peers forget DEVICE" takes a machine that is gone off the list of this machine, so that nobody \
            waits for it. DEVICE is its name, or the first four or more digits of its id. It stays a member: if it \
            comes back by itself, it is on the list again.

            "peerd peers remove DEVICE" takes all rights from a machine: its sessions end, nothing is sent to it any \
            more, and what it writes counts nowhere. What it holds it keeps. What it had written stays, as far as it \
            is here; with --since only what it says to be from before that time. Machines that joined through it go \
            with it, but for those that --keep names; the command says which, and goes on with --with-invited. A \
            machine removes what has joined through it, directly or not. To remove one that stands above this one, \
            run "peerd recover" first.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "forget, to take a machine off the list; remove, to take all rights from it.")
    var action: String?

    @Argument(help: "The machine.")
    var device: String?

    @Option(help: "With remove: a machine that has joined through it, and stays; may be given several times.")
    var keep: [String] = []

    @Flag(help: "With remove: whatever has joined through it, and is not kept, goes with it.")
    var withInvited = false

    @Option(help: "With remove: what it says to have written after this time does not count either.")
    var since: String?

    func run() async throws {
        let hasOptions = !self.keep.isEmpty || self.withInvited || self.since != nil
        switch (self.action, self.device) {
        case (nil, nil) where !hasOptions: try await self.options.work { try await $0.peers() }
        case ("forget"?, let device?) where !device.isEmpty && !hasOptions:
            try await self.options.work(mayWrite: true) { try await $0.forget(device) }
        case ("remove"?, let device?) where !device.isEmpty:
            try await self.options.work(mayWrite: true) { workplace in
                try await workplace.remove(
                    device,
                    keeping: self.keep,
                    withInvited: self.withInvited,
                    since: self.since
                )
            }
        default:
            throw CommandFailure(
                .usage,
                "This is not understood; write \"peerd peers\", \"peerd peers forget DEVICE\" or "
                    + "\"peerd peers remove DEVICE\"."
            )
        }
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "status",
        abstract: "Show what this machine holds, and anything that is wrong."
    )

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.work { try await $0.status() } }
}

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "sync",
        abstract: "Sync with the peers now; print how many operations were pushed and pulled.",
        discussion: """
            Ends when neither side of any connection lacks anything. The command skips machines that do not answer \
            within a few seconds; with --wait it waits for every known machine. Operations that the daemon exchanged \
            before the command started are not counted.
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
        try await self.options.work(mayWrite: true, patienceMilliseconds: timeout) { workplace in
            try await workplace.sync(self.waits ? .everyone : .whoeverAnswers, timeoutMilliseconds: timeout)
        }
    }
}
