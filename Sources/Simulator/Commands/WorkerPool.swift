internal import Foundation
internal import Synchronization

/// Hands seeds to threads, each with worker processes of its own, and keeps what these report.
final class WorkerPool<Summary: Sendable>: Sendable {
    /// Has some seeds performed, by one worker or two; they are the thread's own.
    typealias Work = @Sendable (Range<UInt64>, _ worker: RestartedWorker, _ second: RestartedWorker) throws -> Void

    private let seeds: Range<UInt64>
    /// The number of seeds that a thread takes at a time.
    private let batchSize: UInt64
    private let state: Mutex<State>

    private struct State {
        var next: UInt64
        var mustStop = false
        var summary: Summary
        var launchFailure: String?
    }

    init(seeds: Range<UInt64>, batchSize: UInt64 = 1, _ summary: Summary) {
        self.seeds = seeds
        self.batchSize = batchSize
        self.state = Mutex(State(next: seeds.lowerBound, summary: summary))
    }

    /// What has been reported so far.
    var summary: Summary { self.state.withLock { $0.summary } }
    /// Why a worker could not be started.
    var launchFailure: String? { self.state.withLock { $0.launchFailure } }

    /// Takes note of a report.
    func note(_ change: (inout Summary) -> Void) { self.state.withLock { change(&$0.summary) } }

    /// No more seeds are begun.
    func stop() { self.state.withLock { $0.mustStop = true } }

    /// Has everything performed, on so many threads, and returns when all have ended; `tick` is called about once a
    /// second meanwhile.
    func run(jobs: Int, _ launch: SeedWorker.Launch, tick: () -> Void, _ work: @escaping Work) {
        let group = DispatchGroup()
        for number in 0..<max(1, jobs) {
            let thread = Thread { [self] in
                self.perform(launch, work)
                group.leave()
            }
            thread.name = "worker \(number)"
            group.enter()
            thread.start()
        }
        while group.wait(timeout: .now() + 1) == .timedOut { tick() }
    }

    private func nextBatch() -> Range<UInt64>? {
        self.state.withLock { state in
            guard !state.mustStop, state.next < self.seeds.upperBound else { return nil }
            let end = state.next + min(self.batchSize, self.seeds.upperBound - state.next)
            defer { state.next = end }
            return state.next..<end
        }
    }

    private func perform(_ launch: SeedWorker.Launch, _ work: Work) {
        let (worker, second) = (RestartedWorker(launch), RestartedWorker(launch))
        do {
            while let batch = self.nextBatch() { try work(batch, worker, second) }
        } catch {
            self.state.withLock { $0.launchFailure = "\(error)" }
            self.stop()
        }
    }
}
