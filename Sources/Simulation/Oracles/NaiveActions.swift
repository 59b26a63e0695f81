internal import CRDTCore
internal import Engine
internal import MergeModel

/// What one program on one device has done on a timeline, action by action, by what a log says and without regard to
/// speed.
struct NaiveActions {
    private let log: NaiveHistory
    private let verdicts: NaiveHistory.Verdicts
    private let branch: BranchID?
    private let closed: Set<Circle>
    /// The device's changes on the timeline in their order; nil if one had not seen the one before in its circle.
    private let own: [Int]?
    private var isUndone: [Subject: Bool] = [:]
    /// By the numbers of changes that take something back or do it again: what that is, and whether they are redos.
    private var words: [Int: (subject: Subject, isRedo: Bool)] = [:]
    /// Whether some device has taken back what another one has done.
    private var crosses = false

    /// A change, or what a merge had brought of it.
    private struct Subject: Hashable {
        var change: Int
        var merge: Int?
    }

    /// A change that is taken back or done again, and the one that is to be taken back for that.
    typealias Next = (change: Int, target: Int)

    /// `closed`: circles of which nothing is taken back, nor anything that was done with that.
    init(
        _ log: NaiveHistory,
        _ verdicts: NaiveHistory.Verdicts,
        of device: DeviceID,
        on branch: BranchID?,
        besides closed: Set<Circle>
    ) {
        (self.log, self.verdicts, self.branch, self.closed) = (log, verdicts, branch, closed)
        let sorted = verdicts.stamps.sorted { left, right in
            let (mine, theirs) = (log.changes[left.key], log.changes[right.key])
            return (left.value, mine.replica, mine.sequence, mine.hash)
                < (right.value, theirs.replica, theirs.sequence, theirs.hash)
        }.map(\.key)
        var base: Set<Int> = []
        if let branch { base = log.closure(of: log.base(of: branch).filter { verdicts.stamps[$0] != nil }, verdicts) }
        let counted = log.closure(of: sorted.filter { log.branch(of: $0) == branch } + base, verdicts)
        var (own, lasts): ([Int]?, [Circle: Int]) = ([], [:])
        for number in sorted where log.device(of: number) == device && log.branch(of: number) == branch {
            let circle = log.circle(of: number)
            if let last = lasts.updateValue(number, forKey: circle), verdicts.contexts[number]?.contains(last) != true {
                own = nil
            }
            own?.append(number)
        }
        self.own = own
        var doers: [Int: Int] = [:]
        for number in sorted where counted.contains(number) {
            guard case .undo(let undo)? = log.changes[number].edits.first,
                let target = log.number(of: undo.target.hash), !undo.isRedo || self.words[target] != nil
            else { continue }
            let merge = undo.merge.flatMap { log.number(of: $0.hash) }
            let known = undo.isRedo ? self.words[target]?.subject : nil
            let subject = known ?? Subject(change: target, merge: merge)
            let doer = (undo.isRedo ? doers[target] : merge) ?? subject.change
            doers[number] = doer
            if log.device(of: doer) != log.device(of: number) { self.crosses = true }
            self.words[number] = (subject, undo.isRedo)
            self.isUndone[subject] = !undo.isRedo
        }
    }

    /// What is taken back next, or done again next; nil twice if there is nothing, and once if it is not known.
    func next(isRedo: Bool, by label: String) -> Next?? {
        guard let own = self.own, !self.crosses else { return nil }
        let starts = own.map { self.start(of: $0, among: own) }
        for first in own.reversed() where self.label(of: first) == label {
            let isClosed = self.closed.contains(self.log.circle(of: first))
            if isRedo, !isClosed, self.first(of: first) == first, !self.edits(by: first).isEmpty { return .some(nil) }
            let pieces = zip(own, starts).filter { $0.1 == first }.map(\.0)
            if pieces.contains(where: { self.closed.contains(self.log.circle(of: $0)) }) { continue }
            let edits = pieces.flatMap { self.edits(by: $0) }
            if isRedo {
                if !edits.isEmpty { return .some(nil) }
                let open = pieces.last { piece in
                    guard let word = self.words[piece], !word.isRedo else { return false }
                    return self.isUndone[word.subject] ?? false
                }
                if let open, let subject = self.words[open]?.subject {
                    return .some((self.shown(subject.change), open))
                }
            } else if let open = edits.last(where: { !(self.isUndone[$0] ?? false) }) {
                return .some((self.shown(open.change), open.change))
            }
        }
        return .some(nil)
    }

