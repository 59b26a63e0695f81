internal import ArgumentParser
internal import Foundation

/// `worker`: what `run` starts one of for each core.
///
/// It reads seeds from standard input, one a line, and answers each with one line of JSON.
struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Runs the seeds it reads, for another process.",
        shouldDisplay: false
    )

    @OptionGroup var world: WorldOptions

    func run() throws {
        let limits = try self.world.limits()
        Interruption.leaveToParent()
        let encoder = JSONEncoder()
        while let line = readLine() {
            guard let seed = UInt64(line) else { throw ValidationError("“\(line)” is not a seed.") }
            let report = SeedReport(Simulation.run(seed: seed, limits: limits))
            Foundation.FileHandle.standardOutput.write(try encoder.encode(report) + Data([10]))
        }
    }
}
