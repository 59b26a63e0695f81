internal import PeerdKit
internal import Synchronization

/// The state that the threads of one preview share: the syncs so far, and the wish to stop.
final class PreviewProgress: Sendable {
    private let syncCount = Atomic<Int>(0)
    private let isCancelled = Atomic<Bool>(false)
    private let report: (@Sendable (Int) -> Void)?

    init(_ report: (@Sendable (Int) -> Void)?) { self.report = report }

    func cancel() { self.isCancelled.store(true, ordering: .relaxed) }

    /// Throws `CancellationError` once somebody wants the preview to stop.
    func checkCancellation() throws(CancellationError) {
        if self.isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }

    func didSync() { self.report?(self.syncCount.wrappingAdd(1, ordering: .relaxed).newValue) }
}
