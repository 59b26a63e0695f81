/// Who takes something back, and whose actions.
package struct UndoAuthor: Hashable, Sendable {
    package var user: UserID
    package var device: DeviceID
    package var scope: UndoScope

    package init(user: UserID, device: DeviceID, scope: UndoScope) {
        (self.user, self.device, self.scope) = (user, device, scope)
    }

    /// Whether actions of a device are gone through.
    func takesBack(_ author: Introduction?) -> Bool {
        author?.user == self.user && self.scope.contains(author?.device)
    }
}

/// The action that is to be taken back next, or whose undo is to be taken back.
package struct NextUndo: Hashable, Sendable {
    /// Its changes that are to be taken back, in the order in which that is done: the last comes first.
    package var pieces: [UndoPiece]
    /// By circle, with which change the action begins there that is next once it is taken back, or done again.
    ///
    /// Or the edit that bars that. An undo says nothing of another circle than its own.
    package var nexts: [CircleIndex: SegmentPoint]
    /// The circles to which something of it was carried over.
    package var destinations: Set<CircleIndex> = []
    /// How many changes were looked at to find all that.
    package var lookedAtCount: Int
}

/// A change of an action that is to be taken back; for a redo, of its undo.
package struct UndoPiece: Hashable, Sendable {
    /// The change; of a merge, one that it had brought.
    package var subject: UndoSubject
    /// With which change the action begins on the segment.
    package var first: SegmentPoint
    /// What it has to do with the change of the action before it.
    package var link: ActionLink
}

extension StoreTransaction {
    /// What the author of a change had seen, the changes before it in its chain included.
    package mutating func seen(before point: SegmentPoint) throws(StoreError) -> SeenSegments {
        var seen = try self.context(at: point)
        if let previous = self.place(before: point) { self.cover(previous, in: &seen) }
        return seen
    }

    /// The last action in a scope on a timeline that an undo can take back, or whose undo a redo can; nil for none.
    ///
    /// What a timeline has merged counts as one action of who merged it. Whoever edits after an undo cannot do again
    /// what was undone before.
    /// `branch`: the timeline; nil for the main one.
    /// - Complexity: O(*l*) for *l* segments and for each later change in the scope that edits nothing, or was taken
    ///   back in another scope, and O(*n* log *n*) for *n* changes of the action. It passes `Limits.undoPassedCountMax`
    ///   of those at most. How much is taken back in the scope does not matter, nor what other programs have done.
    package mutating func nextUndo(
        for author: UndoAuthor,
        isRedo: Bool,
        on branch: BranchID?,
        in history: History
    ) throws(StoreError) -> NextUndo? {
        var search = try UndoSearch(for: author, isRedo: isRedo, on: branch, in: history, &self)
        guard let pieces = try search.next(in: &self) else { return nil }
        var next = NextUndo(pieces: pieces, nexts: [:], lookedAtCount: search.lookedAtCount)
        for circle in Set(pieces.map { self.progress(of: $0.first.segment).circle }) {
            let (point, count) = try search.next(in: circle, &self)
            next.nexts[circle] = point
            next.lookedAtCount += count
        }
        for piece in pieces where self.circles.count > 1 && piece.subject.merge == nil {
            let edits = try self.undo(at: piece.subject.change)?.subject.change ?? piece.subject.change
            guard try self.actionLink(at: edits) == .carriesOver else { continue }
            next.destinations.insert(self.progress(of: edits.segment).circle)
        }
        return next
    }

