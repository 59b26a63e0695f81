/// Changes of a user that are taken back: a history without them is as if they had never been.
///
/// A change that takes another one back only says so; its edits put that into effect for whoever does not look. So it
/// counts for nothing here, and a change that is taken back counts for nothing either. What other users write counts
/// as it is, whether they take something back by it or not.
package struct UndoState: Sendable {
    private let user: UserID
    /// How far each of the user's segments counts.
    private let ends: [SegmentIndex: UInt64]
    /// Changes of which it is to be taken as given whether they are taken back.
    private var given: [SegmentPoint: Given] = [:]
    /// The last word on each change that was looked at; nil for none.
    private var words: [SegmentPoint: UndoRecord?] = [:]

    private struct Given: Sendable {
        var isUndone: Bool
        /// What is reversed by that: the change itself, or the last word on it.
        var target: SegmentPoint
    }

    package init(of user: UserID, in history: History, _ transaction: inout some StoreTransaction) {
        self.user = user
        self.ends = history.ends(in: &transaction) { $0.user == user }
    }

    /// What was said in what somebody had seen.
    init(of user: UserID, seen: SeenSegments, _ transaction: some StoreTransaction) {
        self.user = user
        let own = seen.all.filter { transaction.segment($0.segment).introduction?.user == user }
        self.ends = Dictionary(own.map { ($0.segment, $0.sequence) }) { max($0, $1) }
    }

    /// The same if a change is taken back, or is not, whatever is said of it.
    ///
    /// `target`: what is reversed by that: the change itself, or the last word on it.
    package func taking(_ change: SegmentPoint, isUndone: Bool, byReversing target: SegmentPoint) -> UndoState {
        var state = self
        state.given[change] = Given(isUndone: isUndone, target: target)
        return state
    }

    /// Whether a write counts that the history has.
    ///
    /// - Complexity: O(*l* log *n*) for *l* segments on which it is said that its change is taken back, or not.
    mutating func counts(
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let given = self.given[write.point] { return !given.isUndone }
        guard transaction.segment(write.segment).introduction?.user == self.user else { return true }
        if try self.ownUndo(at: write.point, in: &transaction) != nil { return false }
        return try !self.isTakenBack(write.point, in: &transaction)
    }

    /// Whether the last word on a change is that it is taken back.
    mutating func isTakenBack(
        _ change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let given = self.given[change] { return given.isUndone }
        return try self.lastWord(on: change, in: &transaction)?.isTakenBack ?? false
    }

    /// The last word on a change; nil if nothing is said of it.
    mutating func lastWord(
        on change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoRecord? {
        if let known = self.words[change] { return known }
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
        self.words[change] = .some(last?.undo)
        return last?.undo
    }

    /// What a write by an undo or redo has said, if that is the last word on its change; nil for any other write.
    ///
    /// Where such a write stands, its author had found nothing in force above that change.
    mutating func lastWord(
        of write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoRecord? {
        guard let undo = try self.ownUndo(at: write.point, in: &transaction), self.given[undo.change] == nil,
            try self.lastWord(on: undo.change, in: &transaction)?.point == undo.point
        else { return nil }
        return undo
    }

    /// Whether a write is by an undo or redo that is in force, and whose author had not seen another write.
    ///
    /// For whoever writes beside it such an undo is an edit. So what it has won over does not come into force by a
    /// later one.
    mutating func isApart(
        _ word: WriteReference,
        from write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard word.segment != write.segment, let undo = try self.ownUndo(at: word.point, in: &transaction),
            try self.isInForce(undo, in: &transaction)
        else { return false }
        return try transaction.context(at: word.point)[write.segment] < write.sequence
    }

    /// Whether an undo or redo is the last word on its change, or is put in force again by that, or by what is given:
    /// whoever takes back what took back a word, says it again.
    ///
    /// - Complexity: O(*n* log *m*) for *n* words that do so, of which `Limits.undoLeapCountMax` are followed.
    private mutating func isInForce(
        _ word: UndoRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let last = try self.lastWord(on: word.change, in: &transaction),
            try transaction.says(last, word)
        {
            return true
        }
        guard let given = self.given[word.change], let former = try transaction.formerWord(of: given.target)
        else { return false }
        return try transaction.says(former, word)
    }

    /// Whether a write by an undo or redo stands for the one that it had put in force again: nothing was said since
    /// about what comes before it.
    ///
    /// - Complexity: O(*n*) for *n* undos and redos since. With more than `Limits.undoPassedCountMax` it does not.
    mutating func standsForFormer(
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard try self.ownUndo(at: write.point, in: &transaction) != nil else { return false }
        for change in self.given.keys {
            if WriteOrder.precedes(try transaction.firstOperation(of: change), write, transaction) { return false }
        }
        guard let changes = try self.changes(spokenOfSince: write, in: &transaction) else { return false }
        for change in changes {
            let operation = try transaction.firstOperation(of: change)
            if WriteOrder.precedes(operation, write, transaction) { return false }
        }
        return true
    }

    /// Whether nothing has come to count, since an undo has written something, of what lies between that and the change
    /// that it took back.
    ///
    /// - Complexity: as `standsForFormer`.
    mutating func leavesOut(
        allBetween change: SegmentPoint,
        and write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let changes = try self.changes(spokenOfSince: write, in: &transaction) else { return false }
        let start = try transaction.firstOperation(of: change)
        for other in changes where other != change {
            let operation = try transaction.firstOperation(of: other)
            guard WriteOrder.precedes(start, operation, transaction), WriteOrder.precedes(operation, write, transaction)
            else { continue }
            if try !self.isTakenBack(other, in: &transaction) { return false }
        }
        return true
    }

    /// The changes of which it is given whether they are taken back, or of which something was said after a write; nil
    /// if they are more than `Limits.undoPassedCountMax`.
    private func changes(
        spokenOfSince write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint]? {
        let words = try self.words(since: write, in: &transaction)
        return words.isWhole ? self.given.keys + words.found.map(\.change) : nil
    }

    /// The actions that were done again in other scopes since an undo or redo, as far as `Limits.undoPassedCountMax`
    /// undos and redos are looked at.
    func actionsDoneAgain(
        since mark: SegmentPoint,
        besides scope: UndoScope,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint] {
        let write = try transaction.firstOperation(of: mark)
        return try self.words(since: write, in: &transaction).found
            .filter { $0.isRedo && $0.scope != scope }
            .map(\.action)
    }

    /// What was said after a write; it is whole if that is no more than `Limits.undoPassedCountMax`.
    ///
    /// - Complexity: O(*n* log *m*) for *n* undos and redos since.
    private func words(
        since write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (found: [UndoRecord], isWhole: Bool) {
        var found: [UndoRecord] = []
        for (segment, end) in self.ends {
            var sequence = end
            while let undo = try transaction.lastUndo(in: nil, on: segment, upTo: sequence),
                WriteOrder.precedes(write, try transaction.firstOperation(of: undo.point), transaction)
            {
                guard found.count < Limits.undoPassedCountMax else { return (found, false) }
                found.append(undo)
                sequence = undo.point.sequence - 1
            }
        }
        return (found, true)
    }

    private func ownUndo(
        at point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoRecord? {
        guard transaction.segment(point.segment).introduction?.user == self.user else { return nil }
        return try transaction.undo(at: point)
    }
}

extension StoreTransaction {
    /// Whether a word is another one, or puts that in force again.
    fileprivate mutating func says(_ last: UndoRecord, _ word: UndoRecord) throws(StoreError) -> Bool {
        var next: UndoRecord? = last
        for _ in 0..<Limits.undoLeapCountMax {
            guard let current = next else { return false }
            if current.point == word.point { return true }
            next = try self.formerWord(of: current.target)
        }
        return false
    }

    /// The word that another one had taken back; nil if that one took back a change with edits, or is none.
    fileprivate mutating func formerWord(of word: SegmentPoint) throws(StoreError) -> UndoRecord? {
        guard let target = try self.undo(at: word)?.target else { return nil }
        return try self.undo(at: target)
    }
}
