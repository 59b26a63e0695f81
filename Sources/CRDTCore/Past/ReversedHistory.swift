/// The history of an object as if the changes that are taken back had never been.
///
/// A change that takes another one back, or does it again, only says so; its edits put that into effect for whoever
/// does not look. So it counts for nothing here, and a change that is taken back counts for nothing either. What is
/// left says what is in force by the will of its authors.
package struct ReversedHistory {
    /// The change that is looked at, and whether it shall be taken for one that is taken back.
    private let target: LinePoint
    private let isTargetUndone: Bool
    private var marks: [LinePoint: Mark?] = [:]

    /// What a change says of another one.
    private struct Mark {
        var target: LinePoint
        var isRedo: Bool
    }

    /// `assuming`: that this change is taken back, or is not.
    package init(assuming target: LinePoint, isUndone: Bool) {
        self.target = target
        self.isTargetUndone = isUndone
    }

    /// The last write to a property that counts; nil if none does.
    ///
    /// - Complexity: O(*k* log *n*) for *k* later writes that do not count.
    package mutating func lastWrite(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        var verdicts = self.firstVerdicts
        var bound = Stamp(rawValue: .max)
        while true {
            let group = try transaction.lastWrites(at: key, through: bound, where: { _ in true })
            guard let stamp = group.first?.stamp else { return nil }
            for write in group.sorted(by: { WriteOrder.precedes($1, $0, transaction) })
            where try self.counts(write, &verdicts, in: &transaction) {
                return write
            }
            guard stamp.rawValue > 0 else { return nil }
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
        var verdicts = self.firstVerdicts
        let moves = try transaction.moves(of: object).sorted { WriteOrder.precedes($1.write, $0.write, transaction) }
        for move in moves {
            // A move without effect can still be that of a change which says something.
            let counts = try self.counts(move.write, &verdicts, in: &transaction)
            if counts, move.isEffective { return move }
        }
        return nil
    }

    /// Whether an object lives: some touch counts that no deletion that counts had seen.
    ///
    /// - Complexity: O(*n* log *n*) in the writes to the object.
    package mutating func isAlive(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        var verdicts = self.firstVerdicts
        let history = try transaction.history(of: object).sorted { WriteOrder.precedes($1, $0, transaction) }
        let deletions = Set(try transaction.deletions(of: object))
        var (touches, contexts): ([WriteReference], [CausalContext]) = ([], [])
        for write in history where try self.counts(write, &verdicts, in: &transaction) {
            if deletions.contains(write) {
                let seen = try transaction.context(at: write.point)
                contexts.append(CausalContext(seen: seen, author: write.line, ordinal: write.ordinal))
            } else {
                touches.append(write)
            }
        }
        return touches.contains { touch in !contexts.contains { $0.covers(touch) } }
    }

    private var firstVerdicts: [LinePoint: Bool] { [self.target: self.isTargetUndone] }

    /// Whether a write counts, if all later ones of its kind were looked at before.
    ///
    /// `verdicts`: the changes of which one of those says whether they are taken back.
    private mutating func counts(
        _ write: WriteReference,
        _ verdicts: inout [LinePoint: Bool],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let mark = try self.mark(of: write.point, in: &transaction) {
            if verdicts[mark.target] == nil { verdicts[mark.target] = !mark.isRedo }
            return false
        }
        return !(verdicts[write.point] ?? false)
    }

    private mutating func mark(
        of point: LinePoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Mark? {
        if let known = self.marks[point] { return known }
        let mark = try transaction.reversal(at: point).map { Mark(target: $0.target, isRedo: $0.isRedo) }
        self.marks[point] = .some(mark)
        return mark
    }
}

extension StoreTransaction {
    /// The change that one takes back or does again, if that is a change of the same user which it had seen.
    package mutating func reversal(
        at point: LinePoint
    ) throws(StoreError) -> (target: LinePoint, isRedo: Bool)? {
        let first = WriteReference(stamp: .zero, line: point.line, sequence: point.sequence, index: 0)
        guard case .undo(let reversal)? = try self.edit(first),
            let target = try self.place(of: reversal.replica, sequence: reversal.sequence, hash: reversal.hash),
            let user = self.line(point.line).introduction?.user, self.line(target.line).introduction?.user == user
        else { return nil }
        var seen = try self.context(at: point)
        self.cover(point, in: &seen)
        guard target != point, seen[target.line] >= target.sequence else { return nil }
        return (target, reversal.isRedo)
    }

    /// The last change of a user that can be taken back, or be done again; nil if there is none.
    ///
    /// Whoever edits after an undo cannot do again what was undone before.
    /// - Complexity: O(*k* *l*) for *k* later changes of the user, on *l* chains.
    package mutating func nextReversal(of user: UserID, isRedo: Bool) throws(StoreError) -> LinePoint? {
        var heads: [WriteReference] = []
        for position in 0..<self.lineCount {
            let line = LineIndex(rawValue: UInt32(position))
            guard self.line(line).introduction?.user == user, self.progress(of: line).hasApplied else { continue }
            let last = LinePoint(line: line, sequence: self.progress(of: line).appliedSequence)
            heads.append(try self.firstOperation(of: last))
        }
        var isUndone: [LinePoint: Bool] = [:]
        while let next = heads.indices.max(by: { WriteOrder.precedes(heads[$0], heads[$1], self) }) {
            let write = heads[next]
            let point = write.point
            if let reversal = try self.reversal(at: point) {
                if isUndone[reversal.target] == nil {
                    isUndone[reversal.target] = !reversal.isRedo
                    if isRedo, !reversal.isRedo { return reversal.target }
                }
            } else if try self.edit(write)?.object != nil, !(isUndone[point] ?? false) {
                // What was done again counts as undone never; a redo before it is another matter.
                if !isRedo { return point }
                if isUndone[point] == nil { return nil }
            }
            if point.sequence > self.progress(of: point.line).firstSequence {
                heads[next] = try self.firstOperation(of: LinePoint(line: point.line, sequence: point.sequence - 1))
            } else {
                heads.remove(at: next)
            }
        }
        return nil
    }

    private mutating func firstOperation(of point: LinePoint) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: point)
        return WriteReference(stamp: stamp, line: point.line, sequence: point.sequence, index: 0)
    }
}
