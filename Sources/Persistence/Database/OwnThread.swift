import Dispatch

/// A thread for what takes long or sleeps, so that it keeps nobody else from running.
package actor OwnThread {
    private let executor: QueueExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    package init(label: String) { self.executor = QueueExecutor(label: label) }

    package func run<Result: Sendable>(_ body: @Sendable () throws -> Result) throws -> Result { try body() }
}

/// Runs an actor's jobs one after the other on a dispatch queue.
private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = self.asUnownedSerialExecutor()
        self.queue.async { job.runSynchronously(on: executor) }
    }
}
