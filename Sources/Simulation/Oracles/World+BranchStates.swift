internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// The branches of a store, with the state of each.
struct BranchStates: Hashable {
    /// What is applied, by what every machine calls it: a branch shows that.
    private var applied: Set<FrontierEntry> = []
    /// What is stored: that may keep a branch open.
    private var stored: Frontier
    private(set) var branches: [Branch] = []

    struct Branch: Hashable {
        var opening: BranchOpening
        var isClosed: Bool
        var export: [UInt8]
    }

    init(of transaction: inout some StoreTransaction) throws(StoreError) {
        self.stored = try Frontier(of: &transaction)
        for entry in transaction.branches.all {
            var state = CombinedState(try transaction.view(of: entry.opening.id), of: transaction)
            try state.requireComplete()
            let export = try StateExport.json(of: &state)
            let isClosed = !transaction.isOpen(entry.opening.id)
            self.branches.append(Branch(opening: entry.opening, isClosed: isClosed, export: export))
        }
        guard !self.branches.isEmpty else { return }
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            let last = SegmentPoint(segment: segment, sequence: progress.appliedSequence)
            guard progress.hasApplied, let hash = try transaction.hash(at: last) else { continue }
            let replica = transaction.replicaID(segment)
            self.applied.insert(FrontierEntry(replica: replica, sequence: last.sequence, hash: hash))
        }
    }

    /// Whether both have the same to show.
    func isAt(_ other: BranchStates) -> Bool { self.applied == other.applied && self.stored == other.stored }

    /// How another store with the same changes shows a branch otherwise, in words; nil if it does not.
    func difference(from other: BranchStates) -> String? {
        guard self.branches.map(\.opening) == other.branches.map(\.opening) else { return "they know other branches" }
        for (mine, theirs) in zip(self.branches, other.branches) where mine != theirs {
            let name = mine.opening.name
            if mine.isClosed != theirs.isClosed { return "only one of them lists \(name)" }
            return "the state of \(name): " + ModelWords.firstDifference(mine.export, theirs.export)
        }
        return nil
    }
}

extension World {
    /// In how many runs in a hundred with branches the naive model reads them in the end.
    private static let branchModelPercent = 60

    /// P36: machines that have the same show the same branches, and each as the naive model does.
    func checkBranches(_ core: [Machine]) {
        guard self.record.saw(.branchesUsed) else { return }
        var first: (machine: Int, states: BranchStates)?
        for machine in core where !self.record.hasFatalFinding {
            let read = self.readPast(of: machine) { transaction throws(StoreError) in
                try BranchStates(of: &transaction)
            }
            guard let states = read, !states.branches.isEmpty else { continue }
            if let first, first.states.isAt(states), let difference = first.states.difference(from: states) {
                let message = "machines \(first.machine) and \(machine.number) show branches differently: \(difference)"
                self.record.find(.branchDiffers, message)
            }
            first = first ?? (machine.number, states)
        }
        guard let openings = first?.states.branches.map(\.opening), !self.record.hasFatalFinding else { return }
        self.record.mark(.branchesCompared)
        if openings.contains(where: { $0.parent != nil }) { self.record.mark(.branchOfBranch) }
        guard self.tape.chance(World.branchModelPercent, .oracles) || self.comparesAll else { return }
        let machine = core[self.tape.below(core.count, .oracles)]
        let branches = [nil] + openings.map { Optional($0.id) }
        self.compareBranches(of: machine, branches, changeCountMax: World.modelChangeCountMax, isSettled: true)
    }

    /// P36: a timeline (nil: the main one) shows what it would if devices had been offline since their branches began,
    /// had come back where they were merged, and nobody knew of branches.
    func compareBranches(of machine: Machine, _ branches: [BranchID?], changeCountMax: Int, isSettled: Bool) {
        // The model of branches is of one circle.
        guard !World.hasShortNames, !self.isShared else { return }
        let (founder, now) = (machine.founder, machine.clock.wall(at: self.time))
        let found = self.readPast(of: machine) { transaction throws(StoreError) -> String? in
            guard !StateChecks.hasAppliedHeld(at: now, in: transaction) else { return nil }
            // A member that lies may have dropped what nobody else has; the model does not know what that showed.
            guard try transaction.isComplete() else { return nil }
            if !isSettled, try StateChecks.isWaiting(of: founder, in: &transaction) { return nil }
            let count = transaction.segmentIndices.reduce(0) {
                $0 + Int(clamping: transaction.progress(of: $1).storedSequence)
            }
            guard count <= changeCountMax else { return nil }
            let history = try LogReading(of: &transaction, founder: founder, now: now).history
            let verdicts = history.verdicts()
            for branch in branches {
                if let branch, transaction.isOpen(branch) != history.isOpen(branch, verdicts) {
                    let name = transaction.branches[branch]?.opening.name ?? "\(branch)"
                    return "\(name) is \(transaction.isOpen(branch) ? "open" : "closed") and should not be"
                }
                let actual = try VisibleObject.all(on: branch, in: &transaction)
                let expected = VisibleObject.all(of: NaiveModel(history.madeOffline(on: branch, verdicts)))
                guard let difference = World.difference(actual, expected) else { continue }
                let name = branch.flatMap { transaction.branches[$0]?.opening.name } ?? "the main timeline"
                return "\(name) is not what it would be if its edits had been made offline: \(difference)"
            }
            return nil
        }
        self.note(.branchDiffers, found, on: machine)
    }
}
