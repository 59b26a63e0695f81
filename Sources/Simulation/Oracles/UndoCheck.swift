internal import CRDTCore
internal import Engine
internal import MergeModel

/// P21: what one undo or redo did to the state of the device that did it.
struct UndoCheck {
    let before: State
    let after: State
    /// What was done in each circle; empty if there was nothing to take back.
    let reports: [UndoReport]
    let isRedo: Bool
    /// The device that does it, and the program.
    let device: DeviceID
    let program: String
    /// Whether an earlier undo has kept something, which stays then for later ones.
    var hasKept = false

    /// A log is merged by the naive model only if it has no more changes.
    private static let modelChangeCountMax: UInt64 = 80

    /// What shows on a device, of the main timeline or of a branch, and what its log says if that is short.
    struct State: Sendable {
        let visible: [ObjectID: VisibleObject]
        /// As if the timeline were all that there is.
        let history: NaiveHistory?
        private let log: NaiveHistory?
        private let branch: BranchID?
        /// Circles of which nothing is taken back.
        private let closed: Set<Circle>
        private let applied: [UInt64]
        /// Whether everything that is stored is applied.
        let isWhole: Bool

        /// `branch`: the branch; nil for the main timeline.
        init(
            of branch: BranchID?,
            in transaction: inout some StoreTransaction,
            founder: UserID,
            now: WallTime
        ) throws(StoreError) {
            self.branch = branch
            var state = CombinedState(try transaction.view(of: branch), of: transaction)
            if branch != nil { try state.requireComplete() }
            self.visible = try VisibleObject.all(of: &state)
            let circles = transaction.circles
            self.closed = Set(circles.closed.map { circles[$0] })
            let segments = transaction.segmentIndices.map { transaction.progress(of: $0) }
            self.isWhole = !segments.contains(where: \.isPending)
            self.applied = segments.map { $0.hasApplied ? $0.appliedSequence : 0 }
            let count = segments.reduce(0) { $0 &+ $1.storedSequence &+ 1 &- $1.firstSequence }
            guard count <= UndoCheck.modelChangeCountMax else {
                (self.history, self.log) = (nil, nil)
                return
            }
            let log = try LogReading(of: &transaction, founder: founder, now: now).history
            self.log = log
            // The model is of one circle.
            self.history = circles.count > 1 ? nil : log.madeOffline(on: branch, log.verdicts())
        }

        /// What a device has done on the timeline; nil if the log is long.
        func actions(of device: DeviceID) -> NaiveActions? {
            self.log.map { NaiveActions($0, $0.verdicts(), of: device, on: self.branch, besides: self.closed) }
        }

        /// Whether so many changes came on top of an earlier state and nothing else.
        ///
        /// `opensChains`: not counting those with which chains begin.
        func follows(_ earlier: State, by count: UInt64, opensChains: Bool = false) -> Bool {
            var news: UInt64 = 0
            for (number, sequence) in self.applied.enumerated() {
                let former = number < earlier.applied.count ? earlier.applied[number] : 0
                guard sequence >= former else { return false }
                news += sequence - former
                if opensChains, number >= earlier.applied.count, sequence > 0 { news -= 1 }
            }
            return news == count
        }

        /// Whether what is applied is the same.
        func isAt(_ other: State) -> Bool { self.branch == other.branch && self.applied == other.applied }
    }

    /// What should not have happened, in words; nil if all is well.
    var problem: String? {
        guard let first = self.reports.first else {
            let isSame = self.before.visible == self.after.visible
            return isSame ? self.anotherStep(nil) : "nothing was taken back, and the state changed"
        }
        return self.anotherStep(first.change) ?? self.touched ?? self.differenceFromModel(first)
    }

    /// What is taken back, or done again, although it is not what this device has done last, or taken back last.
    private func anotherStep(_ found: Point?) -> String? {
        guard self.before.isWhole, let actions = self.before.actions(of: self.device),
            let expected = actions.next(isRedo: self.isRedo, by: self.program)
        else { return nil }
        guard expected.map({ actions.point($0.change) }) != found else { return nil }
        let wanted = expected.map { actions.words($0.change) } ?? "nothing"
        let taken = found.map { "\(ModelWords.short($0.replica)):\($0.sequence)" } ?? "nothing"
        return "\(self.verb) of \(taken), and the last step is \(wanted)"
    }

    private var verb: String { self.isRedo ? "a redo" : "an undo" }

    /// What changed that the transaction had not written.
    private var touched: String? {
        let edits = self.reports.flatMap(\.edits)
        let objects = Set(edits.compactMap(\.object))
        let lives = Set(edits.filter { $0.kind == .create || $0.kind == .delete }.compactMap(\.object))
        for (id, now) in self.after.visible.sorted(by: { $0.key < $1.key }) {
            guard let old = self.before.visible[id] else {
                // What was deleted shows again with whatever is put below it.
                let isFilled = now.children.contains { self.before.visible[$0].map { $0.parent != id } ?? true }
                if objects.contains(id) || isFilled { continue }
                return "\(self.verb) shows \(id), which the transaction had not touched"
            }
            if lives.contains(id) { continue }
            let moves = edits.contains { if case .move(id, _) = $0 { true } else { false } }
            // Things of another circle stand below what comes and goes, and nothing is written there for that.
            let isBelow = [old.parent, now.parent].contains { $0.map { lives.contains($0) } ?? false }
            if !moves, !isBelow, old.parent != now.parent || old.position != now.position {
                let (former, latter) = (Self.place(of: old), Self.place(of: now))
                return "\(self.verb) moved \(id), which the transaction had not moved: from \(former) to \(latter)"
            }
            for name in Set(old.properties.keys).union(now.properties.keys).sorted()
            where old.properties[name] != now.properties[name] && !UndoCheck.writes(edits, name, of: id) {
                return "\(self.verb) changed \(name) of \(id), which the transaction had not written"
            }
        }
        for (id, old) in self.before.visible.sorted(by: { $0.key < $1.key }) where self.after.visible[id] == nil {
            let isEmptied = old.children.contains { self.after.visible[$0].map { $0.parent != id } ?? true }
            if objects.contains(id) || isEmptied { continue }
            return "\(self.verb) hides \(id), which the transaction had not touched"
        }
        return nil
    }

