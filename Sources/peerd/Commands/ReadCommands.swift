internal import ArgumentParser
internal import LocalAPI
internal import PeerdKit

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "get",
        abstract: "Show an object, or one property.",
        discussion: """
            A property that is a string is printed as it is; with --json, and for all other values, as JSON. On a \
            terminal, JSON escapes replace characters that could control it.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var moment: MomentOption

    @Argument(help: "The object's id, or its first four or more digits.")
    var id: String

    @Argument(help: "The name of a property.")
    var name: String?

    func run() async throws {
        try await self.options.work { try await $0.get(self.id, self.name, at: self.moment.text) }
    }
}

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "ls",
        abstract: "List the children of an object, or the objects at the root.",
        discussion:
            "Each line has the name or title, if any, the type, the id, and the number of objects below it.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var moment: MomentOption

    @Argument(help: "The object's id, or its first four or more digits. Default: the root.")
    var id: String?

    func run() async throws { try await self.options.work { try await $0.list(self.id, at: self.moment.text) } }
}

struct TreeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "tree",
        abstract: "Show everything below an object, or the whole tree.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var moment: MomentOption

    @Argument(help: "The object's id, or its first four or more digits. Default: the root.")
    var id: String?

    func run() async throws { try await self.options.work { try await $0.tree(self.id, at: self.moment.text) } }
}

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "conflicts",
        abstract: "List edits that lost against a concurrent edit.",
        discussion: """
            Lists values of properties until someone writes the property again, and moves until someone moves the \
            object again. Also lists moves that have no effect because they would have put an object below itself.
            """
    )

    @OptionGroup var options: TimelineOptions

    func run() async throws { try await self.options.work { try await $0.conflicts() } }
}

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "log",
        abstract: "Print every operation ever stored, replica by replica.",
        discussion: LogEntryAnswer.fieldHelp,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Option(name: .customLong("object"), help: "Only operations on this object; it may be deleted.")
    var object: String?

    func run() async throws { try await self.options.work { try await $0.log(self.object) } }
}

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "export",
        abstract: "Print the live state as canonical JSON; machines with the same state print the same bytes.",
        discussion: "Prints an array of objects in the order of their ids, one per line; \"peerd import\" reads it.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions
    @OptionGroup var moment: MomentOption

    @Argument(help: "Only this object and everything below it.")
    var id: String?

    func run() async throws { try await self.options.work { try await $0.export(self.id, at: self.moment.text) } }
}
