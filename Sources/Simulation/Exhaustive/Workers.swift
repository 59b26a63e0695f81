internal import Foundation
internal import Synchronization

/// Jobs done side by side, whose results come back in the order of the jobs: what is found does not depend on who was
/// faster.
enum Workers {
    /// As many as there are cores, but two at most: the machine is not ours alone.
    static let usualCount = min(2, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Does jobs 0 to `count` by so many threads at a time.
    static func map<Result: Sendable>(
        _ count: Int,
        workers: Int = Workers.usualCount,
        _ body: @Sendable (Int) -> Result
    ) -> [Result] {
        let next = Atomic<Int>(0)
        let results = Mutex<[(job: Int, result: Result)]>([])
        DispatchQueue.concurrentPerform(iterations: max(1, min(workers, count))) { _ in
            while true {
                let job = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard job < count else { return }
                let result = body(job)
                results.withLock { $0.append((job, result)) }
            }
        }
        return results.withLock { $0.sorted { $0.job < $1.job }.map(\.result) }
    }
}
