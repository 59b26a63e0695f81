internal import ArgumentParser
internal import PeerdKit

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "import",
        abstract: "Import objects from a file.",
        discussion: """
            \(ImportFile.formatHelp)
            A large file is imported in batches of at most \(ImportFile.batchObjectCountMax) objects, each as a whole \
            or not at all. FILE.json may be - for standard input.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: TimelineOptions

    @Argument(help: ArgumentHelp("The file.", valueName: "file.json"), completion: .file(extensions: ["json"]))
    var path: String

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        let file = try ImportSource(path: self.path, keptIn: paths.directory)
        try await self.options.work(mayWrite: true) { try await $0.importObjects(from: file) }
    }
}

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "doctor",
        abstract: "Check the store, the keys and the connections, and advise on each problem.",
        discussion: """
            Checks every hash and every signature of the log, rebuilds the whole state from it in the data directory, \
            and compares that with the stored state. Exits with code 1 if there is a problem; warnings alone do not \
            count.
            """
    )

    @OptionGroup var options: DataOptions

    @Flag(name: .customLong("verify"), help: "Check every hash and signature, as is done in any case.")
    var verifies = false

    func run() async throws {
        let isHealthy = try await self.options.work { try await $0.doctor() }
        if !isHealthy { throw CommandFailure(.failure, "There is a problem; follow the advice above.") }
    }
}

struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "completion",
        abstract: "Print a completion script for your shell.",
        discussion: """
            For bash: peerd completion bash > ~/.local/share/bash-completion/completions/peerd
            For zsh:  peerd completion zsh > DIR/_peerd, with a DIR of your fpath
            For fish: peerd completion fish > ~/.config/fish/completions/peerd.fish
            """,
        exitCodes: [.success, .usage]
    )

    @Argument(help: "bash, zsh or fish.")
    var shell: String

    func run() throws {
        guard let shell = CompletionShell(rawValue: self.shell) else {
            throw CommandFailure(.usage, "\"\(self.shell)\" is not a supported shell; name bash, zsh or fish.")
        }
        try StandardStreams.output((Peerd.completionScript(for: shell) + "\n").utf8)
    }
}
