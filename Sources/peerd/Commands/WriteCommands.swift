internal import ArgumentParser

/// Shared by the help texts.
private let objectIDHelp = "The object's id, or its first four or more digits."

struct CreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "create",
        abstract: "Make an object; print its id.",
        discussion: """
            VALUE is JSON, or else taken as a string: done=true is a truth value, title='Buy seeds' a string, and \
            title='"true"' the string "true". With --key the id is derived from the workspace, TYPE and KEY, so that \
            two \
            machines that make the same thing apart make one object.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "What the object is.")
    var type: String

    @Option(name: .customLong("kind"), help: "A finer distinction within the type.")
    var kind = ""

    @Option(name: .customLong("parent"), help: "Id of the object to put it under. Default: the root.")
    var parent: String?

    @Option(name: .customLong("key"), help: "What to derive the id from.")
    var key: String?

    @Argument(help: ArgumentHelp("Properties.", valueName: "name=value"))
    var assignments: [String] = []

    func run() async throws {
        guard !self.type.isEmpty, !self.type.contains("=") else {
            throw CommandFailure(.usage, "The first argument is the type of the object, such as \"note\".")
        }
        let creation = Request.Creation(
            type: self.type,
            kind: self.kind,
            parent: self.parent,
            key: self.key,
            assignments: try Request.Assignment.parse(self.assignments)
        )
        try await self.options.perform(.create(creation))
    }
}

struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "set",
        abstract: "Write properties of an object, all at once.",
        discussion: "VALUE is JSON, or else taken as a string; see \"peerd help create\".",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: ArgumentHelp("Properties to write.", valueName: "name=value"))
    var assignments: [String]

    func run() async throws {
        try await self.options.perform(
            .set(object: self.id, assignments: try Request.Assignment.parse(self.assignments))
        )
    }
}

struct UnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "unset",
        abstract: "Remove a property of an object.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    func run() async throws { try await self.options.perform(.unset(object: self.id, name: self.name)) }
}

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "mv",
        abstract: "Move an object in the tree, or among its siblings.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    @Argument(help: "Id of the object to put it under.")
    var parent: String?

    @Flag(name: .customLong("root"), help: "Put it under no object.")
    var isToRoot = false

    @Option(name: .customLong("before"), help: "Id of the sibling to stand before. Default: at the end.")
    var before: String?

    func run() async throws {
        guard (self.parent == nil) == self.isToRoot else {
            throw CommandFailure(.usage, "Say where to: the id of the new parent, or --root, and not both.")
        }
        try await self.options.perform(.move(object: self.id, parent: self.parent, before: self.before))
    }
}

struct RestampCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "restamp",
        abstract: "Bring in changes that are held because a clock was wrong.",
        discussion: """
            Changes that a clock far ahead has stamped are held until their time comes; "peerd status" lists them. \
            This orders all that are held here now, of any of your own devices, directly after what they had seen, on \
            every machine. So what was written later, by someone who had not seen them, wins over them. Nothing is \
            written again. A device whose clock is right again does this by itself as soon as another one's clock says \
            so; the command is for one that does not come back. Where no other machine is online whose clock shows \
            the same as this one's, it is refused: with a clock that is behind, it would bring older writes into \
            force over newer ones, and that cannot be undone.
            """
    )

    @Flag(help: "You have seen to it that the clock of this machine is right.")
    var clockIsRight = false

    @OptionGroup var options: DataOptions

    func run() async throws { try await self.options.perform(.restamp(isClockRight: self.clockIsRight)) }
}

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "rm",
        abstract: "Delete an object and what is below it.",
        discussion: """
            Deleted is what this machine has seen. What another machine edits or moves in there meanwhile stays, and \
            keeps what is above it visible.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp(stringLiteral: objectIDHelp))
    var id: String

    func run() async throws { try await self.options.perform(.remove(object: self.id)) }
}
