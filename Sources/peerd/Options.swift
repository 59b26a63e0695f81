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

    /// Has a request carried out, by the daemon if one runs, and prints what comes of it.
    @discardableResult
    func perform(_ request: Request) async throws -> Completion {
        try await Workplace.with(try self.directory.paths, mayWrite: request.mayWrite) { workplace in
            try await workplace.perform(request, format: self.format)
        }
    }

    var format: OutputFormat {
        OutputFormat(isJSON: self.isJSON)
    }
}