    /// The last change in a scope on a timeline: an action, or part of one, or an undo or redo there; nil for none.
    package mutating func lastChange(
        for author: UndoAuthor,
        on branch: BranchID?,
        in history: History
    ) throws(StoreError) -> SegmentPoint? {
        let search = try UndoSearch(for: author, isRedo: false, on: branch, in: history, &self)
        return try search.last(in: &self)
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

    /// Whether an operation is an edit or an erasure, which its author made on purpose.
    fileprivate mutating func isEdit(_ operation: WriteReference) throws(StoreError) -> Bool {
        let edit = try self.edit(operation)
        return edit?.object != nil || edit?.kind == .erase
    }

    /// The last of some changes in the order of writes; nil if there are none.
    package mutating func last(of points: [SegmentPoint]) throws(StoreError) -> SegmentPoint? {
        var last: WriteReference?
        for point in points {
            let first = try self.firstOperation(of: point)
            if last.map({ WriteOrder.precedes($0, first, self) }) ?? true { last = first }
        }
        return last?.point
    }

    mutating func firstOperation(of point: SegmentPoint) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: point)
        return WriteReference(stamp: stamp, segment: point.segment, sequence: point.sequence, index: 0)
    }
}

/// Goes through what was done in a scope, from the last on, and leaps over what is taken back.
///
/// An action stands where its first change does, in whatever circle; what came of it to others is met before. Each undo
/// names what is next after it in its scope, and each redo too.
/// Of what its author had seen, all that comes later in the order of writes is taken back, and not looked at. A redo
/// does again what its undo took back, so all is as it was for the author of that undo; what only the author of the
/// redo had seen, as another device's actions, is gone through.
private struct UndoSearch {
    private let author: UndoAuthor
    private let isRedo: Bool
    private let branch: BranchID?
    /// How far each segment of the timeline counts, of the devices in the scope and of the one that asks.
    ///
    /// What a branch begins with was done on another timeline, and is taken back there: else a merge of the branch
    /// would take it back there too.
    private var ends: [SegmentIndex: UInt64]
    /// Those of circles that are not shared with the user any more: what he did there he cannot take back.
    private let closedEnds: [SegmentIndex: UInt64]
    /// What a branch begins with.
    private let base: SeenSegments
    private var words: UndoWords
    /// What was not gone through: the first operations of changes of different segments, with all that is before them.
    private var heads: [SegmentIndex: WriteReference] = [:]
    /// By the changes with which actions begin that are still to be met: where they came to other segments.
    private var parts: [SegmentPoint: [SegmentPoint]] = [:]
    /// What was written after all that was undone before it, so that nothing of that is done again.
    private var end: SegmentPoint?
    private var passedCount = 0
    private var leapCount = 0
    private(set) var lookedAtCount = 0

