internal import CRDTCore
internal import Synchronization

/// What a store holds in memory of its segments after its last commit, for those who read beside it in this process.
///
/// They would have to read all segments and branches from the database after each commit otherwise. The store leaves a
/// copy only if somebody has asked since the commit before: where nobody reads, nothing is copied.
package final class CommittedSegments: Sendable {
    private struct Content {
        var table: SegmentTable?
        /// How many commits have begun.
        var commitCount: UInt64 = 0
        var isCommitting = false
        var isWanted = false
    }

    private let content = Mutex(Content())
    /// Where the store is; nil if it has no place that could be lost.
    let place: DatabasePlace?

    init(at place: DatabasePlace?) { self.place = place }

    /// Called before a commit, which others may see at any time from then on.
    func willCommit() {
        self.content.withLock { content in
            content.table = nil
            content.commitCount += 1
            content.isCommitting = true
        }
    }

    /// Called when others see a commit, or never will.
    ///
    /// `table`: what the database holds now; nil if that is not known.
    func didCommit(_ table: SegmentTable?) {
        self.content.withLock { content in
            content.isCommitting = false
            guard content.isWanted, let table else { return }
            content.table = table
            content.isWanted = false
        }
    }

    /// What the database holds in the state that a reader looks at, if it is known here.
    ///
    /// `begin`: makes the reader look at the last state.
    func table(at begin: () throws(StoreError) -> Void) throws(StoreError) -> SegmentTable? {
        // A commit that has begun before may take effect before the reader looks or after it.
        let (isCommitting, commitCount) = self.content.withLock { content in
            content.isWanted = true
            return (content.isCommitting, content.commitCount)
        }
        try begin()
        guard !isCommitting else { return nil }
        return self.content.withLock { $0.commitCount == commitCount ? $0.table : nil }
    }
}
