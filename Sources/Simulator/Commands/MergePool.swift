internal import Foundation
internal import Simulation

/// The seeds of a batch of histories, and what they came to: a plan that traps or does not end takes no more than its
/// worker along.
struct MergePool: Sendable {
    let workers: WorkerPool<MergeReport>
    private let launch: SeedWorker.Launch

    /// The number of seeds in one question.
    private static let usualBatchSize: UInt64 = 512
    /// After so many seeds that ended their worker no more are begun.
    private static let crashCountMax = 3

    init(seeds: Range<UInt64>, shape: MergeShape, launch: SeedWorker.Launch) {
        // The first plan of every batch is looked at in every way.
        let batchSize = max(1, MergePool.usualBatchSize / shape.thoroughEvery) * shape.thoroughEvery
        self.workers = WorkerPool(seeds: seeds, batchSize: batchSize, MergeReport())
        self.launch = launch
    }

    /// The least plan that fails as that of a seed does; nil if looking for it ends the worker, or takes too long.
    func shrunk(seed: UInt64) -> String? {
        guard let worker = try? SeedWorker(self.launch) else { return nil }
        defer { worker.stop() }
        return worker.answer(to: "shrink \(seed)").map { String(decoding: $0, as: UTF8.self) }
    }

    /// Has a batch of seeds run.
    @Sendable
    func run(_ batch: Range<UInt64>, on worker: RestartedWorker, _: RestartedWorker) throws {
        let report: MergeReport? = try worker.answer(to: "run \(batch.lowerBound) \(batch.count)") { _ in nil }
        if let report { self.add(report) } else { try self.runSingly(batch, on: worker) }
    }

    /// Goes through a batch that ended its worker.
    private func runSingly(_ batch: Range<UInt64>, on worker: RestartedWorker) throws {
        var crashCount = 0
        for seed in batch where crashCount < MergePool.crashCountMax {
            let report = try worker.answer(to: "run \(seed) 1") { finding in
                crashCount += 1
                var failed = MergeReport()
                failed.trialCount = 1
                failed.findings = [MergeReport.SeedFinding(seed: seed, finding: finding)]
                return failed
            }
            self.add(report)
        }
        if crashCount == MergePool.crashCountMax { self.workers.stop() }
        guard crashCount == 0 else { return }
        let message = "these seeds and the \(batch.count - 1) after it end the process together, and none of them alone"
        let finding = Finding(property: .notRepeatable, message: message)
        var failed = MergeReport()
        failed.findings = [MergeReport.SeedFinding(seed: batch.lowerBound, finding: finding)]
        self.add(failed)
    }

    private func add(_ report: MergeReport) {
        for failed in report.findings.prefix(3) { StandardError.write("seed \(failed.seed): \(failed.finding)") }
        self.workers.note { $0.add(report) }
    }
}
