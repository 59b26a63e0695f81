import Dispatch

/// Runs an actor's jobs one after the other on a dispatch queue.
///
/// Work that takes long or sleeps runs there, so that it keeps nobody else from running.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    package init(label: String) { self.queue = DispatchQueue(label: label) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = self.asUnownedSerialExecutor()
        self.queue.async { job.runSynchronously(on: executor) }
    }
}
