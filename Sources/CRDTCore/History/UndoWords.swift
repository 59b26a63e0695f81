/// What was last said of changes of a user: that they are taken back, or done again.
///
/// A change that says so is a word.
package struct UndoWords: Sendable {
    private let user: UserID
    /// The device that asks; nil if none of them is.
    private let device: DeviceID?
    /// The timeline that is looked at; nil for the main one.
    private let branch: BranchID?
    /// How far each of the user's segments counts.
    private let ends: [SegmentIndex: UInt64]
    /// The last word on each subject that was looked at; nil for none.
    private var words: [UndoSubject: UndoRecord?] = [:]

    package init(
        of user: UserID,
        askedBy device: DeviceID? = nil,
        on branch: BranchID?,
        in history: History,
        _ transaction: inout some StoreTransaction
    ) {
        (self.user, self.device, self.branch) = (user, device, branch)
        self.ends = history.ends(in: &transaction) { $0.user == user }
    }

    /// Whether the last word on something is that it is taken back.
    package mutating func isTakenBack(
        _ subject: UndoSubject,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let known = self.words[subject] { return known?.isTakenBack ?? false }
        let last = try self.lastWord(on: subject.change, of: subject, in: &transaction)
        self.words[subject] = .some(last)
        return last?.isTakenBack ?? false
    }

    /// Whether an edit stands for itself: it is no part of a word of the user, and the last word on its change, where
    /// that was made or as a merge has brought it here, is not that it is taken back.
    package func stands(
        _ write: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard transaction.segment(write.segment).introduction?.user == self.user else { return true }
        if try transaction.undo(at: write) != nil { return false }
        return try !(self.lastWord(on: write, of: nil, in: &transaction)?.isTakenBack ?? false)
    }

    /// Whether a change is a word of the user.
    package func isWord(
        _ change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard transaction.segment(change.segment).introduction?.user == self.user else { return false }
        return try transaction.undo(at: change) != nil
    }

    /// The last word on a change.
    ///
    /// `subject`: what it is about; nil for the change where it was made, and for what merges of this timeline brought.
    /// Then a word that a merge had brought, and that was taken back with that, says nothing any more.
    /// - Complexity: O(*l* log *n*) for *l* segments with a word on it, and each that is passed by.
    private func lastWord(
        on change: SegmentPoint,
        of subject: UndoSubject?,
        depth: Int = 0,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoRecord? {
        var last: (word: UndoRecord, write: WriteReference)?
        var next = try transaction.segmentWithUndo(of: change, after: nil)
        while let segment = next {
            next = try transaction.segmentWithUndo(of: change, after: segment)
            guard var end = self.ends[segment] else { continue }
            while let word = try transaction.lastUndo(of: change, on: segment, upTo: end) {
                let merge = word.subject.merge
                let isHere = merge.map { transaction.progress(of: $0.segment).branch == self.branch } ?? true
                var says = subject.map { $0 == word.subject } ?? isHere
                if says { says = try self.hears(word, in: &transaction) }
                if says, subject == nil, depth < UndoWords.depthMax {
                    let last = try self.lastWord(on: word.point, of: nil, depth: depth + 1, in: &transaction)
                    says = !(last?.isTakenBack ?? false)
                }
                guard says else {
                    end = word.point.sequence - 1
                    continue
                }
                let write = try transaction.firstOperation(of: word.point)
                if last.map({ WriteOrder.precedes($0.write, write, transaction) }) ?? true { last = (word, write) }
                break
            }
        }
        return last?.word
    }

    /// Words about words about words: nobody goes as far.
    private static let depthMax = 32

    /// Whether a word has anything to say to the device that asks.
    ///
    /// One that changed nothing about what another device has done says something to its own author alone, who goes on
    /// behind that. A member would move the undo of others by it.
    private func hears(
        _ word: UndoRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let speaker = transaction.segment(word.point.segment).introduction?.device
        let doer = transaction.segment(word.action.segment).introduction?.device
        if speaker == doer || speaker == self.device { return true }
        var edit = try transaction.firstOperation(of: word.point)
        edit.index += 1
        return try transaction.edit(edit)?.object != nil
    }

    /// The actions that were done again in other scopes since an undo or redo.
    ///
    /// - Complexity: O(*n* log *m*) for *n* words since, of which `Limits.undoPassedCountMax` are looked at.
    func actionsDoneAgain(
        since mark: SegmentPoint,
        besides scope: UndoScope,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint] {
        let write = try transaction.firstOperation(of: mark)
        var (actions, count): ([SegmentPoint], Int) = ([], 0)
        for (segment, end) in self.ends {
            var sequence = end
            while count < Limits.undoPassedCountMax,
                let word = try transaction.lastUndo(in: nil, on: segment, upTo: sequence),
                WriteOrder.precedes(write, try transaction.firstOperation(of: word.point), transaction)
            {
                if word.isRedo, word.scope != scope { actions.append(word.action) }
                (count, sequence) = (count + 1, word.point.sequence - 1)
            }
        }
        return actions
    }
}

/// What is taken back, or done again: a change, or what a merge had brought of one.
package struct UndoSubject: Hashable, Sendable {
    package var change: SegmentPoint
    /// The change that had merged it; nil if it was made on the timeline itself.
    package var merge: SegmentPoint?

    package init(change: SegmentPoint, merge: SegmentPoint? = nil) { (self.change, self.merge) = (change, merge) }
}

extension StoreTransaction {
    /// What a timeline held before a change of it, or with it: all that its author had taken in there, and what a
    /// branch begins with.
    ///
    /// - Complexity: that of `closure(of:)`.
    package mutating func state(
        at point: SegmentPoint,
        with isTakenIn: Bool,
        on branch: BranchID?
    ) throws(StoreError) -> SeenSegments {
        var seen = try self.context(at: point).all
            .map { SegmentPoint(segment: $0.segment, sequence: $0.sequence) }
            .filter { self.progress(of: $0.segment).branch == branch }
        if let previous = self.place(before: point), previous.sequence > 0 { seen.append(previous) }
        if isTakenIn { seen.append(point) }
        var state = try self.closure(of: seen)
        if let branch { state.formUnion(try self.base(of: branch)) }
        return state
    }
}
