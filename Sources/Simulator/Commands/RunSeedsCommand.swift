import ArgumentParser
import Foundation
internal import Simulation

/// `run`: many seeds.
struct RunSeedsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs many seeds on all cores, and prints a summary."
    )

    @Option(help: "How many seeds to run.")
    var seeds = 100
    @OptionGroup var batch: BatchOptions
    @OptionGroup var world: WorldOptions
    @Option(help: "Percentage of seeds that run twice, to check that both runs are equal.")
    var twice: UInt64 = 5
    @Flag(help: "Print the summary as JSON.")
    var json = false

    func validate() throws { try (0...100).check(self.twice, "percentage --twice", "0 to 100") }

    func run() throws {
        _ = try self.world.limits()
        let pool = SeedPool(seeds: try self.batch.seeds(self.seeds), twicePercent: self.twice)
        // Whoever ends a long run early still sees what it has shown.
        let interruption = Interruption { pool.workers.stop() }
        defer { interruption.stop() }
        let progress = { (summary: BatchSummary, seconds: Double) in summary.progress(wallSeconds: seconds) }
        let wall = try self.batch.run(pool.workers, self.world.launch, progress: progress, pool.run)
        let summary = pool.workers.summary
        let world = self.world
        print(self.json ? summary.json(wallSeconds: wall, world: world) : summary.text(wallSeconds: wall, world: world))
        if !summary.isClean(self.world) { throw ExitCode.failure }
    }
}

/// What kind of worlds to draw.
struct WorldOptions: ParsableArguments {
    @Option(help: "The number of peers, 2 to 7; drawn if it is not given.")
    var peers: Int?
    @Option(help: "Who can reach whom: mesh, star, line, ring, twoCliques, sneakernet or churn; drawn if not given.")
    var topology: Topology?
    @Option(help: "Faults to choose from, with commas between them; “none” for none, all if it is not given.")
    var faults: String?

    @Option(help: "Edits per second, one after the other; bursts are drawn if it is not given.")
    var edits: UInt64?
    @Option(help: "Length of the fault phase in simulated seconds; 2 to 180 are drawn if it is not given.")
    var duration: UInt64?

    @Option(help: "Whether several people use the machines: true or false; drawn if it is not given.")
    var shared: Bool?

    func limits() throws -> PlanLimits {
        var limits = PlanLimits()
        limits.isShared = self.shared
        if let edits {
            try (1...1_000).check(edits, "number --edits", "1 to 1,000 per second")
            limits.editsPerSecond = edits
        }
        limits.topology = self.topology
        if let duration {
            try (1...86_400).check(duration, "length --duration", "1 to 86,400 seconds")
            limits.duration = .seconds(duration)
        }
        if let peers {
            try (2...7).check(peers, "number --peers", "2 to 7")
            limits.peerCount = peers
        }
        if let faults {
            let names = faults == "none" ? [] : faults.split(separator: ",")
            limits.faults = try names.map { name in
                guard let fault = Fault(rawValue: String(name)) else {
                    throw ValidationError("There is no fault “\(name)”.")
                }
                return fault
            }
        }
        return limits
    }

    /// Whether not all kinds of worlds are drawn.
    var isRestricted: Bool { !self.text.isEmpty }

    /// The options as they were given, to be copied.
    var text: String {
        (self.peers.map { " --peers \($0)" } ?? "") + (self.topology.map { " --topology \($0.rawValue)" } ?? "")
            + (self.faults.map { " --faults \($0)" } ?? "")
            + (self.edits.map { " --edits \($0)" } ?? "") + (self.duration.map { " --duration \($0)" } ?? "")
            + (self.shared.map { " --shared \($0)" } ?? "")
    }
}

extension WorldOptions {
    /// How to start a process that runs such worlds.
    var launch: SeedWorker.Launch {
        // What takes longer than it would in the world takes for ever.
        .ofThisProgram(self.text, patienceSeconds: 120 + Double(self.duration ?? 0))
    }
}

/// Where progress goes.
enum StandardError {
    static func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        Foundation.FileHandle.standardError.write(Data(bytes))
    }
}

extension Topology: ExpressibleByArgument {}
