/// Changes of a user that are taken back: a history without them is as if they had never been.
///
/// A change that takes another one back only says so; its edits put that into effect for whoever does not look. So it
/// counts for nothing here, and a change that is taken back counts for nothing either. What other users write counts
/// as it is, whether they take something back by it or not.
package struct UndoState: Sendable {
    private let user: UserID
    /// Whether changes are taken back, as far as that is known beforehand.
    let known: [SegmentPoint: Bool]
    private var marks: [SegmentPoint: UndoneChange?] = [:]

    /// Those of a user if the change that is next is taken back, or is not.
    package init(of user: UserID, around next: NextUndo, isUndone: Bool) {
        var known = next.isUndone
        known[next.target] = isUndone
        (self.user, self.known) = (user, known)
    }

    /// Whether a write counts, if all later ones of its kind were looked at before.
    ///
    /// `verdicts`: the changes of which one of those says whether they are taken back.
    mutating func counts(
        _ write: WriteReference,
        _ verdicts: inout [SegmentPoint: Bool],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let mark = try self.mark(of: write.point, in: &transaction) {
            if verdicts[mark.change] == nil { verdicts[mark.change] = !mark.isRedo }
            return false
        }
        return !(verdicts[write.point] ?? false)
    }

    private mutating func mark(
        of point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoneChange? {
        if let known = self.marks[point] { return known }
        let mark = try transaction.undo(by: self.user, at: point)
        self.marks[point] = .some(mark)
        return mark
    }
}

/// What a change takes back.
package struct UndoneChange: Hashable, Sendable {
    /// The change with the edits that are taken back, or done again.
    package var change: SegmentPoint
    /// The change that is taken back: that one, or if it is done again, the last one that took it back.
    package var target: SegmentPoint

    package var isRedo: Bool { self.change != self.target }
}

/// The change that is to be taken back next.
package struct NextUndo: Hashable, Sendable {
    /// For a redo, it is an undo.
    package var target: SegmentPoint
    /// Whether later changes of the user are taken back: not all that do so leave a trace where those had been.
    package var isUndone: [SegmentPoint: Bool]
}

extension StoreTransaction {
    /// What a change takes back, if both are of a user, and its author had seen what it takes back.
    package mutating func undo(by user: UserID, at point: SegmentPoint) throws(StoreError) -> UndoneChange? {
        guard let named = try self.namedByUndo(by: user, at: point) else { return nil }
        guard named.isRedo else { return UndoneChange(change: named.target, target: named.target) }
        guard let first = try self.namedByUndo(by: user, at: named.target), !first.isRedo else { return nil }
        return UndoneChange(change: first.target, target: named.target)
    }

    private mutating func namedByUndo(
        by user: UserID,
        at point: SegmentPoint
    ) throws(StoreError) -> (target: SegmentPoint, isRedo: Bool)? {
        let first = WriteReference(stamp: .zero, segment: point.segment, sequence: point.sequence, index: 0)
        guard self.segment(point.segment).introduction?.user == user, case .undo(let undo)? = try self.edit(first),
            let target = try self.place(of: undo.replica, sequence: undo.sequence, hash: undo.hash),
            self.segment(target.segment).introduction?.user == user
        else { return nil }
        guard target != point, try self.seen(before: point)[target.segment] >= target.sequence else { return nil }
        return (target, undo.isRedo)
    }

    /// What the author of a change had seen, the changes before it in its chain included.
    package mutating func seen(before point: SegmentPoint) throws(StoreError) -> SeenSegments {
        var seen = try self.context(at: point)
        if let previous = self.place(before: point) { self.cover(previous, in: &seen) }
        return seen
    }

    /// The last change of a user that an undo can take back, or the last undo that a redo can; nil if there is none.
    ///
    /// Changes of a branch that was merged are among them, as if they had been made offline. Whoever edits after an
    /// undo cannot do again what was undone before.
    /// - Complexity: O(*k* *l*) for *k* later changes of the user, on *l* chains.
    package mutating func nextUndo(
        of user: UserID,
        isRedo: Bool,
        in history: History
    ) throws(StoreError) -> NextUndo? {
        var heads: [WriteReference] = []
        for last in history.ends(of: user, in: &self) { heads.append(try self.firstOperation(of: last)) }
        // The last word on each change that was ever taken back.
        var isUndone: [SegmentPoint: Bool] = [:]
        while let next = heads.indices.max(by: { WriteOrder.precedes(heads[$0], heads[$1], self) }) {
            let write = heads[next]
            let point = write.point
            if let undo = try self.undo(by: user, at: point) {
                if isUndone[undo.change] == nil {
                    isUndone[undo.change] = !undo.isRedo
                    if isRedo, !undo.isRedo { return NextUndo(target: point, isUndone: isUndone) }
                }
            } else if try self.isOfUser(write), !(isUndone[point] ?? false) {
                if !isRedo { return NextUndo(target: point, isUndone: isUndone) }
                // Whatever was undone before it was given up when it was written.
                return nil
            }
            if point.sequence > self.progress(of: point.segment).firstSequence {
                heads[next] = try self.firstOperation(
                    of: SegmentPoint(segment: point.segment, sequence: point.sequence - 1)
                )
            } else {
                heads.remove(at: next)
            }
        }
        return nil
    }

    /// Whether a change that begins with an operation is one that its user made on purpose: an edit, or an erasure.
    private mutating func isOfUser(_ first: WriteReference) throws(StoreError) -> Bool {
        let edit = try self.edit(first)
        return edit?.object != nil || edit?.kind == .erase
    }

    private mutating func firstOperation(of point: SegmentPoint) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: point)
        return WriteReference(stamp: stamp, segment: point.segment, sequence: point.sequence, index: 0)
    }
}
