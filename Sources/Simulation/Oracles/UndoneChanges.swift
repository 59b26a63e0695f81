internal import CRDTCore
internal import Engine
internal import MergeModel

/// Which changes of a history are taken back, by what the history says and without regard to speed.
///
/// A word about what another device has written counts if edits come with it. All devices of a world are of one user.
struct UndoneChanges {
    private let origin: NaiveHistory
    /// What counts, in its order.
    private let ordered: [Int]
    /// By the numbers of changes that say so, the change that each takes back, or does again.
    private var changes: [Int: Int] = [:]
    /// By the numbers of changes: those that are taken back, and those that say so of another.
    private(set) var undone: Set<Int> = []
    var marks: Set<Int> { Set(self.changes.keys) }

    init(_ history: NaiveHistory) {
        self.origin = history
        let verdicts = history.verdicts()
        let sorted = verdicts.stamps.sorted { left, right in
            let (mine, theirs) = (history.changes[left.key], history.changes[right.key])
            return (left.value, mine.replica, mine.sequence, mine.hash)
                < (right.value, theirs.replica, theirs.sequence, theirs.hash)
        }
        self.ordered = sorted.map(\.key)
        // By the numbers of changes that take something back: who had done that, or merged it.
        var (isUndone, says, doers): ([Int: Bool], [Int: Bool], [Int: Int]) = ([:], [:], [:])
        for number in self.ordered {
            guard case .undo(let undo)? = history.changes[number].edits.first,
                let target = history.number(of: undo.target.hash),
                verdicts.contexts[number]?.contains(target) ?? false,
                let user = history.user(of: number), history.user(of: target) == user,
                let change = self.changes[target] ?? (undo.isRedo ? nil : target)
            else { continue }
            let merge = undo.merge.flatMap { history.number(of: $0.hash) }
            let doer = (undo.isRedo ? doers[target] : merge) ?? change
            doers[number] = doer
            if history.device(of: number) != history.device(of: doer) {
                guard history.changes[number].edits.contains(where: { $0.object != nil }) else { continue }
            }
            // What takes a word back says the opposite.
            says[number] = !(says[target] ?? false)
            isUndone[change] = says[number]
            self.changes[number] = change
        }
        self.undone = Set(isUndone.filter(\.value).keys)
    }

    /// Whether what a merge had brought was taken back: a history without that is none without some of its changes.
    var hasMerges: Bool {
        self.marks.contains { number in
            if case .undo(let undo)? = self.origin.changes[number].edits.first { undo.merge != nil } else { false }
        }
    }

    /// The history as if nothing that is taken back had been written, nor a change more, or without that one.
    func history(taking other: Int? = nil, isUndone: Bool = true) -> NaiveHistory {
        self.origin.mappingEdits { number, edits in
            let isGone = number == other ? isUndone : self.undone.contains(number)
            return isGone || self.marks.contains(number) ? [] : edits
        }
    }

    /// Whether each of those that take something back had seen all other edits, or was seen by them: only then is the
    /// state what it would be without what was taken back.
    var isInOrder: Bool {
        let contexts = self.origin.verdicts().contexts
        for mark in self.marks {
            for (number, change) in self.origin.changes.enumerated() where number != mark {
                guard change.edits.contains(where: { $0.object != nil }) else { continue }
                let isSeen = contexts[mark]?.contains(number) ?? false
                if !isSeen, contexts[number]?.contains(mark) != true { return false }
            }
        }
        return true
    }
}

extension ModelWords {
    static func short(_ history: NaiveHistory, _ number: Int) -> String {
        "\(ModelWords.short(history.changes[number].replica)):\(history.changes[number].sequence)"
    }
}

/// What users took back in a run.
struct UndoneOperations {
    private var count = 0
    private(set) var hasKept = false

    mutating func note(_ report: UndoReport) {
        self.count += 1
        if !report.kept.isEmpty { self.hasKept = true }
    }

    /// Whether everything that was taken back was taken back in full, as far as is known.
    func areWhole(in world: World) -> Bool {
        self.count > 0 && !self.hasKept && world.machines.allSatisfy { !$0.isTainted && $0.hostile == nil }
    }
}
