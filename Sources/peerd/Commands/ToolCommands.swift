internal import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import PeerCrypto
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

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("The file.", valueName: "file.json"), completion: .file(extensions: ["json"]))
    var path: String

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        let file = try Self.read(self.path)
        let format = self.options.format
        let output = CommandOutput.standard(format)
        let count = try await Workplace.with(paths, mayWrite: true) { workplace in
            var count = 0
            for batch in file.batches {
                let completion: Completion
                do {
                    completion = try await workplace.perform(.importObjects(batch), format: format)
                } catch {
                    guard count > 0, let failure = CommandFailure(error) else { throw error }
                    let part = "The first \(count) of \(PlainText.count(file.objects.count, "object")) were imported."
                    throw CommandFailure(failure.status, "\(failure.message) \(part)")
                }
                count += completion.objectCount
                try await output.progress("imported \(count) of \(file.objects.count) objects")
            }
            try await output.progress("")
            return count
        }
        if format.isJSON {
            try await output.json(.object(["objects": .int(Int64(count))]))
        } else {
            try await output.line("imported \(PlainText.count(count, "object"))")
        }
        try await output.flush()
    }

    private static func read(_ path: String) throws -> ImportFile {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let data = try? handle?.readToEnd() ?? Data(), handle != nil else {
            throw CommandFailure(
                .failure,
                "The file \(path) cannot be read: \(SystemText.ofErrno()). Check the path and the permissions."
            )
        }
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else {
            throw CommandFailure(.failure, "The system returned no random bytes; check that /dev/urandom can be read.")
        }
        return try ImportFile(parsing: data) {
            ObjectID(random: Bytes16(high: entropy.nextUInt64(), low: entropy.nextUInt64()))
        }
    }
}

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "doctor",
        abstract: "Check the store, the keys and the connections, and advise on each problem.",
        discussion: """
            Rebuilds the whole state from the log, in memory, and compares it with the stored state. Exits with code 1 \
            if there is a problem; warnings alone do not count.
            """,
        exitCodes: ExitStatus.common
    )

    @OptionGroup var options: DataOptions

    func run() async throws {
        let completion = try await self.options.perform(.doctor)
        if completion.status != .success {
            throw CommandFailure(completion.status, "There is a problem; follow the advice above.")
        }
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
