/// Changes of a user that are taken back: a history without them is as if they had never been.
///
/// A change that takes another one back only says so; its edits put that into effect for whoever does not look. So it
/// counts for nothing here, and a change that is taken back counts for nothing either. What other users write counts
/// as it is, whether they take something back by it or not.
package struct UndoState: Sendable {
    private let user: UserID
    /// How far each of the user's segments counts.
    private let ends: [SegmentIndex: UInt64]
    /// Whether changes are taken back, as far as that is known.
    private var isUndone: [SegmentPoint: Bool] = [:]

    package init(of user: UserID, in history: History, _ transaction: inout some StoreTransaction) {
        self.user = user
        self.ends = history.ends(in: &transaction) { $0.user == user }
    }

    /// The same if a change is taken back, or is not, whatever is said of it.
    package func taking(_ change: SegmentPoint, isUndone: Bool) -> UndoState {
        var state = self
        state.isUndone[change] = isUndone
        return state
    }

    /// Whether a write counts that the history has.
    ///
    /// - Complexity: O(*l* log *n*) for *l* segments on which it is said that its change is taken back, or not.
    mutating func counts(
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let known = self.isUndone[write.point] { return !known }
        guard transaction.segment(write.segment).introduction?.user == self.user else { return true }
        if try transaction.undo(at: write.point) != nil { return false }
        return try !self.isTakenBack(write.point, in: &transaction)
    }

    /// Whether the last word on a change is that it is taken back.
    mutating func isTakenBack(
        _ change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let known = self.isUndone[change] { return known }
        var last: (undo: UndoRecord, write: WriteReference)?
        var next = try transaction.segmentWithUndo(of: change, after: nil)
        while let segment = next {
            next = try transaction.segmentWithUndo(of: change, after: segment)
            guard let end = self.ends[segment],
                let undo = try transaction.lastUndo(of: change, on: segment, upTo: end)
            else { continue }
            let write = try transaction.firstOperation(of: undo.point)
            if let last, WriteOrder.precedes(write, last.write, transaction) { continue }
            last = (undo, write)
        }
        let isTakenBack = last.map { !$0.undo.isRedo } ?? false
        self.isUndone[change] = isTakenBack
        return isTakenBack
    }
}

/// Who takes something back, and whose steps.
package struct UndoAuthor: Hashable, Sendable {
    package var user: UserID
    package var device: DeviceID
    package var scope: UndoScope

    package init(user: UserID, device: DeviceID, scope: UndoScope) {
        (self.user, self.device, self.scope) = (user, device, scope)
    }

    /// Whether steps of a device are gone through.
    func takesBack(_ author: Introduction?) -> Bool {
        author?.user == self.user && self.scope.contains(author?.device)
    }
}

/// The change that is to be taken back next, and the one after it.
package struct NextUndo: Hashable, Sendable {
    /// For a redo, it is an undo.
    package var target: SegmentPoint
    /// What is next once that is taken back, or done again; nil if there is nothing.
    package var next: SegmentPoint?
    /// How many changes were looked at to find both.
    package var lookedAtCount: Int
}

extension StoreTransaction {
    /// What the author of a change had seen, the changes before it in its chain included.
    package mutating func seen(before point: SegmentPoint) throws(StoreError) -> SeenSegments {
        var seen = try self.context(at: point)
        if let previous = self.place(before: point) { self.cover(previous, in: &seen) }
        return seen
    }

    /// The last change in a scope that an undo can take back, or the last undo that a redo can; nil for none.
    ///
    /// Changes of a branch that was merged are among them, as if they had been made offline. Whoever edits after an
    /// undo cannot do again what was undone before.
    /// - Complexity: O(*l*) for *l* segments and for each later change in the scope that edits nothing, or was taken
    ///   back in another scope. It passes `Limits.undoPassedCountMax` of these at most. How much is taken back in the
    ///   scope does not matter.
    package mutating func nextUndo(
        for author: UndoAuthor,
        isRedo: Bool,
        in history: History
    ) throws(StoreError) -> NextUndo? {
        var search = try UndoSearch(for: author, isRedo: isRedo, in: history, &self)
        guard let target = try search.next(in: &self) else { return nil }
        let next = try search.next(in: &self)
        return NextUndo(target: target, next: next, lookedAtCount: search.lookedAtCount)
    }

    /// The last change of a segment, up to a sequence, that does not come after a write in the order of writes.
    ///
    /// - Complexity: O(log *n*) in the changes of the segment.
    fileprivate mutating func last(
        on segment: SegmentIndex,
        upTo sequence: UInt64,
        notAfter write: WriteReference
    ) throws(StoreError) -> SegmentPoint? {
        var (first, end) = (self.progress(of: segment).firstSequence, sequence + 1)
        let start = first
        while first < end {
            let middle = first + (end - first) / 2
            let here = try self.firstOperation(of: SegmentPoint(segment: segment, sequence: middle))
            if WriteOrder.precedes(write, here, self) { end = middle } else { first = middle + 1 }
        }
        return first > start ? SegmentPoint(segment: segment, sequence: first - 1) : nil
    }

    fileprivate mutating func firstOperation(of point: SegmentPoint) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: point)
        return WriteReference(stamp: stamp, segment: point.segment, sequence: point.sequence, index: 0)
    }
}

