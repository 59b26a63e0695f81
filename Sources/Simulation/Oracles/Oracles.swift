internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence
internal import SyncProtocol

/// Looks at the machines as a run goes on, and says what should not be.
struct Oracles {
    var acknowledged = AcknowledgedWrites()
    var versions = RecordedVersions()
    var undos = UndoneOperations()
    var secrets = Secrets()

    /// After an event: no frontier goes back, and nothing is applied before its causes.
    func look(at machine: Machine, in world: World) {
        guard !machine.isTainted, machine.node != nil else { return }
        // Where nothing was written, nothing has changed.
        let changeCount = machine.disk.changeCount
        guard machine.viewedChangeCount != changeCount else { return }
        machine.viewedChangeCount = changeCount
        let latest = machine.highestWall
        let found = world.read(machine) { transaction throws(StoreError) in
            let early = StateChecks.appliedTooEarly(after: latest, in: transaction)
            return (StoreContent(of: transaction), StateChecks.causality(in: transaction), early)
        }
        guard let (view, causality, early) = found else { return }
        world.note(.appliedTooEarly, early, on: machine)
        world.note(.frontierWentBack, view.regression(from: machine.view), on: machine)
        world.note(.causality, causality, on: machine)
        machine.view = view
        world.checkCircles(of: machine)
    }

    /// After a start: all that was durable is there, and means what it meant.
    func started(_ machine: Machine, in world: World) {
        self.look(at: machine, in: world)
        self.lookAtContexts(of: machine, in: world)
        for fault in machine.disk.takeShown() { world.record.count(fault) }
    }

    private func lookAtContexts(of machine: Machine, in world: World) {
        guard !machine.isTainted, machine.node != nil else { return }
        let found = world.read(machine) { transaction throws(StoreError) in
            try StateChecks.contexts(in: &transaction)
        }
        world.note(.causality, found, on: machine)
    }

    /// A caller was told that a write is durable.
    mutating func wrote(_ dot: Dot, on machine: Machine, in world: World) {
        do throws(StoreError) {
            // Two clocks that confirm each other differ by as much at most.
            let truth = MachineClock.truth(at: world.time)
            let bound = truth.advanced(byMilliseconds: HybridClock.skewMaxMilliseconds / 2).milliseconds
            let found = try machine.read { transaction throws(StoreError) -> [AcknowledgedWrites.Found] in
                // After a fork that is not noticed yet there may be others with the dot; all of them must count.
                var changes: [AcknowledgedWrites.Found] = []
                for place in transaction.places(of: dot.replica, sequence: dot.sequence) {
                    guard let hash = try transaction.hash(at: place) else { continue }
                    let claimed = try transaction.header(at: place)?.stamp ?? .zero
                    let entry = FrontierEntry(replica: dot.replica, sequence: dot.sequence, hash: hash)
                    let circle = transaction.circles[transaction.progress(of: place.segment).circle]
                    changes.append((entry, circle, isTimely: claimed.milliseconds <= bound))
                }
                return changes
            }
            guard let changes = found, !changes.isEmpty else {
                world.record.find(.lostWrite, "machine \(machine.number) acknowledged \(dot), which it does not hold")
                return
            }
            if machine.isTainted { return }
            for (change, circle, isTimely) in changes {
                self.acknowledged.add(change, in: circle, on: machine.number, isTimely: isTimely)
            }
        } catch {
            world.record.mark(.storeFailed)
        }
    }
}

/// What a machine holds: what of each chain, and what follows from that.
struct MachineState: Hashable {
    var frontier: Frontier
    var fingerprint: StateFingerprint
    /// What the program itself compares.
    var digest: [UInt64]
    /// The circles of which it is sent nothing any more, as it was told beside the log: what shows depends on that.
    var closed: Set<Circle>
}

/// What was read of a store, for as long as nothing is written there.
struct StoreReading {
    var incarnation: Int
    /// How often the disk had been changed.
    var changeCount: Int
    var frontier: Frontier?
    var export: [UInt8]?
}

extension Machine {
    /// The frontier of its store; nil if it cannot be read.
    var frontier: Frontier? {
        guard self.node != nil else { return nil }
        if let known = self.currentReading.frontier { return known }
        let found = self.look { transaction throws(StoreError) in try Frontier(of: &transaction) }
        self.currentReading.frontier = found
        return found
    }

    /// The state of its store in full; nil if it cannot be read.
    var export: [UInt8]? {
        guard self.node != nil else { return nil }
        if let known = self.currentReading.export { return known }
        let found = self.look { transaction throws(StoreError) in
            // What is put together from all circles.
            guard transaction.circles.count > 1 else { return try StateExport.json(of: &transaction) }
            var state = CombinedState(.present, of: transaction)
            return try StateExport.json(of: &state)
        }
        self.currentReading.export = found
        return found
    }

    private var currentReading: StoreReading {
        get {
            if let reading = self.reading, reading.incarnation == self.incarnation,
                reading.changeCount == self.disk.changeCount
            {
                return reading
            }
            return StoreReading(incarnation: self.incarnation, changeCount: self.disk.changeCount)
        }
        set { self.reading = newValue }
    }

    /// Whether its store is known to hold a change.
    func holds(_ change: FrontierEntry) -> Bool {
        guard self.node != nil else { return self.view.endsWith(change) }
        return self.look { transaction throws(StoreError) -> Bool in
            try transaction.place(of: change.replica, sequence: change.sequence, hash: change.hash) != nil
        } ?? false
    }
}

extension World {
    /// How often everything is looked at.
    private static let inspectionInterval = VirtualTime.seconds(10)

