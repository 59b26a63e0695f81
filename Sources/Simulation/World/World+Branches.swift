internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// What users do with branches of the workspace.
extension World {
    func perform(_ action: BranchAction, on machine: Machine) {
        guard machine.isUp, machine.hostile == nil else { return }
        self.record.count(.branchesUsed)
        switch action {
        case .open(let branch, let parent, let isOfThePast):
            self.open(branch, leaving: parent, at: isOfThePast ? machine.remembered : nil, on: machine)
        case .write(let branch, let steps): self.write(steps, onBranch: branch, of: machine)
        case .reverse(let branch, let isRedo):
            guard let branch = self.branch(branch, of: machine) else { return }
            self.reverse(isRedo: isRedo, onBranch: branch, of: machine)
        case .merge(let branch, let target): self.merge(branch, into: target, on: machine)
        case .close(let branch):
            guard let branch = self.branch(branch, of: machine) else { return }
            let request = WriteRequest(id: self.work.nextRequestID()) { local throws(WriteRefusal) in
                try local.closeBranch(branch, discardingAtMost: .max)
            }
            self.handle(machine, .write([request]))
        }
    }

    private static func name(ofBranch number: Int) -> String { "b\(number)" }

    /// The branch with a number that a store knows of and that is open; of several, the one with the lowest id.
    static func branch(_ number: Int, in transaction: borrowing some StoreTransaction) -> BranchID? {
        let name = World.name(ofBranch: number)
        return transaction.openBranches.first { $0.opening.name == name }?.opening.id
    }

    private func branch(_ number: Int, of machine: Machine) -> BranchID? {
        machine.look { transaction throws(StoreError) in World.branch(number, in: transaction) }
    }

    /// Creates a branch, which may have the name of another.
    private func open(_ number: Int, leaving parent: Int?, at past: Frontier?, on machine: Machine) {
        let parentID = parent.flatMap { self.branch($0, of: machine) }
        guard parent == nil || parentID != nil else { return }
        let name = World.name(ofBranch: number)
        let request = WriteRequest(id: self.work.nextRequestID()) { local throws(WriteRefusal) in
            var base: [SegmentPoint]?
            if let past {
                base = try local.readCommitted { store throws(StoreError) -> [SegmentPoint]? in
                    try RecordedVersion.seen(past, in: &store).map { seen throws(StoreError) in
                        try store.heads(in: seen)
                    }
                }
            }
            _ = try local.openBranch(named: name, leaving: parentID, at: base)
        }
        self.handle(machine, .write([request]))
    }

    /// Writes on a branch: nothing of that shows on the main timeline of the machine.
    private func write(_ steps: [WorkStep], onBranch number: Int, of machine: Machine) {
        guard let branch = self.branch(number, of: machine) else { return }
        let isSeen = self.mainTimelineStays(on: machine) {
            let request = self.work.request(steps, on: branch, as: machine.program.context(on: branch))
            self.handle(machine, .write([request]))
            self.noteAction(of: request, on: machine)
        }
        if isSeen { self.record.mark(.branchWritten) }
    }

    /// Takes back, or does again, on a branch.
    private func reverse(isRedo: Bool, onBranch branch: BranchID, of machine: Machine) {
        _ = self.mainTimelineStays(on: machine) { self.reverse(isRedo: isRedo, on: machine, branch) }
    }

    /// Looks whether the main timeline shows anything of what is written to a branch; returns whether that could be
    /// seen.
    private func mainTimelineStays(on machine: Machine, _ write: () -> Void) -> Bool {
        let before = self.mainTimeline(of: machine)
        write()
        guard let before, let after = self.mainTimeline(of: machine), before.applied == after.applied else {
            return false
        }
        guard before.export != after.export else { return true }
        let difference = ModelWords.firstDifference(before.export, after.export)
        let message = "machine \(machine.number) shows an edit of a branch on the main timeline: \(difference)"
        self.record.find(.branchDiffers, message)
        return true
    }

    /// What is applied of the main timeline, and what it shows; nil if something waits, which any write may settle.
    private func mainTimeline(of machine: Machine) -> (applied: [UInt64], export: [UInt8])? {
        guard machine.isUp, !machine.isTainted, let export = machine.export else { return nil }
        let found = machine.look { transaction throws(StoreError) -> [UInt64]? in
            guard try !StateChecks.isWaiting(of: machine.founder, in: &transaction) else { return nil }
            var applied: [UInt64] = []
            for segment in transaction.segmentIndices {
                let progress = transaction.progress(of: segment)
                if progress.branch == nil, progress.hasApplied { applied.append(progress.appliedSequence) }
            }
            return applied
        }
        return found.map { ($0, export) }
    }

    /// Merges a branch, or the main timeline for nil: as if its edits had been made offline.
    private func merge(_ number: Int?, into target: Int?, on machine: Machine) {
        let source = number.flatMap { self.branch($0, of: machine) }
        let into = target.flatMap { self.branch($0, of: machine) }
        guard number == nil || source != nil, target == nil || into != nil else { return }
        let action = machine.program.context(on: into)
        let request = WriteRequest(id: self.work.nextRequestID(), branch: into, action: action) {
            local throws(WriteRefusal) in
            _ = try local.merge(source)
        }
        self.handle(machine, .write([request]))
        self.noteAction(of: request, on: machine)
        guard machine.isUp, !machine.isTainted, self.acknowledged?.request == request.id else { return }
        self.compareBranches(of: machine, [into], changeCountMax: World.mergedChangeCountMax, isSettled: false)
        let hasMerged = machine.look { transaction throws(StoreError) in StateChecks.hasMerged(in: transaction) }
        if into == nil, hasMerged == true { self.record.mark(.branchMerged) }
    }

    /// A merge is compared with the naive model at once if the log has no more changes.
    private static let mergedChangeCountMax = 80
}