/// Goes through what was done in a scope, from the last on, and leaps over what is taken back.
///
/// Each undo names what is next after it in its scope, and each redo too. Of what its author had seen, all that comes
/// later in the order of writes is taken back, and not looked at. A redo does again what its undo took back, so all is
/// as it was for the author of that undo; what only the author of the redo had seen, as a branch that he merged
/// meanwhile, is gone through.
private struct UndoSearch {
    private let author: UndoAuthor
    private let isRedo: Bool
    /// How far each segment counts of the devices in the scope, and of the one that asks.
    private let ends: [SegmentIndex: UInt64]
    private var state: UndoState
    /// What was not gone through: the first operations of changes of different segments, with all that is before them.
    private var heads: [SegmentIndex: WriteReference] = [:]
    private var passedCount = 0
    private var leapCount = 0
    private(set) var lookedAtCount = 0

    init(
        for author: UndoAuthor,
        isRedo: Bool,
        in history: History,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        (self.author, self.isRedo) = (author, isRedo)
        self.ends = history.ends(in: &transaction) { author.takesBack($0) || $0.device == author.device }
        self.state = UndoState(of: author.user, in: history, &transaction)
        for (segment, sequence) in self.ends {
            try self.add(SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
        }
    }

    /// What is done about a change.
    private enum Verdict {
        /// It is next.
        case found
        /// Nothing is: whatever was undone before it was given up when it was written.
        case ends
        /// It is no step in the scope, or is taken back.
        case passed
        /// Of what its author had seen, all behind another one is taken back; nil if nothing else is there.
        ///
        /// `undo`: of a redo, the undo whose author had seen that.
        case leaps(to: SegmentPoint?, since: SegmentPoint? = nil)
    }

    /// The next change that can be taken back, or undo that can be done again; nil if there is none.
    mutating func next(in transaction: inout some StoreTransaction) throws(StoreError) -> SegmentPoint? {
        while let last = try self.last(in: &transaction) {
            self.lookedAtCount += 1
            switch try self.verdict(on: last, in: &transaction) {
            case .ends: return nil
            case .leaps(let next, let undo):
                // Of what is sound few are needed; what is damaged could lead round in a circle.
                guard self.leapCount < Limits.undoLeapCountMax else { return nil }
                self.leapCount += 1
                try self.leap(from: last, to: next, since: undo ?? last, in: &transaction)
            case .found:
                try self.pass(last, in: &transaction)
                return last
            case .passed:
                guard self.passedCount < Limits.undoPassedCountMax else { return nil }
                self.passedCount += 1
                try self.pass(last, in: &transaction)
            }
        }
        return nil
    }

    private mutating func verdict(
        on last: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Verdict {
        if let undo = try transaction.undo(at: last) {
            guard undo.scope == self.author.scope else { return .passed }
            if self.isRedo, undo.isRedo { return .leaps(to: undo.next) }
            // It may have been taken back on a branch too, and done again here.
            if self.isRedo { return try self.state.isTakenBack(undo.change, in: &transaction) ? .found : .passed }
            return undo.isRedo ? .leaps(to: undo.change, since: undo.target) : .leaps(to: undo.next)
        }
        guard self.author.takesBack(transaction.segment(last.segment).introduction),
            try self.isAction(last, in: &transaction)
        else { return .passed }
        if self.isRedo { return .ends }
        return try self.state.isTakenBack(last, in: &transaction) ? .passed : .found
    }

    /// The last of the heads in the order of writes.
    private func last(in transaction: inout some StoreTransaction) throws(StoreError) -> SegmentPoint? {
        var last: WriteReference?
        for head in self.heads.values {
            if let known = last, WriteOrder.precedes(head, known, transaction) { continue }
            last = head
        }
        return last?.point
    }

    /// Goes on before a change.
    private mutating func pass(
        _ point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        self.heads[point.segment] = nil
        guard let previous = transaction.place(before: point), previous.sequence > 0 else { return }
        try self.add(previous, in: &transaction)
    }

    /// Goes on with a change, and with what comes before it of all that the author of an undo had seen.
    ///
    /// What the author of `point` had not seen is gone through as well, and what he had seen on other chains since the
    /// undo. `next`: nil if nothing else is there.
    private mutating func leap(
        from point: SegmentPoint,
        to next: SegmentPoint?,
        since undo: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let seen = try transaction.seen(before: point)
        // Of rows that are damaged it may be a change that is not there.
        let isFormer = undo != point && undo.sequence <= seen[undo.segment]
        let former = isFormer ? try transaction.seen(before: undo) : seen
        self.heads[point.segment] = nil
        self.heads = self.heads.filter {
            $0.value.sequence > ($0.key == point.segment ? seen : former)[$0.key]
        }
        guard let next, next.sequence <= former[next.segment] else { return }
        let last = try transaction.firstOperation(of: next)
        for (segment, end) in self.ends {
            let sequence = min(end, former[segment])
            if let found = try transaction.last(on: segment, upTo: sequence, notAfter: last) {
                try self.add(found, in: &transaction)
            }
        }
    }

    private mutating func add(
        _ point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let end = self.ends[point.segment], end >= point.sequence else { return }
        if let head = self.heads[point.segment], head.sequence >= point.sequence { return }
        var head: SegmentPoint? = point
        if !self.author.takesBack(transaction.segment(point.segment).introduction) {
            // Of what is not in the scope only undos matter.
            head = try transaction.lastUndo(on: point.segment, upTo: point.sequence)?.point
        }
        self.heads[point.segment] = try head.map { head throws(StoreError) in
            try transaction.firstOperation(of: head)
        }
    }

    /// Whether its author made a change on purpose: an edit, or an erasure.
    private func isAction(
        _ point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let edit = try transaction.edit(try transaction.firstOperation(of: point))
        return edit?.object != nil || edit?.kind == .erase
    }
}
