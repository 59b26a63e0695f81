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

    @OptionGroup var options: TimelineOptions

    @Argument(help: "The id of the object, or the first 4 or more digits of it; the whole id of one that is deleted.")
    var id: String

    @Argument(help: "The name of the property.")
    var name: String

    func run() async throws {
        try await self.options.work(mayWrite: true) { try await $0.erase(self.name, of: self.id) }
    }
}

struct ErasuresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "erasures",
        abstract: "List erasures of other machines that wait here; allow or stop them.",
        discussion: """
            Up to a thousand values that other machines erase within a day are erased here at once. What is beyond \
            waits for a day, so that a stolen machine does not erase the past of everything on all others before \
            anybody sees it. "peerd erasures stop DEVICE" keeps here what that machine erases, also later; \
            "peerd erasures allow DEVICE" erases it. DEVICE is its name, or the first four or more digits of its id. \
            Other machines decide for themselves.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "allow or stop.")
    var action: String?

    @Argument(help: "The machine whose erasures are allowed or stopped.")
    var device: String?

    func run() async throws {
        guard let action else { return try await self.options.work { try await $0.erasures() } }
        guard ["allow", "stop"].contains(action), let device, !device.isEmpty else {
            throw CommandFailure(
                .usage,
                "This is not understood; write \"peerd erasures\", \"peerd erasures allow DEVICE\" or \"peerd erasures "
                    + "stop DEVICE\"."
            )
        }
        try await self.options.work(mayWrite: true) {
            try await $0.decideErasures(of: device, areAllowed: action == "allow")
        }
    }
}
