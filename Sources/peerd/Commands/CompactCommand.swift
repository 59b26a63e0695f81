internal import ArgumentParser
internal import LocalAPI
internal import PeerdKit

struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "compact",
        abstract: "Drop values that were replaced long ago, so that the database gets smaller.",
        discussion: """
            Keeps the state as it is, and every state since the time that --keep names. Of older states, what was \
            replaced before can be read no more on this machine, and an undo cannot bring it back; other machines keep \
            theirs. Signatures can be checked as before. A value is dropped only if all machines that were heard from \
            since then, or in the last 90 days, have its successor, so start them first; "peerd peers forget" takes a \
            machine that is gone off the list. What an open branch shows is kept.

            The daemon goes on writing and syncing meanwhile. If the command is ended, the next one continues. At the \
            end the file is written anew, which needs room for what is left, and as much in the folder for temporary \
            files; where there is less, it gets smaller in place, which takes longer.
            """
    )

    @Option(
        help: ArgumentHelp("The length of the history to keep, such as 12h, 30d or 26w; 0 for none.", valueName: "time")
    )
    var keep = "90d"

    @Flag(help: "Show what would be dropped, and change nothing.")
    var dryRun = false

    @OptionGroup var options: DataOptions

    func run() async throws {
        let seconds = self.keep == "0" ? 0 : DurationText.seconds(self.keep)
        guard let seconds, Workspace.keptSecondsRange.contains(seconds) else {
            throw CommandFailure(.usage, "--keep needs a time such as 12h, 30d or 26w, at most a thousand years; or 0.")
        }
        try await self.options.work(mayWrite: true) { try await $0.compact(keepingSeconds: seconds, self.dryRun) }
    }
}
