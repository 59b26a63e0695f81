internal import Foundation
internal import Simulation
internal import Synchronization

/// Hands batches of seeds to workers, and sums up what they report: a plan that traps or does not end takes no more
/// than its worker along.
final class MergePool: Sendable {
    private let seeds: Range<UInt64>
    private let batchSize: UInt64
    private let launch: SeedWorker.Launch
    private let state: Mutex<State>

    private struct State {
        var next: UInt64
        var mustStop = false
        var report = MergeReport()
        var launchFailure: String?
    }

    /// The number of seeds in one question.
    private static let usualBatchSize: UInt64 = 512
    /// After so many seeds that ended their worker no more are begun.
    private static let crashCountMax = 3

    init(seeds: Range<UInt64>, shape: MergeShape, launch: SeedWorker.Launch) {
        self.seeds = seeds
        // The first plan of every batch is looked at in every way.
        self.batchSize = max(1, MergePool.usualBatchSize / shape.thoroughEvery) * shape.thoroughEvery
        self.launch = launch
        self.state = Mutex(State(next: seeds.lowerBound))
    }

    /// What has been reported so far.
    var report: MergeReport { self.state.withLock { $0.report } }
    /// Why a worker could not be started.
    var launchFailure: String? { self.state.withLock { $0.launchFailure } }

    /// No more histories are begun.
    func stop() { self.state.withLock { $0.mustStop = true } }

    /// Runs everything, on so many workers, and returns when all have ended; `tick` is called about once a second
    /// meanwhile.
    func run(jobs: Int, tick: () -> Void) {
        let group = DispatchGroup()
        for _ in 0..<max(1, jobs) {
            group.enter()
            Thread { [self] in
                self.work()
                group.leave()
            }.start()
        }
        while group.wait(timeout: .now() + 1) == .timedOut { tick() }
    }

    /// The least plan that fails as that of a seed does; nil if looking for it ends the worker, or takes too long.
    func shrunk(seed: UInt64) -> String? {
        guard let worker = try? SeedWorker(self.launch) else { return nil }
        defer { worker.stop() }
        return worker.answer(to: "shrink \(seed)").map { String(decoding: $0, as: UTF8.self) }
    }

    private func nextBatch() -> Range<UInt64>? {
        self.state.withLock { state in
            guard !state.mustStop, state.next < self.seeds.upperBound else { return nil }
            let end = state.next + min(self.batchSize, self.seeds.upperBound - state.next)
            defer { state.next = end }
            return state.next..<end
        }
    }

    private func work() {
        var worker: SeedWorker?
        defer { worker?.stop() }
        do {
            while let batch = self.nextBatch() {
                if let report = try self.ask(batch, &worker).report {
                    self.add(report)
                } else {
                    try self.workSingly(batch, &worker)
                }
            }
        } catch {
            self.state.withLock { $0.launchFailure = "\(error)" }
            self.stop()
        }
    }

    /// Goes through a batch that ended its worker.
    private func workSingly(_ batch: Range<UInt64>, _ worker: inout SeedWorker?) throws {
        var crashCount = 0
        for seed in batch where crashCount < MergePool.crashCountMax {
            let (report, finding) = try self.ask(seed..<seed + 1, &worker)
            if let report { self.add(report) }
            guard let finding else { continue }
            crashCount += 1
            var failed = MergeReport()
            failed.trialCount = 1
            failed.findings = [MergeReport.SeedFinding(seed: seed, finding: finding)]
            self.add(failed)
        }
        if crashCount == MergePool.crashCountMax { self.stop() }
        guard crashCount == 0 else { return }
        var failed = MergeReport()
        let message = "these seeds and the \(batch.count - 1) after it end the process together, and none of them alone"
        failed.findings = [
            MergeReport.SeedFinding(
                seed: batch.lowerBound,
                finding: Finding(property: .notRepeatable, message: message)
            )
        ]
        self.add(failed)
    }

    private func add(_ report: MergeReport) {
        for failed in report.findings.prefix(3) { StandardError.write("seed \(failed.seed): \(failed.finding)") }
        self.state.withLock { $0.report.add(report) }
    }

    /// What a worker reports of some seeds, or how it ended.
    private func ask(
        _ batch: Range<UInt64>,
        _ worker: inout SeedWorker?
    ) throws -> (report: MergeReport?, finding: Finding?) {
        let present = try worker ?? SeedWorker(self.launch)
        let line = present.answer(to: "run \(batch.lowerBound) \(batch.count)")
        if let line, let report = try? JSONDecoder().decode(MergeReport.self, from: line) {
            worker = present
            return (report, nil)
        }
        worker = nil
        return (nil, present.ending())
    }
}