    /// Changes of a log whose state is compared whenever it has changed.
    static let shortLogCount: UInt64 = 500

    /// Reads the store of a machine; nil if there is no node, or the store fails, which is noted.
    func read<Result>(
        _ machine: Machine,
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result?
    ) -> Result? {
        do throws(StoreError) {
            return try machine.read(body) ?? nil
        } catch {
            self.record.mark(.storeFailed)
            return nil
        }
    }

    /// Notes what does not hold on a machine, if there is something.
    func note(_ property: CheckedProperty, _ problem: String?, on machine: Machine) {
        if let problem { self.record.find(property, "machine \(machine.number): \(problem)") }
    }

    /// Looks at every machine's state, and compares machines that should have the same.
    func inspect() {
        var states: [(machine: Machine, state: MachineState)] = []
        for machine in self.machines where machine.isUp && !machine.isTainted && machine.hostile == nil {
            guard machine.alteredUntil <= self.time else { continue }
            guard let state = self.inspect(machine) else { continue }
            let twin = states.first {
                $0.state.frontier == state.frontier && $0.machine.user == machine.user
                    && $0.state.closed == state.closed
            }
            if let twin, twin.state != state {
                let difference = ModelWords.firstDifference(twin.machine.export ?? [], machine.export ?? [])
                self.record.find(
                    .divergence,
                    "machines \(twin.machine.number) and \(machine.number) have equal frontiers and different states: "
                        + difference
                )
            }
            states.append((machine, state))
        }
        if self.isFaulty { self.scheduleInspection() }
    }

    /// Has everything looked at before long.
    func scheduleInspection() { self.schedule(after: World.inspectionInterval) { $0.inspect() } }

    /// Nothing that others cause grows beyond its limit.
    func checkFootprint(of machine: Machine) {
        guard let excess = machine.node?.footprint.excess else { return }
        self.record.find(.unbounded, "machine \(machine.number) keeps \(excess)")
    }

    /// Checks one machine, unless nothing has changed there since this was last done.
    ///
    /// - Returns: What it holds, if nothing of it waits.
    private func inspect(_ machine: Machine) -> MachineState? {
        self.oracles.look(at: machine, in: self)
        self.checkFootprint(of: machine)
        self.checkMembership(of: machine)
        if let last = machine.inspection, last.view == machine.view { return last.state }
        let state = self.inspectAnew(machine)
        self.checkObservers(of: machine)
        machine.inspection = (machine.view, state)
        return state
    }

    private func inspectAnew(_ machine: Machine) -> MachineState? {
        let isDue = self.isDueForComparison(machine)
        let cryptography = SodiumCryptography(memo: nil)
        let found = self.read(machine) { transaction throws(StoreError) in
            var found = Inspection()
            let isSingle = transaction.circles.count == 1
            let visible = isSingle ? try VisibleObjects(of: &transaction) : nil
            if let visible {
                found.tree = try StateChecks.tree(visible, in: &transaction)
            } else {
                found.tree = try StateChecks.combinedTree(in: transaction)
            }
            found.twins = try StateChecks.twins(in: &transaction)
            found.isWaiting = try StateChecks.isWaiting(of: machine.founder, in: &transaction)
            found.hasConflict = try !transaction.conflictedRegisters().isEmpty
            found.hasMoveWithoutEffect = try !transaction.movesWithoutEffect().isEmpty
            // What was dropped comes before what made it needless.
            let isComplete = try transaction.isComplete()
            if !isComplete { found.twins = nil }
            guard !found.isWaiting, isDue, isComplete else { return found }
            if let visible {
                found.fingerprint = try StateFingerprint(of: visible, in: &transaction)
            } else {
                found.fingerprint = try StateFingerprint(ofCirclesIn: transaction)
            }
            var digest = SettledDigest()
            _ = try digest.step(upTo: .max, in: &transaction, cryptography)
            found.digest = digest.sums
            let circles = transaction.circles
            found.closed = Set(circles.closed.map { circles[$0] })
            return found
        }
        guard let found else { return nil }
        self.note(.brokenTree, found.tree, on: machine)
        self.note(.tornTransaction, found.twins, on: machine)
        if found.hasConflict { self.record.mark(.conflictShown) }
        if found.hasMoveWithoutEffect { self.record.mark(.moveWithoutEffect) }
        if found.isWaiting { self.record.mark(.changeWaited) }
        guard let fingerprint = found.fingerprint, let frontier = machine.frontier else { return nil }
        machine.comparedStoredCount = machine.view.storedCount
        self.checkWriteCounts(fingerprint, of: machine)
        if let kept = machine.node?.settledSums, kept != found.digest {
            self.record.find(.divergence, "machine \(machine.number) keeps up a digest that is not that of its state")
        }
        return MachineState(frontier: frontier, fingerprint: fingerprint, digest: found.digest, closed: found.closed)
    }

    /// Whether enough has come since its state was last compared.
    ///
    /// A state is as long as the history, so that in a long run to read it after each change would be all that is done:
    /// there the log has to grow by a share of its length. At the end states are compared whatever has come.
    private func isDueForComparison(_ machine: Machine) -> Bool {
        let (now, last) = (machine.view.storedCount, machine.comparedStoredCount)
        return now < max(last, World.shortLogCount) || now >= last + last / 16
    }

    private struct Inspection {
        var tree: String?
        var twins: String?
        var isWaiting = false
        var hasConflict = false
        var hasMoveWithoutEffect = false
        /// Nil if it is not to be compared.
        var fingerprint: StateFingerprint?
        var digest: [UInt64] = []
        var closed: Set<Circle> = []
    }
}
