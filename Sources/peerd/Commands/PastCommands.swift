internal import ArgumentParser

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "history",
        abstract: "Show who wrote what to an object, when, and what it replaced; the latest first.",
        discussion: """
            Each line has the time, the machine, the edit, what it replaced as its author saw it, whether it is in \
            force, and the name of its change. --at takes that name: "peerd get ID --at NAME" shows the object as the \
            author left it. Edits on branches are among them, whichever branch is chosen.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The object's id, or its first four or more digits. A deleted object needs its whole id.")
    var id: String

    @Argument(help: "The name of a property.")
    var name: String?

    @Option(name: .customLong("limit"), help: "The most edits to show. Default: all.")
    var limit: Int?

    func run() async throws {
        if let limit, limit < 1 { throw CommandFailure(.usage, "--limit is at least 1.") }
        try await self.options.work { try await $0.history(self.id, self.name, limit: self.limit) }
    }
}

struct DiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "diff",
        abstract: "Show which objects differ between two moments.",
        discussion: "A moment is what --at takes; see \"peerd help get\".",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The moment to compare with.")
    var from: String

    @Argument(help: "The other moment. Default: now.")
    var to: String?

    @Option(name: .customLong("object"), help: "Only this object and what was below it at either moment.")
    var object: String?

    func run() async throws {
        try await self.options.work { try await $0.diff(self.from, self.to, self.object) }
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "restore",
        abstract: "Make an object, or one property, what it was at a moment.",
        discussion: """
            Writes new edits; history stays as it is. Without NAME, the object gets the properties and the place that \
            it had, and so does everything that was below it. What was deleted since is created again. What came below \
            it since stays.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The object's id, or its first four or more digits. A deleted object needs its whole id.")
    var id: String

    @Argument(help: "The name of a property.")
    var name: String?

    @Option(name: .customLong("at"), help: ArgumentHelp("The moment; see \"peerd help get\".", valueName: "moment"))
    var moment: String

    func run() async throws {
        try await self.options.work(mayWrite: true) {
            try await $0.restore(self.id, self.name, at: self.moment)
        }
    }
}

struct UndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "undo",
        abstract: "Take back what you did last.",
        discussion: """
            Takes back what was done on this machine with this command, the latest first. An import, a restore or a \
            merge is one action, however long. What has been edited elsewhere since stays as it is, and is named; the \
            exit code is 1 if that is all of it. On a branch, it is what was done there. "peerd redo" does it again.

            Programs have names, so that nobody takes back what another one has written: pages have one, and a script \
            gets one by $PEERD_PROGRAM. --program and --device take back what others have done.
            """
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var actions: ActionOptions

    @Argument(help: "The number of actions.")
    var count = 1

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.reverse("undo", self.count, self.actions) }
    }
}

struct RedoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "redo",
        abstract: "Do again what \"peerd undo\" took back.",
        discussion: "Once you have done something else, there is nothing to redo. The options are those of undo."
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var actions: ActionOptions

    @Argument(help: "The number of actions.")
    var count = 1

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.reverse("redo", self.count, self.actions) }
    }
}

/// Whose actions are taken back, or done again.
struct ActionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The name of the program that did them, or \"\" for none.", valueName: "name"))
    var program: String?

    @Flag(help: "What any program did.")
    var allPrograms = false

    @Option(help: ArgumentHelp("The machine of yours on which they were done, by name or id, or \"all\"."))
    var device: String?

    func validate() throws {
        guard self.program == nil || !self.allPrograms else {
            throw ValidationError("--program and --all-programs exclude each other.")
        }
    }
}
