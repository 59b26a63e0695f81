internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Synchronization

/// What users do with the past.
extension World {
    func perform(_ action: HistoryAction, on machine: Machine) {
        guard machine.isUp, machine.hostile == nil else { return }
        self.record.count(.historyUsed)
        switch action {
        case .undo: self.reverse(isRedo: false, on: machine)
        case .redo: self.reverse(isRedo: true, on: machine)
        case .act(let program, let isNew): machine.program.act(program, isNew: isNew)
        case .remember:
            let found = machine.look { transaction throws(StoreError) in
                try RecordedVersion.frontier(of: &transaction)
            }
            machine.remembered = found
            self.recordVersion(of: machine)
        case .bringBack(let object): self.bringBack(Workload.object(object), on: machine)
        case .compact(let keeping): self.compact(keeping: keeping.milliseconds, on: machine)
        case .forget(let object, let name): self.forget(name, of: Workload.object(object), on: machine)
        }
    }

    /// Drops what was replaced, step by step; the process may end at any call of the store.
    private func compact(keeping milliseconds: UInt64, on machine: Machine) {
        self.record.count(.historyCompacted)
        self.hasCompacted = true
        let moment = machine.moment(at: self.time)
        do throws(StoreError) {
            guard
                let begun = try machine.node?.beginCompaction(
                    keeping: milliseconds,
                    awaitingWithin: 0,
                    isDryRun: false,
                    at: moment
                )
            else { return }
            var run = begun
            while !run.isDone { try machine.node?.step(&run, at: moment) }
            if run.summary.droppedWriteCount > 0 { self.record.mark(.valuesDropped) }
        } catch {
            self.record.mark(.storeFailed)
        }
        // Whatever came of it, the node notices.
        self.handle(machine, .timer)
    }

    /// Has the past of a property erased on all machines; what is found of it in the end is a fault.
    private func forget(_ name: String, of object: ObjectID, on machine: Machine) {
        self.record.count(.pastErased)
        self.hasCompacted = true
        let notes = Notes<Int64>()
        let request = WriteRequest(id: self.work.nextRequestID()) { local throws(WriteRefusal) in
            notes.content = try local.erasePast(of: name, on: object)
        }
        self.handle(machine, .write([request]))
        if let count = notes.content, count > 0, self.isDurable(request.id, on: machine) {
            self.record.mark(.pastErased)
        }
    }

    /// Takes the last action back that the machine's program has done, or does one again, and looks at each change of
    /// that at once.
    ///
    /// It stops after some changes, as if the process had ended: the next one goes on with the rest.
    /// `branch`: the branch; nil for the main timeline.
    func reverse(isRedo: Bool, on machine: Machine, _ branch: BranchID? = nil) {
        var action = ActionContext(label: machine.program.label)
        var rest: UndoRest?
        for _ in 0..<World.undonePieceCountMax {
            guard let (start, left) = self.reverse(rest, isRedo: isRedo, on: machine, branch, as: action) else {
                return
            }
            action.start = action.start ?? start
            guard let left else { return }
            self.record.mark(.undoneInPieces)
            rest = left
        }
    }

    private static let undonePieceCountMax = 3

