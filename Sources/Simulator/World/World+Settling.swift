internal import CRDTCore
internal import Engine
internal import MergeTestSupport
internal import Persistence

/// The second phase: a connected core is healed, everything else fails for good, and the core must become equal and
/// silent.
extension World {
    /// 3 × (the longest backoff + a round trip).
    static let settlingTime = VirtualTime.milliseconds(3 * (ConnectionTimes.backoffMax + 2 * 1_500))
    /// How long they must have been equal.
    private static let calmTime = VirtualTime.seconds(3)
    /// The model is slow: larger histories are not compared with it.
    static let modelChangeCountMax = 250

    /// Heals the core and checks all that must then hold.
    func settle(core planned: [Int]) {
        self.isFaulty = false
        let core = self.heal(planned)
        let healed = "healed: \(core.map(\.number)); all others fail for good"
        self.trace?.add(.action(healed), machine: nil, at: self.time)
        self.updateTrace()
        guard core.count > 0, !self.record.hasFatalFinding else { return }
        let start = self.time
        let deadline = start + World.settlingTime
        while self.time < deadline, !self.record.hasFatalFinding {
            self.run(until: self.time + .seconds(1))
            guard self.isEqual(core) else { continue }
            // Equal machines may still have to write again what a fork has excluded, and to meet whoever holds it.
            self.run(until: self.time + World.calmTime)
            if self.isEqual(core), self.missingWrite(of: core) == nil { break }
        }
        guard !self.record.hasFatalFinding else { return }
        guard self.isEqual(core) else {
            self.record.find(.notConverged, self.inequality(of: core))
            return
        }
        self.record.mark(.equalInTime)
        self.record.convergenceTime = self.time - start - World.calmTime
        self.inspect()
        let hasMended = core.contains { $0.observedStatus(at: self.time)?.counters.reauthoredChangeCount ?? 0 > 0 }
        if hasMended, self.record.marks.contains(.forkProved) { self.record.mark(.forkMended) }
        self.markHostility(core)
        self.checkResidue(core)
        self.checkAcquaintance(core)
        self.checkAcknowledgedWrites(core)
        self.compareWithModel(core[0])
        self.compareWithReplay(core)
        if self.watchesSilence, !self.plan.endsWhenEqual { self.probe(core) }
    }

    private func heal(_ planned: [Int]) -> [Machine] {
        for machine in self.machines {
            machine.disk.faults = DiskFaults()
            machine.refusesDialsUntil = .zero
            machine.impostor = nil
            guard planned.contains(machine.number), !machine.isTainted, machine.condition != .failed else { continue }
            machine.clock.set(offsetMilliseconds: 0, at: self.time)
            if machine.condition == .paused { self.resume(machine, machine.incarnation) }
            if machine.condition == .down { self.start(machine) }
        }
        let core = self.acquainted(
            self.machines.filter {
                planned.contains($0.number) && $0.isUp && !$0.isTainted && !self.isHostile($0)
            }
        )
        // Whoever is in the core answers for what those hold who fail now.
        for machine in self.machines where !core.contains(where: { $0 === machine }) {
            if !self.staysHostile(machine) { self.fail(machine) }
        }
        self.network.heal(core: core.map(\.number))
        for wire in self.wires { wire.heal() }
        // Whoever has not joined by now would come as one more device beside the core.
        for newcomer in self.newcomers { self.giveUp(newcomer) }
        for machine in core { self.handle(machine, .timer) }
        self.releaseHeldLanes()
        return core
    }

    /// The largest group of machines in which each is known to another, so that they can meet.
    ///
    /// Two devices that were invited by a third, and have not heard of each other from it before it failed, are
    /// strangers for ever.
    private func acquainted(_ candidates: [Machine]) -> [Machine] {
        let statuses = candidates.map { $0.observedStatus(at: self.time) }
        func knows(_ left: Int, _ right: Int) -> Bool {
            guard let mine = statuses[left], let theirs = statuses[right] else { return false }
            return mine.peers.contains { $0.device == theirs.device }
        }
        var largest: [Int] = []
        for start in candidates.indices {
            var group = [start]
            for next in 0..<candidates.count where next < group.count {
                let news = candidates.indices.filter { other in
                    !group.contains(other) && knows(group[next], other) && knows(other, group[next])
                }
                group += news
            }
            if group.count > largest.count { largest = group }
        }
        if largest.count < candidates.count { self.record.mark(.strangersLeft) }
        return largest.sorted().map { candidates[$0] }
    }

