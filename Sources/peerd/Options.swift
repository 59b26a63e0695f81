internal import ArgumentParser
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
    var paths: DirectoryPaths {
        get throws {
            try DirectoryPaths.chosen(option: self.path)
        }
    }
}

/// Options of every command that prints data.
struct DataOptions: ParsableArguments {
    @OptionGroup var directory: DirectoryOption

    @Flag(name: .customLong("json"), help: "Print JSON.")
    var isJSON = false

    /// Does something with the workspace, through the daemon if one runs.
    ///
    /// `mayWrite`: whether it may write. `patienceMilliseconds`: how long the user is ready to wait, if he has said so.
    func work<Result>(
        mayWrite: Bool = false,
        patienceMilliseconds: UInt64? = nil,
        _ body: (Workplace) async throws -> Result
    ) async throws -> Result {
        try await Workplace.with(
            try self.directory.paths,
            self.format,
            mayWrite: mayWrite,
            patienceMilliseconds: patienceMilliseconds,
            body
        )
    }

    var format: OutputFormat {
        OutputFormat(isJSON: self.isJSON)
    }
}