    init(
        for author: UndoAuthor,
        isRedo: Bool,
        on branch: BranchID?,
        in history: History,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        (self.author, self.isRedo, self.branch) = (author, isRedo, branch)
        self.base = try branch.map { id throws(StoreError) in try transaction.base(of: id) } ?? SeenSegments()
        var ends = history.ends(in: &transaction) { author.takesBack($0) || $0.device == author.device }
        ends = ends.filter { transaction.progress(of: $0.key).branch == branch }
        let closed = transaction.circles.closed
        self.closedEnds = ends.filter { closed.contains(transaction.progress(of: $0.key).circle) }
        if !closed.isEmpty { ends = ends.filter { !closed.contains(transaction.progress(of: $0.key).circle) } }
        self.ends = ends
        self.words = UndoWords(of: author.user, askedBy: author.device, on: branch, in: history, &transaction)
        for (segment, sequence) in self.ends {
            try self.add(SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
        }
    }

    /// What is done about a change.
    private enum Verdict {
        /// An action that begins with it is next.
        case found([UndoPiece])
        /// Nothing is: whatever was undone before it was given up when it was written.
        case ends
        /// It is no action in the scope, or is taken back.
        case passed
        /// It is looked at with the change with which its action begins.
        case belongs
        /// Its action came to the segment with it, and is looked at where it begins.
        case isPart(of: SegmentPoint)
        /// Of what its author had seen, all behind the last of some others is taken back.
        ///
        /// `undo`: of a redo, the undo whose author had seen that.
        case leaps(to: [SegmentPoint], since: SegmentPoint? = nil)
    }

    /// The next action that can be taken back, or undo that can be done again; nil if there is none.
    mutating func next(in transaction: inout some StoreTransaction) throws(StoreError) -> [UndoPiece]? {
        while true {
            if let parts = self.takeOrphans(), let first = parts.last, try !self.isClosed(first, in: &transaction),
                let pieces = try self.pieces(of: parts, in: &transaction)
            {
                if self.isRedo, pieces.areEdits {
                    self.end = parts.last
                    return nil
                }
                if !pieces.open.isEmpty { return pieces.open }
            }
            guard let last = try self.last(in: &transaction) else { return nil }
            self.lookedAtCount += 1
            switch try self.verdict(on: last, in: &transaction) {
            case .ends:
                self.end = last
                return nil
            case .leaps(let nexts, let undo):
                // Of what is sound few are needed; what is damaged could lead round in a circle.
                guard self.leapCount < Limits.undoLeapCountMax else { return nil }
                self.leapCount += 1
                try self.leap(from: last, to: nexts, since: undo ?? last, in: &transaction)
            case .found(let pieces):
                try self.pass(last, in: &transaction)
                return pieces
            case .belongs: try self.pass(last, in: &transaction)
            case .isPart(let first):
                self.parts[first, default: []].append(last)
                try self.pass(last, in: &transaction)
            case .passed:
                guard self.passedCount < Limits.undoPassedCountMax else { return nil }
                self.passedCount += 1
                try self.pass(last, in: &transaction)
            }
        }
    }

    /// With which change the next action begins in one circle, or comes to it, and how many changes were looked at.
    ///
    /// Where an edit there ended what can be done again, that: it does in all circles.
    func next(
        in circle: CircleIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> (point: SegmentPoint?, lookedAtCount: Int) {
        var search = self
        search.ends = self.ends.filter { transaction.progress(of: $0.key).circle == circle }
        search.heads = self.heads.filter { search.ends[$0.key] != nil }
        (search.parts, search.lookedAtCount) = ([:], 0)
        var points = self.parts.values.joined().filter { search.ends[$0.segment] != nil }
        let found = try search.next(in: &transaction)?.first?.first
        if let found = found ?? search.end { points.append(found) }
        return (try transaction.last(of: points), search.lookedAtCount)
    }

    /// Parts of an action whose beginning is not met any more, since all before some point was leapt over there; nil if
    /// there are none.
    ///
    /// Of a share that was taken back in one circle only, since the program ended, the other part is left.
    private mutating func takeOrphans() -> [SegmentPoint]? {
        let left = self.parts.keys.filter { first in
            self.heads[first.segment].map { $0.sequence < first.sequence } ?? true
        }
        let first = left.min { ($0.segment.rawValue, $0.sequence) < ($1.segment.rawValue, $1.sequence) }
        return first.flatMap { self.parts.removeValue(forKey: $0) }
    }

    private mutating func verdict(
        on last: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Verdict {
        let first = try transaction.firstOfAction(at: last)
        if let undo = try transaction.undo(at: last) {
            guard undo.scope == self.author.scope else { return .passed }
            guard self.isRedo else {
                let next = undo.isRedo ? undo.action : undo.next
                let others = try self.doneAgain(since: last, in: &transaction)
                return .leaps(to: others + [next].compactMap(\.self), since: undo.isRedo ? undo.target : nil)
            }
            if undo.isRedo { return .leaps(to: [undo.next].compactMap(\.self)) }
            if first != last { return .belongs }
        } else {
            guard self.author.takesBack(transaction.segment(last.segment).introduction),
                try self.author.scope.contains(label: transaction.label(at: last))
            else { return .passed }
            if first != last { return .belongs }
        }
        if let start = try self.start(ofActionAt: last, in: &transaction) { return .isPart(of: start) }
        let parts = (self.parts.removeValue(forKey: last) ?? []) + [last]
        guard let pieces = try self.pieces(of: parts, in: &transaction) else { return .passed }
        if self.isRedo, pieces.areEdits { return .ends }
        if try self.isClosed(last, in: &transaction) { return .passed }
        return pieces.open.isEmpty ? .passed : .found(pieces.open)
    }

    /// Whether the action that a change begins, or comes to its segment with, is in part about what is not shared with
    /// its user any more: he cannot take that back, nor the rest of it alone, which would leave what had gone over
    /// nowhere.
    ///
    /// - Complexity: O(*s* log *n*) for *s* segments of *n* changes in such circles.
    private func isClosed(
        _ first: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard !self.closedEnds.isEmpty else { return false }
        if try transaction.start(ofActionAt: first, among: self.closedEnds) != nil { return true }
        let record = try transaction.lastAction(on: first.segment, upTo: first.sequence)
        let named = record.flatMap { $0.point == first ? $0.start : nil }
        let own = try transaction.header(at: first)?.stamp
        guard let start = named ?? own else { return false }
        let device = transaction.segment(first.segment).device
        for segment in self.closedEnds.keys where transaction.segment(segment).device == device {
            if try transaction.firstAction(on: segment, startedAt: start) != nil { return true }
        }
        return false
    }

    /// The change with which the action began that came to a segment with a change, if that is still to be met.
    ///
    /// What was written for an action that was taken back meanwhile is one by itself. What is written after an undo
    /// ends what can be done again, wherever its action began.
    private mutating func start(
        ofActionAt point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        let isUndo = try transaction.undo(at: point) != nil
        if self.isRedo, !isUndo { return nil }
        guard let start = try transaction.start(ofActionAt: point, among: self.ends),
            let head = self.heads[start.segment], head.sequence >= start.sequence
        else { return nil }
        if !isUndo, try self.words.isTakenBack(UndoSubject(change: start), in: &transaction) { return nil }
        return start
    }

    /// The actions in the scope that were done again in another one since an undo or redo.
    private func doneAgain(
        since mark: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint] {
        var found: [SegmentPoint] = []
        for other in try self.words.actionsDoneAgain(since: mark, besides: self.author.scope, in: &transaction) {
            guard self.ends[other.segment].map({ $0 >= other.sequence }) ?? false,
                self.author.takesBack(transaction.segment(other.segment).introduction),
                try self.author.scope.contains(label: transaction.label(at: other))
            else { continue }
            found.append(other)
        }
        return found
    }

    /// The changes of an action that can be taken back, or done again, the last first; nil if it has none at all.
    ///
    /// `firsts`: with which ones it begins, and comes to other segments. `areEdits`: whether they are edits, or undos.
    private mutating func pieces(
        of firsts: [SegmentPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (open: [UndoPiece], areEdits: Bool)? {
        var (open, areEdits, isEmpty): ([UndoPiece], Bool, Bool) = ([], false, true)
        for first in firsts {
            let part = try self.pieces(of: first, in: &transaction)
            isEmpty = isEmpty && part.all.isEmpty
            areEdits = areEdits || part.areEdits
            for subject in part.open {
                let link = subject.merge == nil ? try transaction.actionLink(at: subject.change) : .follows
                open.append(UndoPiece(subject: subject, first: first, link: link))
            }
        }
        guard !isEmpty else { return nil }
        guard firsts.count > 1 else { return (open, areEdits) }
        var sorted: [(write: WriteReference, piece: UndoPiece)] = []
        for piece in open { sorted.append((try transaction.firstOperation(of: piece.subject.change), piece)) }
        sorted.sort { WriteOrder.precedes($1.write, $0.write, transaction) }
        return (sorted.map(\.piece), areEdits)
    }

    /// The changes of an action on one segment, the last first.
    ///
    /// `all`: those that it consists of; `open`: of these the ones that can be taken back, or done again.
    private mutating func pieces(
        of first: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (all: [SegmentPoint], open: [UndoSubject], areEdits: Bool) {
        let end = self.ends[first.segment] ?? first.sequence
        var (all, open, areEdits): ([SegmentPoint], [UndoSubject], Bool) = ([], [], false)
        var next = try transaction.lastPiece(of: first, before: end + 1) ?? first
        while true {
            if let undo = try transaction.undo(at: next) {
                // It may have been taken back on a branch too, and done again here.
                if !undo.isRedo, undo.scope == self.author.scope {
                    all.append(next)
                    if try self.words.isTakenBack(undo.subject, in: &transaction) {
                        open.append(UndoSubject(change: next))
                    }
                }
            } else {
                for piece in try self.edits(by: next, in: &transaction) {
                    (areEdits, _) = (true, all.append(next))
                    if try !self.words.isTakenBack(piece, in: &transaction) { open.append(piece) }
                }
            }
            guard next != first else { break }
            next = try transaction.lastPiece(of: first, before: next.sequence) ?? first
        }
        return (all, open, areEdits)
    }

    /// A change, if its author made it on purpose by an edit or an erasure; or those that it merged, the last first.
    ///
    /// Of the undos and redos that it merged, those are among them that had edits to make.
    private func edits(
        by point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [UndoSubject] {
        if try transaction.isEdit(try transaction.firstOperation(of: point)) { return [UndoSubject(change: point)] }
        let before = point.sequence - 1
        guard transaction.branches.lastMerging(on: point.segment, after: before, through: point.sequence) != nil
        else { return [] }
        // What others had merged on the timeline was brought by them.
        let known = try transaction.state(at: point, with: false, on: self.branch)
        var merged: [WriteReference] = []
        for (segment, last) in try transaction.closure(of: [point]).all {
            let progress = transaction.progress(of: segment)
            guard progress.branch != self.branch, transaction.segment(segment).introduction?.user == self.author.user
            else { continue }
            var sequence = max(known[segment] + 1, progress.firstSequence)
            while sequence <= last {
                let first = try transaction.firstOperation(of: SegmentPoint(segment: segment, sequence: sequence))
                var second = first
                second.index += 1
                let isWord = try transaction.undo(at: first.point) != nil
                if try transaction.isEdit(isWord ? second : first) { merged.append(first) }
                sequence += 1
            }
        }
        merged.sort { WriteOrder.precedes($1, $0, transaction) }
        return merged.map { UndoSubject(change: $0.point, merge: point) }
    }

    /// The last of the heads in the order of writes.
    func last(in transaction: inout some StoreTransaction) throws(StoreError) -> SegmentPoint? {
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
    /// undo. `nexts`: of those that he had seen then, the last is the next one; the others are gone through.
    private mutating func leap(
        from point: SegmentPoint,
        to nexts: [SegmentPoint],
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
        let reached = try transaction.last(of: nexts.filter { $0.sequence <= former[$0.segment] })
        guard let last = try reached.map({ next throws(StoreError) in try transaction.firstOperation(of: next) })
        else { return }
        for (segment, end) in self.ends {
            let sequence = min(end, former[segment])
            if let found = try transaction.last(on: segment, upTo: sequence, notAfter: last) {
                try self.add(found, in: &transaction)
            }
        }
    }

    /// Goes on with the last change of a segment, up to one, that matters in the scope: those of its programs and
    /// devices, and all undos in it.
    private mutating func add(
        _ point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let end = self.ends[point.segment], end >= point.sequence else { return }
        if let head = self.heads[point.segment], head.sequence >= point.sequence { return }
        var head: SegmentPoint? = point
        let isWanted = self.author.takesBack(transaction.segment(point.segment).introduction)
        if !isWanted || self.author.scope.label != nil {
            head = try transaction.lastUndo(
                in: self.author.scope,
                on: point.segment,
                upTo: point.sequence
            )?.point
        }
        if isWanted, let label = self.author.scope.label,
            let last = try transaction.lastChange(by: label, on: point.segment, upTo: point.sequence),
            last.sequence > head?.sequence ?? 0
        {
            head = last
        }
        self.heads[point.segment] = try head.map { head throws(StoreError) in
            try transaction.firstOperation(of: head)
        }
    }
}
