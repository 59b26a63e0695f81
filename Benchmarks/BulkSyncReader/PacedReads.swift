import Foundation
import PeerdKit
import Synchronization

/// Reads objects by their ids, so many a second, one after the other.
///
/// Reads are due in groups, one a millisecond. Reads that fall behind are made up for, up to a tenth of a second. More
/// than that is given up, so that the rate is lower than the one that is asked for.
final class PacedReads: Sendable {
    private let workspace: Workspace
    private let rate: Int
    /// How many of the objects are there, as far as that is known.
    private let available: Atomic<Int>
    private let isStopped = Atomic<Bool>(false)

    private static let backlogMax = Duration.milliseconds(100)

    /// The outcome of a series.
    struct Outcome: Sendable {
        var seconds = 0.0
        var latencies: [Double] = []
        /// Reads that found no object.
        var missCount = 0

        var rate: Double { Double(self.latencies.count) / self.seconds }

        /// The latency that so many of a hundred reads do not exceed.
        func percentile(_ percent: Int) -> Double {
            let sorted = self.latencies.sorted()
            return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * percent / 100)]
        }

        func add(to report: inout Report) {
            report.add("reads_per_second", self.rate)
            report.add("p50_seconds", self.percentile(50))
            report.add("p99_seconds", self.percentile(99))
            report.add("misses", Double(self.missCount))
        }
    }

    init(_ workspace: Workspace, rate: Int, available: Int) {
        self.workspace = workspace
        self.rate = rate
        self.available = Atomic(available)
    }

    func setAvailable(_ count: Int) { self.available.store(count, ordering: .relaxed) }

    func stop() { self.isStopped.store(true, ordering: .relaxed) }

    /// Reads until ``stop()``, or for a time.
    @concurrent
    func run(for limit: Duration? = nil) async throws -> Outcome {
        let clock = ContinuousClock()
        var start = clock.now
        var outcome = Outcome()
        var due = start
        var random: UInt64 = 0
        let groupSize = max(1, self.rate / 1000)
        let interval = Duration.seconds(1) * groupSize / self.rate
        while !self.isStopped.load(ordering: .relaxed), limit.map({ clock.now - start < $0 }) ?? true {
            if clock.now < due { try await Task.sleep(until: due, tolerance: .zero, clock: clock) }
            let available = self.available.load(ordering: .relaxed)
            guard available > 0 else {
                due = clock.now + interval
                // The time in which there is nothing to read does not count.
                start = due
                continue
            }
            for _ in 0..<groupSize {
                random &+= 1
                let number = Int(SyntheticObjects.mixed(random) % UInt64(available))
                let id = SyntheticObjects.id(number)
                let begin = clock.now
                if try await self.workspace.object(id) == nil { outcome.missCount += 1 }
                outcome.latencies.append((clock.now - begin).seconds)
            }
            due = max(due + interval, clock.now - Self.backlogMax)
        }
        outcome.seconds = (clock.now - start).seconds
        return outcome
    }
}