    // MARK: - Equality

    func isEqual(_ core: [Machine]) -> Bool {
        guard core.allSatisfy(\.isUp), let first = core[0].frontier else { return false }
        guard core.dropFirst().allSatisfy({ $0.frontier == first }) else { return false }
        if core.contains(where: { self.isUnfinished($0) || self.speaksToTheDead($0) }) { return false }
        // Only now, since to export is most of the work.
        guard let export = core[0].export else { return false }
        return core.dropFirst().allSatisfy { $0.export == export }
    }

    /// Whether a session stands with somebody who has failed: until it is noticed, a device with the same keys that is
    /// there is not dialled, and what only it holds may still come.
    private func speaksToTheDead(_ machine: Machine) -> Bool {
        self.wires.contains { wire in
            guard wire.isConnected, let side = wire.ends.firstIndex(where: { $0.machine == machine.number }),
                wire.ends[side].state == .open, let other = wire.ends[1 - side].machine
            else { return false }
            return self.machines[other].condition == .failed
        }
    }

    func inequality(of core: [Machine]) -> String {
        var lines: [String] = []
        for machine in core {
            guard let frontier = machine.frontier else {
                lines.append("machine \(machine.number) is \(machine.condition)")
                continue
            }
            let chains = frontier.entries.map {
                "\($0.replica.description.prefix(4)):\($0.sequence)\($0.isForked ? "!" : "")"
            }
            let ready = self.isUnfinished(machine) ? " and something ready that is not applied" : ""
            let dead = self.speaksToTheDead(machine) ? " and a session with a machine that failed" : ""
            lines.append("machine \(machine.number) has \(chains.joined(separator: " "))\(ready)\(dead)")
        }
        let exports = core.compactMap(\.export)
        if let first = exports.first, let other = exports.first(where: { $0 != first }) {
            lines.append("states differ: " + World.firstDifference(first, other))
        }
        return "after \(World.settlingTime.seconds) s: " + lines.joined(separator: "; ")
    }

    // MARK: - What must hold of equal machines

    /// P9: only what is held, what nobody in the core can supply, and what comes behind such changes, may wait.
    private func needlessWait(of machine: Machine) -> Merge.Wait? {
        let now = machine.clock.wall(at: self.time)
        let found = try? machine.read { transaction throws(StoreError) -> Merge.Wait? in
            let waits = try Merge.waits(at: now, in: &transaction)
            return waits.values.first { wait in
                switch wait {
                case .held(let until): return until <= now
                case .missing(let dot):
                    guard let index = transaction.existingReplicaIndex(of: dot.replica) else { return false }
                    return transaction.replica(index).storedSequence >= dot.sequence && waits[index] == nil
                }
            }
        }
        return (found ?? nil) ?? nil
    }

    /// Whether something is stored, ready, and not applied: as after a disk refused to apply what had come due.
    private func isUnfinished(_ machine: Machine) -> Bool {
        let now = machine.clock.wall(at: self.time)
        let found = try? machine.read { transaction throws(StoreError) -> Bool in
            guard StateChecks.isWaiting(in: transaction) else { return false }
            // Others may wait for what is ready.
            let waits = try Merge.waits(at: now, in: &transaction)
            return StateChecks.waitingReplicas(in: transaction).contains { waits[$0] == nil }
        }
        return (found ?? nil) ?? true
    }

    private func checkResidue(_ core: [Machine]) {
        for machine in core {
            guard let wait = self.needlessWait(of: machine) else { continue }
            self.record.find(.residue, "machine \(machine.number) needlessly waits: \(wait)")
        }
    }

