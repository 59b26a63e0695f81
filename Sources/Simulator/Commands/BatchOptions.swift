import ArgumentParser
internal import Foundation
internal import Simulation

/// How the seeds of a batch are run.
struct BatchOptions: ParsableArguments {
    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "Stop after so many minutes of wall time.")
    var minutes: Double?
    @Option(help: "How many processes run the seeds. Default: one per core.")
    var jobs: Int?

    /// Processes at a time.
    private static let jobCountMax = 1_024

    func validate() throws {
        if let minutes, !(minutes > 0) {
            throw ValidationError("The time limit --minutes is out of range; give more than 0.")
        }
        if let jobs { try (1...BatchOptions.jobCountMax).check(jobs, "number --jobs", "1 to 1,024") }
    }

    /// So many seeds from the first on.
    func seeds(_ count: Int) throws -> Range<UInt64> {
        guard let count = UInt64(exactly: count), count > 0 else {
            throw ValidationError("At least one seed has to be run.")
        }
        let (end, isTooMuch) = self.first.addingReportingOverflow(count)
        guard !isTooMuch else { throw ValidationError("There are not so many seeds after \(self.first).") }
        return self.first..<end
    }

    var jobCount: Int { self.jobs ?? ProcessInfo.processInfo.activeProcessorCount }

    /// Runs a batch until it is over, and says every ten seconds on standard error how far it is.
    ///
    /// - Returns: How many seconds it took.
    func run<Summary>(
        _ pool: WorkerPool<Summary>,
        _ launch: SeedWorker.Launch,
        progress: (Summary, _ seconds: Double) -> String,
        _ work: @escaping WorkerPool<Summary>.Work
    ) throws -> Double {
        let start = WallClock.seconds()
        var shown = start
        let tick = {
            let now = WallClock.seconds()
            if now - shown >= 10 {
                shown = now
                StandardError.write(progress(pool.summary, now - start))
            }
            if let minutes = self.minutes, now - start >= minutes * 60 { pool.stop() }
        }
        pool.run(jobs: self.jobCount, launch, tick: tick, work)
        if let failure = pool.launchFailure { throw ValidationError("A worker cannot be started: \(failure)") }
        return WallClock.seconds() - start
    }
}

extension ClosedRange {
    /// Refuses what is out of range: `name` and `wanted` say what that is, and what may be given.
    func check(_ value: Bound, _ name: String, _ wanted: String) throws {
        guard self.contains(value) else { throw ValidationError("The \(name) is out of range; give \(wanted).") }
    }
}
