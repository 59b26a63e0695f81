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
        _ lines: borrowing some LineOrdering
    ) -> Bool {
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if left.line == right.line { return left.ordinal < right.ordinal }
        let (leftID, rightID) = (lines.replicaID(left.line), lines.replicaID(right.line))
        if leftID != rightID { return leftID < rightID }
        if left.sequence != right.sequence { return left.sequence < right.sequence }
        return self.forkPrecedes(left.line, right.line, lines)
    }

    /// Orders two lines of one replica by the hashes of the first changes that are not in both.
    private static func forkPrecedes(
        _ left: LineIndex,
        _ right: LineIndex,
        _ lines: borrowing some LineOrdering
    ) -> Bool {
        // Where each of the two ways down leaves the line that it is on now, and with which change.
        var (left, right) = (Descent(line: left), Descent(line: right))
        while left.line != right.line {
            // A line hangs on one with a lower number.
            if left.line.rawValue > right.line.rawValue {
                guard left.goUp(lines) else { return false }
            } else {
                guard right.goUp(lines) else { return true }
            }
        }
        if left.from == right.from { return left.hash < right.hash }
        // The one that leaves first parts from the line itself there.
        return left.from < right.from ? left.hash < left.siblingHash : right.siblingHash < right.hash
    }

    /// A way from a fork up to where it parts from another.
    private struct Descent {
        var line: LineIndex
        /// The last sequence that the way shares with the line; the way stays on its own line at first.
        var from = UInt64.max
        var hash = Hash256.zero
        var siblingHash = Hash256.zero

        init(line: LineIndex) { self.line = line }

        mutating func goUp(_ lines: borrowing some LineOrdering) -> Bool {
            guard let origin = lines.origin(of: self.line) else { return false }
            self.line = origin.parent.line
            self.from = origin.parent.sequence
            self.hash = origin.firstHash
            self.siblingHash = origin.siblingHash
            return true
        }
    }
}

/// What the order of writes rests on beside the writes themselves.
package protocol LineOrdering {
    /// The replica that a line belongs to.
    func replicaID(_ index: LineIndex) -> ReplicaID
    /// Where a line hangs; nil for the first of its replica.
    func origin(of index: LineIndex) -> LineOrigin?
}

extension [LineRecord]: LineOrdering {
    package func replicaID(_ index: LineIndex) -> ReplicaID { self[Int(index.rawValue)].id }

    package func origin(of index: LineIndex) -> LineOrigin? { self[Int(index.rawValue)].origin }
}

extension StoreTransaction {
    /// Whether the first of two creations of an object counts: those by the owner of its id come before all others.
    mutating func creation(
        _ new: WriteReference,
        of object: ObjectIndex,
        precedes current: WriteReference
    ) throws(StoreError) -> Bool {
        let id = try self.look(at: object) { $0.id }
        let isOfNew = self.line(new.line).introduction.map { id.isGiven(by: $0.user) } ?? false
        let isOfCurrent = self.line(current.line).introduction.map { id.isGiven(by: $0.user) } ?? false
        return isOfNew == isOfCurrent ? WriteOrder.precedes(new, current, self) : isOfNew
    }
}