    /// Whoever is introduced in a machine's log is known to it, so that the two can meet.
    private func checkAcquaintance(_ core: [Machine]) {
        for machine in core {
            guard let status = machine.observedStatus(at: self.time) else { continue }
            let introduced = try? machine.read { transaction throws(StoreError) in
                (0..<transaction.replicaCount).compactMap {
                    transaction.replica(ReplicaIndex(rawValue: UInt32($0))).device
                }
            }
            let known = Set(status.peers.map(\.device) + [status.device])
            guard let stranger = (introduced ?? nil)?.first(where: { !known.contains($0) }) else { continue }
            self.record.find(.residue, "machine \(machine.number) holds changes of \(stranger), and does not know it")
        }
    }

    /// P14: what was acknowledged and is answered for is there.
    private func checkAcknowledgedWrites(_ core: [Machine]) {
        if self.oracles.acknowledged.hasExcused { self.record.mark(.acknowledgedThenExcused) }
        if let missing = self.missingWrite(of: core) { self.record.find(.lostWrite, missing) }
    }

    /// What was acknowledged, is answered for, and is not there, in words; nil if all is.
    private func missingWrite(of core: [Machine]) -> String? {
        let now = core[0].clock.wall(at: self.time)
        let log = try? core[0].read { transaction throws(StoreError) in try LogReading(of: &transaction, now: now) }
        guard let log = log ?? nil else { return nil }
        let exclusions = core[0].observedStatus(at: self.time)?.exclusions ?? []
        for write in self.oracles.acknowledged.required where !self.isHostile(self.machines[write.author]) {
            let wanted = write.edits.filter { $0.kind != .introduce && $0.kind != .retire }
            guard let missing = wanted.first(where: { !log.effectiveEdits.contains($0) }) else { continue }
            // Both branches of a fork are excluded, and told to the user; only the device they are of can write them
            // again.
            let isForked = exclusions.contains {
                $0.replica == write.dot.replica && $0.exclusion.reason == .equivocation
            }
            if isForked, !core.contains(where: { $0.keyFile == self.machines[write.author].keyFile }) { continue }
            let excluded = exclusions.map {
                "\(PlainText.short($0.replica)) after \($0.exclusion.lastSequence): \($0.exclusion.reason)"
            }
            return "\(PlainText.short(write.dot.replica)):\(write.dot.sequence), held by \(write.holders.sorted()), is "
                + "gone from the core: \(PlainText.short(missing).prefix(80)); "
                + "excluded: \(excluded.joined(separator: ", "))"
        }
        return nil
    }

    private struct Comparison {
        var expected: PlainState
        var actual: PlainState
    }

    /// P8: the naive model, given the same log, comes to the same state.
    private func compareWithModel(_ machine: Machine) {
        let now = machine.clock.wall(at: self.time)
        do throws(StoreError) {
            let found = try machine.read { transaction throws(StoreError) -> Comparison? in
                let log = try LogReading(of: &transaction, now: now)
                let isComparable = !StateChecks.hasAppliedHeld(at: now, in: transaction)
                guard isComparable, log.changeCount <= World.modelChangeCountMax else { return nil }
                let objects = log.objects.sorted()
                let actual = try StateReader.state(of: &transaction, objects: objects)
                return Comparison(expected: NaiveModel(log.history).state(), actual: actual)
            }
            guard let found, let states = found else { return }
            self.record.mark(.comparedWithModel)
            if states.expected != states.actual {
                let difference = states.actual.differences(from: states.expected)
                self.record.find(.modelDisagrees, "machine \(machine.number):\n\(difference)")
            }
        } catch {
            self.record.find(.damage, "machine \(machine.number): \(error)")
        }
    }
}

extension Machine {
    /// What the node says of itself, with its disk behaving meanwhile.
    func observedStatus(at time: VirtualTime) -> NodeStatus? {
        self.disk.isObserved = true
        defer { self.disk.isObserved = false }
        let status = try? self.node?.status(at: self.moment(at: time))
        return status ?? nil
    }
}
