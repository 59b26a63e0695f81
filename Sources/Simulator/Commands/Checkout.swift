import Foundation
internal import Simulation

/// What this program was built from, as far as it can be told beside it.
enum Checkout {
    /// The commit that is checked out in the package, with `-dirty` if the tree is changed; `unknown` elsewhere.
    static let commit: String = {
        guard let package = Checkout.packagePath else { return "unknown" }
        let git = Process()
        let output = Pipe()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        git.arguments = ["git", "-C", package, "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
        git.standardOutput = output
        git.standardError = Foundation.FileHandle.nullDevice
        guard (try? git.run()) != nil else { return "unknown" }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !text.isEmpty ? text : "unknown"
    }()

    /// The package in whose build folder the program lies.
    private static var packagePath: String? {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return nil
        }
        let parts = program.split(separator: "/")
        guard let build = parts.lastIndex(where: { $0 == ".build" || $0.hasPrefix(".build-") }) else { return nil }
        let path = "/" + parts[..<build].joined(separator: "/")
        return FileManager.default.fileExists(atPath: path + "/Package.swift") ? path : nil
    }

    /// One line to copy that runs a seed again.
    static func replayLine(seed: UInt64, _ world: WorldOptions) -> String {
        self.line("replay \(seed)\(world.text)")
            + "  # commit \(self.commit), plan \(self.planHash(seed: seed, world))"
    }

    /// A command of this program as it is typed in a checkout of its commit.
    ///
    /// What the checked build finds may be an invariant that no other build looks at.
    static func line(_ command: String) -> String {
        #if CHECKED
        "scripts/checked.sh run Simulator \(command)"
        #else
        "swift run -c release Simulator \(command)"
        #endif
    }

    /// Tells the plan of a seed in this build from what another build draws.
    static func planHash(seed: UInt64, _ world: WorldOptions) -> String {
        guard let limits = try? world.limits() else { return "unknown" }
        return Recipe(seed: seed, limits: limits).scenario.meaningHash
    }
}
