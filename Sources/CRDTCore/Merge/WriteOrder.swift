/// The strict total order of operations: effective stamp, then replica id, then number of the change, then, between two
/// forks of a chain, the hashes of the changes with which they begin, then place in the change.
///
/// All operations of one change stand on the same side of those of another that had not seen it, so that no transaction
/// is in force in part.
package enum WriteOrder {
    /// Whether the first of two operations comes before the second.
    package static func precedes(
        _ left: WriteReference,
        _ right: WriteReference,
        _ segments: borrowing some SegmentOrdering
    ) -> Bool {
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if left.segment == right.segment { return left.ordinal < right.ordinal }
        let (leftID, rightID) = (segments.replicaID(left.segment), segments.replicaID(right.segment))
        if leftID != rightID { return leftID < rightID }
        if left.sequence != right.sequence { return left.sequence < right.sequence }
        return self.forkPrecedes(left.segment, right.segment, segments)
    }

    /// Orders two segments of one replica by the hashes of the first changes that are not in both.
    private static func forkPrecedes(
        _ left: SegmentIndex,
        _ right: SegmentIndex,
        _ segments: borrowing some SegmentOrdering
    ) -> Bool {
        // Where each of the two ways down leaves the segment that it is on now, and with which change.
        var (left, right) = (Descent(segment: left), Descent(segment: right))
        while left.segment != right.segment {
            // A segment hangs on one with a lower number.
            if left.segment.rawValue > right.segment.rawValue {
                guard left.goUp(segments) else { return false }
            } else {
                guard right.goUp(segments) else { return true }
            }
        }
        if left.from == right.from { return left.hash < right.hash }
        // The one that leaves first parts from the segment itself there.
        return left.from < right.from ? left.hash < left.siblingHash : right.siblingHash < right.hash
    }

    /// A way from a fork up to where it parts from another.
    private struct Descent {
        var segment: SegmentIndex
        /// The last sequence that the way shares with the segment; the way stays on its own segment at first.
        var from = UInt64.max
        var hash = Hash256.zero
        var siblingHash = Hash256.zero

        init(segment: SegmentIndex) { self.segment = segment }

        mutating func goUp(_ segments: borrowing some SegmentOrdering) -> Bool {
            guard let origin = segments.origin(of: self.segment) else { return false }
            self.segment = origin.parent.segment
            self.from = origin.parent.sequence
            self.hash = origin.firstHash
            self.siblingHash = origin.siblingHash
            return true
        }
    }
}

/// What the order of writes rests on beside the writes themselves.
package protocol SegmentOrdering {
    /// The replica that a segment belongs to.
    func replicaID(_ index: SegmentIndex) -> ReplicaID
    /// Where a segment hangs; nil for the first of its replica.
    func origin(of index: SegmentIndex) -> SegmentOrigin?
}

extension [SegmentRecord]: SegmentOrdering {
    package func replicaID(_ index: SegmentIndex) -> ReplicaID { self[Int(index.rawValue)].id }

    package func origin(of index: SegmentIndex) -> SegmentOrigin? { self[Int(index.rawValue)].origin }
}

extension StoreTransaction {
    /// Whether the first of two creations of an object counts: those by the owner of its id come before all others.
    mutating func creation(
        _ new: WriteReference,
        of object: ObjectIndex,
        precedes current: WriteReference
    ) throws(StoreError) -> Bool {
        let id = try self.look(at: object) { $0.id }
        let isOfNew = self.segment(new.segment).introduction.map { id.isGiven(by: $0.user) } ?? false
        let isOfCurrent = self.segment(current.segment).introduction.map { id.isGiven(by: $0.user) } ?? false
        return isOfNew == isOfCurrent ? WriteOrder.precedes(new, current, self) : isOfNew
    }
}