    private static func place(of object: VisibleObject) -> String {
        "\(object.parent.map { "\($0)" } ?? "the root") at \(object.position)"
    }

    private static func writes(_ edits: [Edit], _ name: ModelText, of object: ObjectID) -> Bool {
        edits.contains { edit in
            switch edit {
            case .set(object, let written, _), .unset(object, let written): ModelText(written) == name
            default: false
            }
        }
    }

    /// What is not as if the transaction had never been: what came back that somebody else had deleted, and properties
    /// that are neither what they would be, nor named as kept.
    private func differenceFromModel(_ report: UndoReport) -> String? {
        guard let history = self.before.history else { return nil }
        let undone = UndoneChanges(history)
        if report.isMerged || undone.hasMerges { return nil }
        guard let target = history.changes.firstIndex(where: { $0.point == report.change }) else {
            return "\(self.verb) names a change that is not there"
        }
        if undone.marks.contains(target) {
            return "\(self.verb) takes \(ModelWords.short(history, target)) for an edit"
        }
        let doesAgain = self.isRedo != report.isUndo
        guard undone.undone.contains(target) == doesAgain else {
            return "\(self.verb) of \(ModelWords.short(history, target)), which is\(doesAgain ? " not" : "") undone"
        }
        // An undo is an edit. What its author had not seen, or what it has kept, shows beside it afterwards; then the
        // state is not that of the model before this undo either.
        guard !self.hasKept, undone.isInOrder else { return nil }
        if !doesAgain, let words = self.keptWithoutEdit(report, target, undone, history) { return words }
        let ideal = VisibleObject.all(of: NaiveModel(undone.history(taking: target, isUndone: !doesAgain)))
        for id in self.after.visible.keys.sorted() where self.before.visible[id] == nil && ideal[id] == nil {
            return "\(self.verb) brings \(id) back, which is deleted then"
        }
        for edit in report.edits {
            let name: String
            switch edit {
            case .set(_, let written, _), .unset(_, let written): name = written
            default: continue
            }
            guard let id = edit.object, let now = self.after.visible[id], let wanted = ideal[id] else { continue }
            let isKept = report.kept.contains { $0.object == id && ($0.part == .object || $0.part == .property(name)) }
            let exact = ModelText(name)
            if !isKept, now.properties[exact] != wanted.properties[exact] {
                return "after \(self.verb) \(name) of \(id) is not what it would be if nothing else was taken back"
            }
        }
        return nil
    }

    /// What is left as edited since, although no edit that stands came beside or after the one that is taken back.
    private func keptWithoutEdit(
        _ report: UndoReport,
        _ target: Int,
        _ undone: UndoneChanges,
        _ history: NaiveHistory
    ) -> String? {
        let before = history.verdicts().contexts[target] ?? []
        let others = history.changes.indices.filter { number in
            number != target && !before.contains(number) && !undone.undone.contains(number)
                && !undone.marks.contains(number)
        }
        for kept in report.kept where kept.reason == .edited {
            guard case .property(let name) = kept.part else { continue }
            let isEdited = others.contains { number in
                history.changes[number].edits.contains { edit in
                    guard edit.object == kept.object else { return false }
                    return edit.kind == .create || edit.kind == .delete
                        || UndoCheck.writes([edit], ModelText(name), of: kept.object)
                }
            }
            if !isEdited { return "an undo leaves \(name) of \(kept.object) as edited since, and nobody has edited it" }
        }
        return nil
    }
}

/// The undos of a device one after the other, with nothing in between: a redo of each leads back.
struct UndoChain {
    private var last: UndoCheck.State?
    /// What showed before each undo that was not done again, and the program that took something back there.
    private var open: [(program: String, visible: [ObjectID: VisibleObject])] = []

    private static func words(_ object: VisibleObject?) -> String { object.map { "\($0)" } ?? "not there" }

    /// How a redo differs from what was before its undo, in words; nil if it does not.
    mutating func problem(with check: UndoCheck) -> String? {
        if let last = self.last, !check.before.isAt(last) { self.open = [] }
        self.last = check.after
        guard !check.reports.isEmpty else { return nil }
        guard check.isRedo else {
            self.open.append((check.program, check.before.visible.mapValues(\.created)))
            return nil
        }
        let found = check.after.visible.mapValues(\.created)
        guard let last = self.open.popLast() else { return nil }
        // Who does something again in another order than it was taken back comes through other states.
        guard last.program == check.program else {
            self.open = []
            return nil
        }
        let wanted = last.visible
        guard wanted != found else { return nil }
        let ids = Set(wanted.keys).union(found.keys).sorted()
        let id = ids.first { wanted[$0] != found[$0] }
        let words = id.map { "\($0): was \(Self.words(wanted[$0])), is \(Self.words(found[$0]))" } ?? ""
        return "a redo after an undo leaves something as it was not before, \(words)"
    }
}

extension VisibleObject {
    /// The same after somebody has created it: an object that no creation made, but edits of a member that lies, has no
    /// type, and an empty one when a redo has brought it back.
    fileprivate var created: VisibleObject {
        var object = self
        object.type = self.type ?? ModelText("")
        return object
    }
}
