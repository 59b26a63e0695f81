internal import ArgumentParser
internal import LocalAPI
internal import PeerdKit

/// Which data directory a command works on.
struct DirectoryOption: ParsableArguments {
    @Option(
        name: .customLong("dir"),
        help: ArgumentHelp(
            "The data directory.",
            discussion: "Default: $PEERD_DIR, else $XDG_STATE_HOME/peerd, else ~/.local/state/peerd.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var path: String?

    /// The directory, from the option or the environment.
    var paths: DirectoryPaths { get throws { try DirectoryPaths.chosen(option: self.path) } }
}

/// The moment that a command reads, or now.
struct MomentOption: ParsableArguments {
    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "Show the state of a moment: a time such as 2026-03-01, 2026-03-01T14:30:00Z (without an offset it is "
                + "UTC) or '2 days ago' (s, min, h, days, weeks, months of 30 days, years of 365), the name of a "
                + "change that \"peerd history\" prints, or branch:NAME.",
            valueName: "moment"
        )
    )
    var text: String?
}

/// Options of every command that acts on the main timeline or a branch.
struct TimelineOptions: ParsableArguments {
    @OptionGroup var data: DataOptions

    @Option(
        name: .customLong("branch"),
        help: ArgumentHelp(
            "The branch to act on, by its name or id, or main. Default: $PEERD_BRANCH, else the one that \"peerd "
                + "branch switch\" chose.",
            valueName: "branch"
        )
    )
    var branch: String?

    var directory: DirectoryOption { self.data.directory }

    /// Does something with the workspace, on that branch; see ``DataOptions``.
    func work<Result>(mayWrite: Bool = false, _ body: (Workplace) async throws -> Result) async throws -> Result {
        try await self.data.work(on: self.branch, mayWrite: mayWrite, body)
    }
}

/// Options of every command that prints data.
struct DataOptions: ParsableArguments {
    @OptionGroup var directory: DirectoryOption

    @Flag(name: .customLong("json"), help: "Print JSON.")
    var isJSON = false

    /// Does something with the workspace, through the daemon if one runs.
    ///
    /// `branch`: what `--branch` names. `mayWrite`: whether it may write. `hasEffect`: whether it does something else
    /// that counts, even if its output is lost. `mayLackDatabase`: whether everything may be fetched from others.
    /// `patienceMilliseconds`: how long the user is ready to wait, if he has said so.
    func work<Result>(
        on branch: String? = nil,
        mayWrite: Bool = false,
        hasEffect: Bool = false,
        mayLackDatabase: Bool = false,
        patienceMilliseconds: UInt64? = nil,
        _ body: (Workplace) async throws -> Result
    ) async throws -> Result {
        let paths = try self.directory.paths
        let output = CommandOutput(isJSON: self.isJSON, hasEffect: mayWrite || hasEffect)
        try paths.requireWorkspace(mayLackDatabase: mayLackDatabase)
        let patience = patienceMilliseconds.map { Int64(clamping: $0 / 1000) }
        let choice = try BranchChoice(option: branch)
        func attempt() async throws -> Result {
            var workplace = try await Workplace.open(paths, output, mayWrite: mayWrite, patience)
            workplace.branchChoice = choice
            return try await workplace.perform(body)
        }
        do {
            return try await attempt()
        } catch APIConnectionError.notTaken {
            // The daemon was ending, and has done nothing.
            return try await attempt()
        }
    }

    /// Prints what a command has done: as JSON, or as a line for people.
    ///
    /// `hasEffect`: whether that counts, even if the output is lost.
    func show(_ answer: some Encodable, _ text: @autoclosure () -> String, hasEffect: Bool = false) throws {
        let output = CommandOutput(isJSON: self.isJSON, hasEffect: hasEffect)
        try output.show(answer, text())
        try output.end()
    }
}
