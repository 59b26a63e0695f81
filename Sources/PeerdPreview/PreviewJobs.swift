internal import Foundation
internal import PeerdKit
internal import Synchronization

/// Jobs that are done side by side, on threads that no task of the program waits for.
final class PreviewJobs<Result: Sendable>: Sendable {
    private let jobCount: Int
    private let body: @Sendable (Int) throws -> Result
    private let next = Atomic<Int>(0)
    private let finished = Mutex<(results: [(job: Int, result: Result)], failure: (any Error)?)>(([], nil))

    private init(_ jobCount: Int, _ body: @escaping @Sendable (Int) throws -> Result) {
        self.jobCount = jobCount
        self.body = body
    }

    /// Does jobs, and returns their results in the order of the jobs; after a failure no other job begins.
    static func run(_ jobCount: Int, _ body: @escaping @Sendable (Int) throws -> Result) throws -> [Result] {
        let jobs = PreviewJobs(jobCount, body)
        let group = DispatchGroup()
        for _ in 0..<min(PreviewThread.countMax, jobCount) {
            PreviewThread.makeQueue().async(group: group) { while jobs.doNext() {} }
        }
        group.wait()
        return try jobs.finished.withLock { finished in
            if let failure = finished.failure { throw failure }
            return finished.results.sorted { $0.job < $1.job }.map(\.result)
        }
    }

    /// Does one job; false if there is none, or one has failed.
    private func doNext() -> Bool {
        let job = self.next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard job < self.jobCount, self.finished.withLock({ $0.failure == nil }) else { return false }
        let result = Swift.Result { try self.body(job) }
        return self.finished.withLock { finished in
            switch result {
            case .success(let result): finished.results.append((job, result))
            case .failure(let error): finished.failure = finished.failure ?? error
            }
            return finished.failure == nil
        }
    }
}

/// The threads of previews.
enum PreviewThread {
    /// The number of threads of one preview; each has two databases open at a time.
    static let countMax = 2

    /// Makes a queue with a thread of its own.
    ///
    /// The threads of the global queues also run the tasks of the program, which would wait for a preview.
    static func makeQueue() -> DispatchQueue { DispatchQueue(label: "peerd.preview") }
}
