internal import ArgumentParser
internal import LocalAPI

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "share",
        abstract: "Let a person read an object and everything below it, or also write it.",
        discussion: """
            The first time that an object is shared, it and what is below it are written anew: the person gets what \
            they are now, and not what they were. Who is let in later gets all that was written there since. What is \
            made or moved below it later is shared, too; what is moved out of it is not shared any more. For somebody \
            who has access already, the command changes what he may do. \
            "peerd invite NAME" lets a person into the workspace.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    @Argument(help: "The name of the person, or the first 4 or more digits of his id.")
    var person: String

    @Flag(help: "What the person may do: read, read and write, or also say who else has access.")
    var role = Role.read

    enum Role: String, EnumerableFlag {
        case read, write, manage
    }

    @Option(
        help: ArgumentHelp(
            "With --write, the only properties that the person may set, with commas between them.",
            valueName: "properties"
        )
    )
    var only: String?

    func run() async throws {
        let properties = self.only.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        try await self.options.work(mayWrite: true) { workplace in
            try await workplace.share(self.id, with: self.person, as: self.role.rawValue, only: properties)
        }
    }
}

struct UnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "unshare",
        abstract: "Take from a person what he may do with an object that is shared.",
        discussion: """
            The person keeps what he was sent. His edits that are on this machine stay; what he writes from now on \
            counts nowhere, nor what he had written and not synced with this machine.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    @Argument(help: "The name of the person, or the first 4 or more digits of his id.")
    var person: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.unshare(self.id, with: self.person) }
    }
}

struct AccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "access",
        abstract: "Show who may do what with an object.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    func run() async throws { try await self.options.work { try await $0.showAccess(to: self.id) } }
}

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "users",
        abstract: "List the people of the workspace; remove one.",
        discussion: """
            "peerd users remove NAME" ends the sessions of all machines of that person, and refuses them from now on. \
            What they were sent they keep, and what they have written stays. Only whoever created the workspace can do \
            that.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "remove, to take a person out of the workspace.")
    var action: String?

    @Argument(help: "The name of the person, or the first 4 or more digits of his id.")
    var person: String?

    func run() async throws {
        guard let action else { return try await self.options.work { try await $0.users() } }
        guard action == "remove", let person, !person.isEmpty else {
            throw CommandFailure(
                .usage,
                "This is not understood; write \"peerd users\" or \"peerd users remove NAME\"."
            )
        }
        try await self.options.work(mayWrite: true) { try await $0.removeUser(person) }
    }
}

struct RejectedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "rejected",
        abstract: "List edits that count nowhere, because their authors had no right to make them.",
        discussion: """
            What somebody wrote after a right was taken from him, or on a machine that was apart then, is in the log \
            of every machine that has it, and in the state of none. "peerd adopt" makes edits of your own of it.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Option(help: "Only what this person wrote: the name, or the first 4 or more digits of his id.")
    var by: String?

    func run() async throws { try await self.options.work { try await $0.rejected(by: self.by) } }
}

struct AdoptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "adopt",
        abstract: "Make edits of your own of what was rejected.",
        discussion: """
            All that was rejected of a transaction is written anew, as far as it still can be done: what is gone by \
            now stays so.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("What \"peerd rejected\" prints first of a line.", valueName: "change"))
    var changes: [String]

    func run() async throws { try await self.options.work(mayWrite: true) { try await $0.adopt(self.changes) } }
}
