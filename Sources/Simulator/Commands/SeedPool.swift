internal import Foundation
internal import Simulation
internal import Synchronization

/// Hands seeds to workers, one process a core, and collects what they report.
final class SeedPool: Sendable {
    /// Seeds to run, from the first one on.
    let seeds: Range<UInt64>
    /// How many of a hundred seeds are run twice.
    let twicePercent: UInt64
    private let state: Mutex<State>

    private struct State {
        var next: UInt64
        var mustStop = false
        var summary = BatchSummary()
        var launchFailure: String?
    }

    init(seeds: Range<UInt64>, twicePercent: UInt64) {
        self.seeds = seeds
        self.twicePercent = twicePercent
        self.state = Mutex(State(next: seeds.lowerBound))
    }

    /// What has been reported so far.
    var summary: BatchSummary { self.state.withLock { $0.summary } }
    /// Why a worker could not be started.
    var launchFailure: String? { self.state.withLock { $0.launchFailure } }

    /// No more seeds are begun.
    func stop() { self.state.withLock { $0.mustStop = true } }

    /// Runs everything, on so many workers, and returns when all have ended; `tick` is called about once a second
    /// meanwhile.
    func run(jobs: Int, _ launch: SeedWorker.Launch, tick: () -> Void) {
        let group = DispatchGroup()
        for number in 0..<max(1, jobs) {
            let thread = Thread { [self] in
                self.work(launch)
                group.leave()
            }
            thread.name = "worker \(number)"
            group.enter()
            thread.start()
        }
        while group.wait(timeout: .now() + 1) == .timedOut { tick() }
    }

    /// Whether a seed is run twice: those that are lie evenly among the others, and the first is one.
    func isRunTwice(_ seed: UInt64) -> Bool {
        (seed - self.seeds.lowerBound) % 100 * self.twicePercent % 100 < self.twicePercent
    }

    private func nextSeed() -> UInt64? {
        self.state.withLock { state in
            guard !state.mustStop, state.next < self.seeds.upperBound else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    private func work(_ launch: SeedWorker.Launch) {
        var worker: SeedWorker?
        // The second run of a seed is in another process, whose hash tables are ordered otherwise.
        var second: SeedWorker?
        defer {
            worker?.stop()
            second?.stop()
        }
        do {
            while let seed = self.nextSeed() {
                let report = try Self.run(seed, on: &worker, launch)
                var again: SeedReport?
                if self.isRunTwice(seed), worker != nil {
                    again = try Self.run(seed, on: &second, launch)
                }
                for finding in report.findings {
                    StandardError.write("seed \(seed): \(finding.property.rawValue): \(finding.message)")
                }
                self.state.withLock { state in
                    state.summary.add(report)
                    if let again { state.summary.addSecondRun(again, of: report) }
                }
            }
        } catch {
            self.state.withLock { $0.launchFailure = "\(error)" }
            self.stop()
        }
    }

    private static func run(
        _ seed: UInt64,
        on worker: inout SeedWorker?,
        _ launch: SeedWorker.Launch
    ) throws -> SeedReport {
        let present = try worker ?? SeedWorker(launch)
        let line = present.answer(to: "seed \(seed)")
        if let line, let report = try? JSONDecoder().decode(SeedReport.self, from: line) {
            worker = present
            return report
        }
        worker = nil
        return SeedReport(seed: seed, endedBy: present.ending())
    }
}
