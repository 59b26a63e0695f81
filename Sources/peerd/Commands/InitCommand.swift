internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import PeerdKit

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "init",
        abstract: "Create a workspace in the data directory.",
        discussion: "To use a workspace that exists on another machine, run \"peerd join\" instead.",
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .storage]
    )

    @OptionGroup var options: DataOptions

    @Option(name: .customLong("name"), help: "The name of this machine, as others see it. Default: its host name.")
    var name: String?

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireNoWorkspace()
        let name = try DeviceName.checked(self.name)
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()),
            let identity = DeviceIdentity.founding(name: name, entropy: &entropy)
        else {
            throw CommandFailure(.failure, "The system returned no random bytes; check that /dev/urandom can be read.")
        }
        let workspace = identity.workspace
        try await NewWorkspace.found(identity, at: paths)
        let json = JSON.object([
            "workspace": .string(workspace.description), "device": .string(identity.device.description),
            "device_name": .string(name), "directory": .string(paths.directory),
        ])
        let text = "Made workspace \(workspace) in \(paths.directory); this machine is \"\(name)\"."
        try self.options.show(json, text, hasEffect: true)
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
