internal import ArgumentParser
internal import CRDTCore
internal import PeerdKit

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "init",
        abstract: "Create a workspace in the data directory.",
        discussion: """
            To use a workspace that exists on another machine, run "peerd join" instead. The command prints 13 \
            recovery words, this once: whoever has them is the owner of the workspace. Write them down, and keep them \
            where no machine is. With them "peerd recover" makes any machine yours again after the others were lost, \
            and lets you remove a stolen one.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .storage]
    )

    @OptionGroup var options: DataOptions

    @Option(name: .customLong("name"), help: "The name of this machine, as others see it. Default: its host name.")
    var name: String?

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireNoWorkspace()
        let name = try DeviceName.checked(self.name)
        let words = RecoveryWords()
        let (isJSON, directory) = (self.options.isJSON, paths.directory)
        // The words are shown once. If that cannot be done, there is no workspace that they would be for.
        _ = try await Workspace.create(paths, name: name, recovery: words) { workspace, device in
            let output = CommandOutput(isJSON: isJSON)
            if isJSON {
                try output.json(
                    JSON.object([
                        "workspace": .string(workspace.description), "device": .string(device.description),
                        "device_name": .string(name), "directory": .string(directory),
                        "recovery_words": .string(words.text),
                    ])
                )
            } else {
                try output.line("Made workspace \(workspace) in \(directory); this machine is \"\(name)\".")
                try output.show(words)
            }
            try output.end()
        }
    }
}

/// The name of a machine.
enum DeviceName {
    /// The name given, or that of the host.
    static func checked(_ name: String?) throws -> String {
        let name = name ?? SystemText.hostName
        guard !name.isEmpty, name.utf8.count <= Limits.nameByteCountMax else {
            throw CommandFailure(
                .usage,
                "The name must have 1 to \(Limits.nameByteCountMax) bytes; choose one with --name NAME."
            )
        }
        return name
    }
}
