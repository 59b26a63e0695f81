import ArgumentParser
import Glibc

/// `run`: many seeds.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs seeds one after the other and sums up what they showed."
    )

    @Option(help: "How many seeds to run.")
    var seeds = 100
    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "Stop after so many minutes of wall time.")
    var minutes: Double?
    @OptionGroup var world: WorldOptions
    @Option(help: "How many of a hundred seeds are run twice, to see that both runs are the same.")
    var twice = 5
    @Flag(help: "Print the summary as JSON.")
    var json = false

    func run() throws {
        let limits = try self.world.limits()
        var summary = BatchSummary()
        let start = WallClock.seconds()
        var shown = start
        for offset in 0..<UInt64(max(0, self.seeds)) {
            let seed = self.first &+ offset
            summary.add(Simulation.run(seed: seed, limits: limits))
            if seed % 100 < UInt64(max(0, self.twice)) {
                summary.addSecondRun(Simulation.run(seed: seed, limits: limits))
            }
            let now = WallClock.seconds()
            if now - shown >= 10 {
                shown = now
                StandardError.write(summary.progress(wallSeconds: now - start))
            }
            if let minutes, now - start >= minutes * 60 { break }
        }
        let wall = WallClock.seconds() - start
        let world = self.world
        print(self.json ? summary.json(wallSeconds: wall, world: world) : summary.text(wallSeconds: wall, world: world))
        if !summary.isClean { throw ExitCode.failure }
    }
}

/// What kind of worlds to draw.
struct WorldOptions: ParsableArguments {
    @Option(help: "The number of peers, 2 to 7; drawn if it is not given.")
    var peers: Int?
    @Option(help: "Faults to choose from, with commas between them; “none” for none, all if it is not given.")
    var faults: String?

    @Option(help: "Edits a second, one after the other; bursts are drawn if it is not given.")
    var edits: UInt64?

    func limits() throws -> PlanLimits {
        var limits = PlanLimits()
        limits.editsPerSecond = self.edits
        if let peers {
            guard (2...7).contains(peers) else { throw ValidationError("There are 2 to 7 peers in a world.") }
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

    /// The options as they were given, to be copied.
    var text: String {
        (self.peers.map { " --peers \($0)" } ?? "") + (self.faults.map { " --faults \($0)" } ?? "")
            + (self.edits.map { " --edits \($0)" } ?? "")
    }
}

/// Where progress goes.
enum StandardError {
    static func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Time as people have it, for speed and limits alone.
enum WallClock {
    static func seconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
