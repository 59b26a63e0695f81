internal import ArgumentParser
internal import PeerdKit

struct SnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Keep an object with everything below it as it is now, and restore it later.",
        discussion: """
            Snapshots are kept in the database of this machine, and no other machine gets them; export and import \
            carry them. A SNAPSHOT is an id, or its first four or more digits.

            \(ExitStatus.line(ExitStatus.commonWithObject))
            """,
        subcommands: [
            SnapshotCreateCommand.self, SnapshotListCommand.self, SnapshotShowCommand.self,
            SnapshotRestoreCommand.self, SnapshotExportCommand.self, SnapshotImportCommand.self,
            SnapshotDeleteCommand.self,
        ]
    )
}

struct SnapshotCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "create",
        abstract: "Take a snapshot of an object and everything below it; print its id.",
        discussion: "It shows one moment. At most 32 MiB; \"peerd export ID\" has no limit.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The object's id, or its first four or more digits.")
    var id: String

    @Option(help: "A name for people.")
    var name: String?

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.takeSnapshot(of: self.id, name: self.name) }
    }
}

struct SnapshotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "list",
        abstract: "List the snapshots, the oldest first.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "Only those of this object; it may be deleted, if the whole id is given.")
    var id: String?

    func run() async throws { try await self.options.work { try await $0.listSnapshots(of: self.id) } }
}

struct SnapshotShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "show",
        abstract: "Show the objects of a snapshot as a tree; with --json, all of it.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The snapshot.")
    var snapshot: String

    func run() async throws { try await self.options.work { try await $0.showSnapshot(self.snapshot) } }
}

struct SnapshotRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "restore",
        abstract: "Make an object, and everything below it, what it was in a snapshot.",
        discussion: """
            An ordinary edit, which the other machines get. Objects that are gone are created again under their ids, \
            properties are set or removed, and places are restored. Objects that were put below since then stay. If \
            the parent is gone, the object goes to the root, or stays where it is. If nothing differs, nothing is \
            written. What does not fit into one transaction (65,536 operations, 6 MiB) is written in several; if that \
            is broken off, run it again.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The snapshot.")
    var snapshot: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.restoreSnapshot(self.snapshot) }
    }
}

struct SnapshotExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "export",
        abstract: "Write a snapshot to a file, or print it, as canonical JSON.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The snapshot.")
    var snapshot: String

    @Argument(
        help: ArgumentHelp("The file, which must not exist. Default: standard output.", valueName: "file.json"),
        completion: .file(extensions: ["json"])
    )
    var path: String?

    func run() async throws {
        try await self.options.work { try await $0.exportSnapshot(self.snapshot, to: self.path) }
    }
}

struct SnapshotImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "import",
        abstract: "Keep a snapshot that was exported, from whichever machine; print its id.",
        discussion: """
            The objects do not change until it is restored. FILE.json has at most 32 MiB, and may be - for standard \
            input.
            """
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("The file.", valueName: "file.json"), completion: .file(extensions: ["json"]))
    var path: String

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        let file = try ImportSource(path: self.path, keptIn: paths.directory, upTo: ObjectSnapshot.byteCountMax)
        try await self.options.work(mayWrite: true) { try await $0.importSnapshot(from: file) }
    }
}

struct SnapshotDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "delete",
        abstract: "Remove a snapshot; the objects stay as they are.",
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The snapshot.")
    var snapshot: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.deleteSnapshot(self.snapshot) }
    }
}
