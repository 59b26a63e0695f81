internal import CRDTCore

/// What a store holds of each segment, as an oracle saw it: the segments of one store keep their numbers.
struct StoreContent: Hashable {
    private var segments: [Segment] = []

    struct Segment: Hashable {
        /// The last change in the log.
        var head: FrontierEntry
        var firstSequence: UInt64
        var appliedSequence: UInt64
    }

    init() {}

    init(of transaction: borrowing some StoreTransaction) {
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            self.segments.append(
                Segment(
                    head: FrontierEntry(
                        replica: record.id,
                        sequence: record.storedSequence,
                        hash: record.storedHash
                    ),
                    firstSequence: record.firstSequence,
                    appliedSequence: record.appliedSequence
                )
            )
        }
    }

    /// How many changes the log holds.
    var storedCount: UInt64 { self.segments.reduce(0) { $0 &+ $1.head.sequence &+ 1 &- $1.firstSequence } }

    /// Whether everything is applied that was applied at an earlier time.
    func hasApplied(all earlier: StoreContent) -> Bool {
        guard earlier.segments.count <= self.segments.count else { return false }
        return zip(earlier.segments, self.segments).allSatisfy { before, now in
            before.head.replica == now.head.replica && before.firstSequence == now.firstSequence
                && before.appliedSequence <= now.appliedSequence
                && (before.head.sequence != now.head.sequence || before.head.hash == now.head.hash)
        }
    }

    /// Whether a change was the last of its segment in the log.
    func endsWith(_ change: FrontierEntry) -> Bool { self.segments.contains { $0.head == change } }

    /// What of `earlier` is not there any more; nil if everything is.
    func regression(from earlier: StoreContent) -> String? {
        for (number, before) in earlier.segments.enumerated() where before.head.sequence > 0 {
            let (replica, sequence) = (before.head.replica, before.head.sequence)
            guard number < self.segments.count, self.segments[number].head.replica == replica else {
                return "\(replica) is unknown, was at \(sequence)"
            }
            let now = self.segments[number].head
            if now.sequence < sequence { return "\(replica) went back from \(sequence) to \(now.sequence)" }
            if now.sequence == sequence, now.hash != before.head.hash {
                return "\(replica) has another change at \(sequence)"
            }
        }
        return nil
    }
}
