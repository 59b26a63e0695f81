internal import CRDTCore
internal import Engine
internal import MergeModel

/// Which changes of a history are taken back, by what the history says and without regard to speed.
///
/// All devices of a world are of one user.
struct UndoneChanges {
    private let origin: NaiveHistory
    /// By the numbers of changes: those that are taken back, and those that say so of another.
    private(set) var undone: Set<Int> = []
    private(set) var marks: Set<Int> = []

    init(_ history: NaiveHistory) {
        self.origin = history
        let verdicts = history.verdicts()
        var targets: [Int: Int] = [:]
        for (number, change) in history.changes.enumerated() where verdicts.stamps[number] != nil {
            guard case .undo(let undo)? = change.edits.first, !undo.isRedo,
                let target = history.number(of: undo.hash)
            else { continue }
            targets[number] = target
        }
        var isUndone: [Int: Bool] = targets.reduce(into: [:]) { $0[$1.value] = false }
        let ordered = verdicts.stamps.sorted { left, right in
            let (mine, theirs) = (history.changes[left.key], history.changes[right.key])
            return (left.value, mine.replica, mine.sequence, mine.hash)
                < (right.value, theirs.replica, theirs.sequence, theirs.hash)
        }
        for (number, _) in ordered {
            if let target = targets[number] {
                isUndone[target] = true
                self.marks.insert(number)
            } else if case .undo(let undo)? = history.changes[number].edits.first, undo.isRedo,
                let target = history.number(of: undo.hash).flatMap({ targets[$0] })
            {
                isUndone[target] = false
                self.marks.insert(number)
            }
        }
        self.undone = Set(isUndone.filter(\.value).keys)
    }

    /// The history as if nothing that is taken back had been written, nor one change more.
    func history(without other: Int? = nil) -> NaiveHistory {
        self.origin.mappingEdits { number, edits in
            self.undone.contains(number) || self.marks.contains(number) || number == other ? [] : edits
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