    /// Takes one transaction back; returns when the action began that does it, and what is left of the action, if that
    /// is known.
    private func reverse(
        _ rest: UndoRest?,
        isRedo: Bool,
        on machine: Machine,
        _ branch: BranchID?,
        as action: ActionContext
    ) -> (start: Stamp?, rest: UndoRest?)? {
        let (founder, now) = (machine.founder, machine.clock.wall(at: self.time))
        let notes = Notes<(before: UndoCheck.State, step: UndoneStep?, device: DeviceID)>()
        let request = WriteRequest(id: self.work.nextRequestID(), branch: branch, action: action) {
            local throws(WriteRefusal) in
            let before = try local.readCommitted { transaction throws(StoreError) in
                try UndoCheck.State(of: branch, in: &transaction, founder: founder, now: now)
            }
            var step: UndoneStep?
            if let rest { step = try local.reverse(rest) } else { step = try local.reverse(isRedo: isRedo) }
            notes.content = (before, step, local.device)
        }
        self.handle(machine, .write([request]))
        guard let (before, step, device) = notes.content, self.isDurable(request.id, on: machine) else { return nil }
        let after = machine.look { transaction throws(StoreError) in
            try UndoCheck.State(of: branch, in: &transaction, founder: founder, now: now)
        }
        let reports = step?.reports ?? []
        // A chain may begin with it in each circle.
        guard let after, after.follows(before, by: UInt64(reports.count), opensChains: self.isShared) else {
            return nil
        }
        if !reports.isEmpty { self.record.mark(branch != nil ? .undoneOnBranch : isRedo ? .redone : .undone) }
        if reports.count > 1 { self.record.mark(.undoneInSeveralCircles) }
        if self.isShared, !reports.isEmpty { self.record.mark(.sharedUndone) }
        let left = (self.acknowledged?.receipt.start, step?.rest)
        // What was dropped cannot be brought back, which the model does not know.
        guard !self.hasCompacted else { return step == nil ? nil : left }
        if reports.contains(where: { !$0.kept.isEmpty }) { self.record.mark(.undoKept) }
        var check = UndoCheck(
            before: before,
            after: after,
            reports: reports,
            isRedo: isRedo,
            device: device,
            program: action.label
        )
        check.hasKept = self.oracles.undos.hasKept
        self.note(.undo, check.problem ?? machine.undos.problem(with: check), on: machine)
        for report in reports { self.oracles.undos.note(report) }
        return step == nil ? nil : left
    }

    /// Makes an object what it was when the peer's user last kept a state in mind.
    private func bringBack(_ object: ObjectID, on machine: Machine) {
        guard let remembered = machine.remembered else { return }
        let notes = Notes<(UndoCheck.State, [ObjectID: VisibleObject])>()
        let (founder, now) = (machine.founder, machine.clock.wall(at: self.time))
        let request = WriteRequest(id: self.work.nextRequestID()) { local throws(WriteRefusal) in
            let view = try local.readCommitted { transaction throws(StoreError) -> HistoryView? in
                try RecordedVersion.seen(remembered, in: &transaction).map { HistoryView(seen: $0) }
            }
            guard let view else { return }
            let before = try local.readCommitted { transaction throws(StoreError) in
                try UndoCheck.State(of: nil, in: &transaction, founder: founder, now: now)
            }
            let then = try local.readCommitted { transaction throws(StoreError) in
                try VisibleObject.subtree(of: object, at: view, in: transaction)
            }
            _ = try local.restore(object, to: view)
            notes.content = (before, then)
        }
        self.handle(machine, .write([request]))
        guard let (before, then) = notes.content, self.isDurable(request.id, on: machine) else { return }
        let after = machine.look { transaction throws(StoreError) in
            try UndoCheck.State(of: nil, in: &transaction, founder: founder, now: now)
        }
        guard let after, after.follows(before, by: 1, opensChains: self.isShared) else { return }
        self.record.mark(.broughtBack)
        for (id, object) in then.sorted(by: { $0.key < $1.key })
        where after.visible[id]?.properties != object.properties {
            return self.note(.restoration, "\(id), brought back, is not what it was", on: machine)
        }
    }

    /// Whether a write was acknowledged on a machine whose disk keeps its promises, and which is still there.
    private func isDurable(_ request: RequestID, on machine: Machine) -> Bool {
        machine.isUp && !machine.isTainted && self.acknowledged?.request == request
    }
}

/// What the body of a write has seen: it runs inside of the node.
private final class Notes<Content: Sendable>: Sendable {
    private let kept = Mutex<Content?>(nil)

    var content: Content? {
        get { self.kept.withLock { $0 } }
        set { self.kept.withLock { $0 = newValue } }
    }
}

extension VisibleObject {
    /// An object, and what was visible below it, in a state of the past.
    fileprivate static func subtree(
        of object: ObjectID,
        at view: HistoryView,
        in transaction: some StoreTransaction
    ) throws(StoreError) -> [ObjectID: VisibleObject] {
        var past = CombinedState(view, of: transaction)
        guard let root = try past.existingObjectIndex(of: object) else { return [:] }
        let ids = try StateExport.subtree(root, in: &past).map { index throws(StoreError) in try past.object(index).id }
        return try VisibleObject.all(of: &past).filter { ids.contains($0.key) }
    }
}
