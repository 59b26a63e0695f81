internal import ArgumentParser
internal import LocalAPI

struct EraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "erase",
        abstract: "Erase the earlier values of a property on all machines.",
        discussion: """
            Keeps the value that the property has. Every value that it had before, as far as this machine knows of it, \
            is erased here before the command returns, and on each other machine once it has synced; nobody can read \
            it again, and no undo brings it back. Hashes stay in place of the values, so signatures can be checked as \
            before. What another machine writes at the same time stays, and is a conflict or counts, as always. \
            Conflicts of the property end. Of a deleted object, named by its whole id, the last value is erased too.

            Snapshots, backups, exports, and machines that never sync again keep what they have. So does a branch that \
            is not merged. If an open branch shows an earlier value, nothing is erased. A disk or its file system may \
            hold old bytes in blocks that it uses no more.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it; the whole id of one that is deleted.")
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.erase(self.name, of: self.id) }
    }
}
