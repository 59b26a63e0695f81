internal import ArgumentParser

/// Shared by the help texts.
private let objectIDHelp = "The object's id, or its first four or more digits."

struct CreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "create",
        abstract: "Create an object; print its id.",
        discussion: """
            VALUE is JSON, or else a string: done=true is a boolean, title='Buy seeds' a string, and title='"true"' \
            the string "true". With --key, the id is derived from the workspace, the user, TYPE and KEY: machines of \
            one user that create the same thing apart get one object. If that object already exists, it keeps its \
            place, and only the given properties are written.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The type of the object.")
    var type: String

    @Option(name: .customLong("kind"), help: "A finer distinction within the type.")
    var kind = ""

    @Option(name: .customLong("parent"), help: "Id of the parent. Default: the root.")
    var parent: String?

    @Option(name: .customLong("key"), help: "Text to derive the id from.")
    var key: String?

    @Argument(help: ArgumentHelp("Properties.", valueName: "name=value"))
    var assignments: [String] = []

    func run() async throws {
        guard !self.type.isEmpty, !self.type.contains("=") else {
            throw CommandFailure(.usage, "The type is missing; begin with the type of the object, such as \"note\".")
        }
        let assignments = try Assignment.parse(self.assignments + SetAsideAssignments.rest)
        try await self.options.work(mayWrite: true) {
            try await $0.create(self.type, kind: self.kind, in: self.parent, key: self.key, assignments)
        }
    }
}

struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "set",
        abstract: "Write properties of an object, in one change.",
        discussion: "VALUE is JSON, or else a string; see \"peerd help create\".",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: ArgumentHelp("Properties to write.", valueName: "name=value"))
    var assignments: [String]

    func run() async throws {
        let assignments = try Assignment.parse(self.assignments + SetAsideAssignments.rest)
        try await self.options.work(mayWrite: true) { try await $0.set(self.id, assignments) }
    }
}

struct UnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "unset",
        abstract: "Remove a property of an object.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.unset(self.id, self.name) }
    }
}

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "mv",
        abstract: "Move an object in the tree, or among its siblings.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: "Id of the new parent.")
    var parent: String?

    @Flag(name: .customLong("root"), help: "Move it to the root.")
    var isToRoot = false

    @Option(name: .customLong("before"), help: "Id of the sibling to place it before. Default: at the end.")
    var before: String?

    func run() async throws {
        guard (self.parent == nil) == self.isToRoot else {
            throw CommandFailure(
                .usage,
                "The new place is missing or given twice; name either the id of the new parent or --root."
            )
        }
        try await self.options.work(mayWrite: true) { try await $0.move(self.id, self.parent, self.before) }
    }
}

struct RestampCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "restamp",
        abstract: "Release changes that are held because a clock was wrong.",
        discussion: """
            Changes that a fast clock has stamped far ahead are held until their time comes; "peerd status" lists \
            them. This command orders the held changes of all your own devices directly after what they had seen, on \
            every machine. Later writes by someone who had not seen them win over them. Nothing is written again. A \
            device with a corrected clock does this by itself as soon as the clock of another machine confirms it; use \
            the command for a device that does not come back. Unless another machine is online whose clock agrees with \
            this one, the command is refused: with a slow clock it would put older writes over newer ones, and that \
            cannot be undone.
            """
    )

    @Flag(help: "Confirm that you checked the clock of this machine, and it is right.")
    var clockIsRight = false

    @OptionGroup var options: DataOptions

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.restamp(isClockRight: self.clockIsRight) }
    }
}

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "rm",
        abstract: "Delete an object and everything below it.",
        discussion: """
            Deletes what this machine has seen. An object that another machine edits or moves in there meanwhile \
            stays, and keeps its ancestors visible.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    func run() async throws { try await self.options.work(mayWrite: true) { try await $0.remove(self.id) } }
}
