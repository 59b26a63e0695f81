/// The history of an object as if the changes of a user that are taken back had never been.
///
/// A change that takes another one back only says so; its edits put that into effect for whoever does not look. So it
/// counts for nothing here, and a change that is taken back counts for nothing either. What other users write counts
/// as it is, whether they take something back by it or not.
package struct ReversedHistory {
    private let user: UserID
    private var history: TimelineHistory
    /// Whether changes are taken back, as far as that is known beforehand.
    private let known: [LinePoint: Bool]
    private var marks: [LinePoint: ReversedChange?] = [:]

    /// The history if the change that is next is taken back, or is not.
    package init(_ history: TimelineHistory, of user: UserID, around next: NextReversal, isUndone: Bool) {
        var known = next.isUndone
        known[next.target] = isUndone
        (self.history, self.user, self.known) = (history, user, known)
    }

    /// The last write to a property that counts; nil if none does.
    ///
    /// Throws `compacted` if it was dropped.
    /// - Complexity: O(*k* log *n*) for *k* later writes that do not count.
    package mutating func lastWrite(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        var verdicts = self.known
        var bound = Stamp(rawValue: .max)
        while true {
            let group = try self.history.lastWrites(at: key, through: bound, in: &transaction)
            let stamp = group.first?.stamp ?? .zero
            for write in group.sorted(by: { WriteOrder.precedes($1, $0, transaction) })
            where try self.counts(write, &verdicts, in: &transaction) {
                try self.history.requireKept(write, at: key, in: &transaction)
                return write
            }
            guard stamp.rawValue > 0 else {
                try self.history.requireKept(nil, at: key, in: &transaction)
                return nil
            }
            bound = Stamp(rawValue: stamp.rawValue - 1)
        }
    }

    /// The last effective move of an object that counts; nil if none does.
    ///
    /// - Complexity: O(*n* log *n*) in the moves of the object.
    package mutating func lastMove(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> MoveRecord? {
        var verdicts = self.known
        let moves = try self.history.moves(of: object, in: &transaction)
        for move in moves.sorted(by: { WriteOrder.precedes($1.write, $0.write, transaction) }) {
            // A move without effect can still be that of a change which says something.
            let counts = try self.counts(move.write, &verdicts, in: &transaction)
            if counts, move.isEffective { return move }
        }
        return nil
    }

    /// Whether an object lives: some touch counts that no deletion that counts had seen.
    ///
    /// - Complexity: O(*n* log *n*) in the writes to the object. If nobody ever deleted it, only the changes behind the
    ///   last write that counts are read.
    package mutating func isAlive(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        var verdicts = self.known
        let operations = try self.history.operations(on: object, in: &transaction)
        let deletions = Set(try self.history.deletions(of: object, in: &transaction))
        var (touches, contexts): ([WriteReference], [CausalContext]) = ([], [])
        for write in operations.sorted(by: { WriteOrder.precedes($1, $0, transaction) })
        where try self.counts(write, &verdicts, in: &transaction) {
            if deletions.contains(write) {
                let seen = try transaction.context(at: write.point)
                contexts.append(CausalContext(seen: seen, author: write.line, ordinal: write.ordinal))
            } else {
                if deletions.isEmpty { return true }
                touches.append(write)
            }
        }
        if touches.contains(where: { touch in !contexts.contains { $0.covers(touch) } }) { return true }
        // Whose the dropped writes are is not known any more, so they count: nothing goes that somebody has edited.
        for last in try self.history.lastSpentWrites(on: object, in: &transaction) {
            let end = ChainOrdinal(sequence: last.sequence, index: 0)
            if !contexts.contains(where: { $0.covers(last.line, end) }) { return true }
        }
        return false
    }

    /// Whether a write counts, if all later ones of its kind were looked at before.
    ///
    /// `verdicts`: the changes of which one of those says whether they are taken back.
    private mutating func counts(
        _ write: WriteReference,
        _ verdicts: inout [LinePoint: Bool],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let mark = try self.mark(of: write.point, in: &transaction) {
            if verdicts[mark.change] == nil { verdicts[mark.change] = !mark.isRedo }
            return false
        }
        return !(verdicts[write.point] ?? false)
    }

    private mutating func mark(
        of point: LinePoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ReversedChange? {
        if let known = self.marks[point] { return known }
        let mark = try transaction.reversal(by: self.user, at: point)
        self.marks[point] = .some(mark)
        return mark
    }
}

/// What a change takes back.
package struct ReversedChange: Hashable, Sendable {
    /// The change with the edits that are taken back, or done again.
    package var change: LinePoint
    /// The change that is taken back: that one, or if it is done again, the last one that took it back.
    package var target: LinePoint

    package var isRedo: Bool { self.change != self.target }
}

/// The change that is to be taken back next.
package struct NextReversal: Hashable, Sendable {
    /// For a redo, it is an undo.
    package var target: LinePoint
    /// Whether later changes of the user are taken back: not all that do so leave a trace where those had been.
    package var isUndone: [LinePoint: Bool]
}

extension StoreTransaction {
    /// What a change takes back, if both are of a user, and its author had seen what it takes back.
    package mutating func reversal(by user: UserID, at point: LinePoint) throws(StoreError) -> ReversedChange? {
        #if PLANTED_BUGS
        if PlantedBug.undoTakenForEdit.isPlanted { return nil }
        #endif
        guard let named = try self.namedByReversal(by: user, at: point) else { return nil }
        guard named.isRedo else { return ReversedChange(change: named.target, target: named.target) }
        guard let first = try self.namedByReversal(by: user, at: named.target), !first.isRedo else { return nil }
        return ReversedChange(change: first.target, target: named.target)
    }

    private mutating func namedByReversal(
        by user: UserID,
        at point: LinePoint
    ) throws(StoreError) -> (target: LinePoint, isRedo: Bool)? {
        let first = WriteReference(stamp: .zero, line: point.line, sequence: point.sequence, index: 0)
        guard self.line(point.line).introduction?.user == user, case .undo(let reversal)? = try self.edit(first),
            let target = try self.place(of: reversal.replica, sequence: reversal.sequence, hash: reversal.hash),
            self.line(target.line).introduction?.user == user
        else { return nil }
        guard target != point, try self.seen(before: point)[target.line] >= target.sequence else { return nil }
        return (target, reversal.isRedo)
    }

    /// What the author of a change had seen, the changes before it in its chain included.
    package mutating func seen(before point: LinePoint) throws(StoreError) -> SeenLines {
        var seen = try self.context(at: point)
        if let previous = self.place(before: point) { self.cover(previous, in: &seen) }
        return seen
    }

    /// The last change of a user that an undo can take back, or the last undo that a redo can; nil if there is none.
    ///
    /// Changes of a branch that was merged are among them, as if they had been made offline. Whoever edits after an
    /// undo cannot do again what was undone before.
    /// - Complexity: O(*k* *l*) for *k* later changes of the user, on *l* chains.
    package mutating func nextReversal(
        of user: UserID,
        isRedo: Bool,
        in history: TimelineHistory
    ) throws(StoreError) -> NextReversal? {
        var heads: [WriteReference] = []
        for last in history.ends(of: user, in: &self) { heads.append(try self.firstOperation(of: last)) }
        // The last word on each change that was ever taken back.
        var isUndone: [LinePoint: Bool] = [:]
        while let next = heads.indices.max(by: { WriteOrder.precedes(heads[$0], heads[$1], self) }) {
            let write = heads[next]
            let point = write.point
            if let reversal = try self.reversal(by: user, at: point) {
                if isUndone[reversal.change] == nil {
                    isUndone[reversal.change] = !reversal.isRedo
                    if isRedo, !reversal.isRedo { return NextReversal(target: point, isUndone: isUndone) }
                }
            } else if try self.isOfUser(write), !(isUndone[point] ?? false) {
                if !isRedo { return NextReversal(target: point, isUndone: isUndone) }
                // Whatever was undone before it was given up when it was written.
                return nil
            }
            if point.sequence > self.progress(of: point.line).firstSequence {
                heads[next] = try self.firstOperation(of: LinePoint(line: point.line, sequence: point.sequence - 1))
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

    private mutating func firstOperation(of point: LinePoint) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: point)
        return WriteReference(stamp: stamp, line: point.line, sequence: point.sequence, index: 0)
    }
}
