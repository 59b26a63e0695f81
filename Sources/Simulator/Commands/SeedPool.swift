internal import Simulation

/// The seeds of a batch of worlds, some of which are run twice, and what they came to.
struct SeedPool: Sendable {
    /// Seeds to run, from the first one on.
    let seeds: Range<UInt64>
    /// How many of a hundred seeds are run twice.
    let twicePercent: UInt64
    let workers: WorkerPool<BatchSummary>

    init(seeds: Range<UInt64>, twicePercent: UInt64) {
        self.seeds = seeds
        self.twicePercent = twicePercent
        self.workers = WorkerPool(seeds: seeds, BatchSummary())
    }

    /// Whether a seed is run twice: those that are lie evenly among the others, and the first is one.
    func isRunTwice(_ seed: UInt64) -> Bool {
        (seed - self.seeds.lowerBound) % 100 * self.twicePercent % 100 < self.twicePercent
    }

    /// Has seeds run; the second run of one is in another process, whose hash tables are ordered otherwise.
    @Sendable
    func run(_ seeds: Range<UInt64>, on worker: RestartedWorker, _ second: RestartedWorker) throws {
        for seed in seeds {
            let report = try Self.run(seed, on: worker)
            let again = self.isRunTwice(seed) && worker.isRunning ? try Self.run(seed, on: second) : nil
            for finding in report.findings { StandardError.write("seed \(seed): \(finding)") }
            self.workers.note { summary in
                summary.add(report)
                if let again { summary.addSecondRun(again, of: report) }
            }
        }
    }

    private static func run(_ seed: UInt64, on worker: RestartedWorker) throws -> SeedReport {
        try worker.answer(to: "seed \(seed)") { SeedReport(seed: seed, endedBy: $0) }
    }
}
