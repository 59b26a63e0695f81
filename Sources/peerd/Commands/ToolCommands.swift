internal import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import PeerCrypto
internal import PeerdKit

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "import",
        abstract: "Take in objects from a file.",
        discussion: """
            \(ImportFile.formatHelp)
            Large files are taken in piece by piece, each piece of at most \(ImportFile.batchObjectCountMax) objects \
            as a \
            whole or not at all. FILE.json may be - for standard input.
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
            try await output.line(JSON.object(["objects": .int(Int64(count))]).canonicalText)
        } else {
            try await output.line("imported \(PlainText.count(count, "object"))")
        }
        try await output.flush()
    }

    private static func read(_ path: String) throws -> ImportFile {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let data = try? handle?.readToEnd() ?? Data(), handle != nil else {
            throw CommandFailure(.failure, "The file \(path) cannot be read: \(SystemText.ofErrno()).")
        }
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else {
            throw CommandFailure(.failure, "The system gave no randomness.")
        }
        return try ImportFile(parsing: data) {
            ObjectID(random: Bytes16(high: entropy.nextUInt64(), low: entropy.nextUInt64()))
        }
    }
}

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "doctor",
        abstract: "Check the store, the keys and the connections, and say what to do about what is wrong.",
        discussion: """
            Computes the whole state anew from the log, in memory, and compares it with what is stored. Ends with exit \
            code 1 if there is a problem; warnings alone do not count.
            """,
        exitCodes: ExitStatus.common
    )

    @OptionGroup var options: DataOptions

    func run() async throws {
        let completion = try await self.options.perform(.doctor)
        if completion.status != .success {
            throw CommandFailure(completion.status, "Something is wrong; see above.")
        }
    }
}

struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "completion",
        abstract: "Print a completion script for your shell.",
        discussion: """
            For bash: peerd completion bash > ~/.local/share/bash-completion/completions/peerd
            For zsh:  peerd completion zsh > a folder of your fpath, as _peerd
            For fish: peerd completion fish > ~/.config/fish/completions/peerd.fish
            """,
        exitCodes: [.success, .usage]
    )

    @Argument(help: "bash, zsh or fish.")
    var shell: String

    func run() throws {
        guard let shell = CompletionShell(rawValue: self.shell) else {
            throw CommandFailure(.usage, "\"\(self.shell)\" is not bash, zsh or fish.")
        }
        try StandardStreams.output(Array((Peerd.completionScript(for: shell) + "\n").utf8)[...])
    }
}