    /// The change with which the action of a change began, on whatever chain of its device.
    private func start(of number: Int, among own: [Int]) -> Int {
        let first = self.first(of: number)
        guard case .action(let statement)? = self.log.changes[first].edits.last, let start = statement.start,
            // An undo has ended what its action had written before it there.
            !self.log.path(to: first).contains(where: { earlier in
                guard earlier != first, case .action(let other)? = self.log.changes[earlier].edits.last else {
                    return self.log.changes[earlier].stamp == start
                }
                return other.start == start || self.log.changes[earlier].stamp == start
            })
        else { return first }
        let found = own.prefix { $0 != first }.first { other in
            self.log.changes[other].stamp == start && self.log.path(to: other)[0] != self.log.path(to: first)[0]
                && self.first(of: other) == other && self.label(of: other) == statement.label
        }
        guard let found, self.words[first] != nil || !(self.isUndone[Subject(change: found)] ?? false) else {
            return first
        }
        return found
    }

    /// Of a change that takes something back, that: a report names edits.
    private func shown(_ change: Int) -> Int { self.words[change]?.subject.change ?? change }

    /// What the program of a change is called.
    private func label(of number: Int) -> String {
        for earlier in self.log.path(to: number).reversed() {
            if case .action(let statement)? = self.log.changes[earlier].edits.last { return statement.label }
        }
        return ""
    }

    /// The change with which the action of a change began, on its own chain.
    private func first(of number: Int) -> Int {
        guard case .action(let statement)? = self.log.changes[number].edits.last, let start = statement.start else {
            return number
        }
        let before = self.log.path(to: number).filter { $0 != number }
        let named = before.first { earlier in
            guard case .action(let other)? = self.log.changes[earlier].edits.last else { return false }
            return other.start == start
        }
        let began = before.first { self.log.changes[$0].stamp == start }
        guard let first = named.map({ self.first(of: $0) }) ?? began, self.first(of: first) == first,
            self.label(of: first) == statement.label
        else { return number }
        if case .undo? = self.log.changes[number].edits.first { return first }
        // An undo ends the actions that it could have taken back.
        let isEnded = before.drop { $0 != first }.dropFirst().contains { between in
            guard self.words[between] != nil, case .undo(let undo)? = self.log.changes[between].edits.first else {
                return false
            }
            let scope = undo.scope ?? UndoScope(device: self.log.device(of: between), label: self.label(of: between))
            return (scope.device.map { $0 == self.log.device(of: number) } ?? true)
                && (scope.label.map { $0 == statement.label } ?? true)
        }
        return isEnded ? number : first
    }

    /// A change, if it edits anything and takes nothing back; or those that it merges and that edit anything, in their
    /// order.
    private func edits(by number: Int) -> [Subject] {
        if self.isEdit(number) { return [Subject(change: number)] }
        guard !self.log.merged(by: number).isEmpty, let context = self.verdicts.contexts[number] else { return [] }
        let path = Set(self.log.path(to: number)).subtracting([number])
        var known = path.union(context.filter { self.log.branch(of: $0) == self.branch })
        known = self.log.closure(of: Array(known), self.verdicts)
        if let branch = self.branch {
            let base = self.log.base(of: branch).filter { self.verdicts.stamps[$0] != nil }
            known.formUnion(self.log.closure(of: base, self.verdicts))
        }
        let now = self.log.closure(of: [number], self.verdicts)
        let merged = self.inOrder(now.subtracting(known).filter { self.log.branch(of: $0) != self.branch })
        return merged.filter { self.isEdit($0) || self.words[$0] != nil && self.isEdit($0, at: 1) }
            .map { Subject(change: $0, merge: number) }
    }

    private func inOrder(_ numbers: Set<Int>) -> [Int] {
        numbers.filter { self.verdicts.stamps[$0] != nil }.sorted { left, right in
            let (mine, theirs) = (self.log.changes[left], self.log.changes[right])
            let (own, other) = (self.verdicts.stamps[left] ?? .zero, self.verdicts.stamps[right] ?? .zero)
            return (own, mine.replica, mine.sequence, mine.hash) < (other, theirs.replica, theirs.sequence, theirs.hash)
        }
    }

    private func isEdit(_ number: Int, at index: Int = 0) -> Bool {
        guard let edit = self.log.changes[number].edits.dropFirst(index).first else { return false }
        return edit.object != nil || edit.kind == .erase
    }

    /// The change with a number, as a report names it.
    func point(_ number: Int) -> Point { self.log.changes[number].point }

    func words(_ number: Int) -> String { ModelWords.short(self.log, number) }
}
