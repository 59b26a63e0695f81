internal import ArgumentParser
internal import Foundation
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

    @Option(help: "A hidden property of the object, instead of the object, which the person reads already.")
    var property: String?

    func run() async throws {
        let properties = self.only.map { list in
            list.split(separator: ",", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        if self.property != nil, properties != nil {
            throw CommandFailure(.usage, "With --property a single property is shared; leave --only away.")
        }
        try await self.options.work(mayWrite: true) { workplace in
            if let property {
                try await workplace.share(property, of: self.id, with: self.person, as: self.role.rawValue)
            } else {
                try await workplace.share(self.id, with: self.person, as: self.role.rawValue, only: properties)
            }
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

    @Option(help: "A hidden property of the object, instead of the object.")
    var property: String?

    func run() async throws {
        try await self.options.work(mayWrite: true) { workplace in
            if let property {
                try await workplace.unshare(property, of: self.id, with: self.person)
            } else {
                try await workplace.unshare(self.id, with: self.person)
            }
        }
    }
}

struct HideCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "hide",
        abstract: "Hide a property of an object from everybody else who reads the object.",
        discussion: """
            The property shows on your machines as before, goes with the object wherever that is shared or moved, and \
            is sent to nobody else. "peerd share ID NAME --property PROPERTY" lets somebody read it who reads the \
            object. \
            What others were sent before they keep; with --from-past the command also erases the earlier values, as \
            "peerd erase" does, from all machines that sync. An object must be yours.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    @Flag(help: "Also erase what the property was before.")
    var fromPast = false

    func run() async throws {
        try await self.options.work(mayWrite: true) { workplace in
            try await workplace.hide(self.name, of: self.id)
            if self.fromPast { try await workplace.erase(self.name, of: self.id) }
        }
    }
}

struct UnhideCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "unhide",
        abstract: "Show a property again to all who read its object.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.unhide(self.name, of: self.id) }
    }
}

struct AccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "access",
        abstract: "Show who may do what with an object, or with each that is shared.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it. Default: all that is shared.")
    var id: String?

    func run() async throws { try await self.options.work { try await $0.showAccess(to: self.id) } }
}

struct LeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "leave",
        abstract: "Give up an object that somebody shares with you: it shows on your machines no more.",
        discussion: """
            What you have written there stays with the others. Whoever may share the object can share it with you \
            again; then it shows as before.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    func run() async throws { try await self.options.work(mayWrite: true) { try await $0.leave(self.id) } }
}

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "why",
        abstract: "Show whether a person may read and write an object, and what decides about it.",
        discussion: """
            Without the name of a property it is about everything that can be done with the object. "peerd rejected" \
            says of what was written why it does not count.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it.")
    var id: String

    @Argument(help: "The name of a property, and then of the person; or the person alone, by name or id.")
    var names: [String]

    func run() async throws {
        guard let person = self.names.last, self.names.count <= 2 else {
            throw CommandFailure(.usage, "This is not understood; write \"peerd why ID [PROPERTY] NAME\".")
        }
        let property = self.names.count == 2 ? self.names[0] : nil
        try await self.options.work { try await $0.why(self.id, property, of: person) }
    }
}

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "users",
        abstract: "List the people of the workspace; verify, rename, remove or readmit one.",
        discussion: """
            Behind the name of a person come four words until he is verified: he sees the same ones, in this list and \
            when he joins. Let him read them to you, by telephone or face to face, and run "peerd users verify NAME" \
            with them: nobody else has used the invite then. Who is not verified can manage nothing.

            "peerd users rename NAME NEW" calls a person something else.

            "peerd users remove NAME" ends the sessions of all machines of that person, and refuses them from now on. \
            What they were sent they keep, and what they have written stays. "peerd users readmit NAME" lets a person \
            in again, with the machines that he had, when one of them meets one that knows of it. Only whoever created \
            the workspace can do these four.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "verify, after the words were compared; rename; remove, to take a person out; or readmit.")
    var action: String?

    @Argument(help: "The name of the person, or the first 4 or more digits of his id.")
    var person: String?

    @Argument(help: "With verify the four words that the person sees, with rename the new name.")
    var words: [String] = []

    func run() async throws {
        guard let action else { return try await self.options.work { try await $0.users() } }
        let person = self.person ?? ""
        switch (action, self.words.isEmpty) {
        case ("remove", true) where !person.isEmpty:
            try await self.options.work(mayWrite: true) { try await $0.removeUser(person) }
        case ("readmit", true) where !person.isEmpty:
            try await self.options.work(mayWrite: true) { try await $0.readmitUser(person) }
        case ("rename", false) where !person.isEmpty && self.words.count == 1:
            try await self.options.work(mayWrite: true) { try await $0.rename(user: person, to: self.words[0]) }
        case ("verify", false) where !person.isEmpty:
            let words = self.words.joined(separator: " ")
            try await self.options.work(mayWrite: true) { try await $0.verify(user: person, words: words) }
        default:
            throw CommandFailure(
                .usage,
                """
                This is not understood; write "peerd users", "peerd users verify NAME WORD WORD WORD WORD", \
                "peerd users rename NAME NEW", "peerd users remove NAME" or "peerd users readmit NAME".
                """
            )
        }
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
