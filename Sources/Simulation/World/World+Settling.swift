internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// The second phase: a connected core is healed, everything else fails for good, and the core must become equal and
/// silent.
extension World {
    /// 3 × (the longest backoff + a round trip).
    static let settlingTime = VirtualTime.milliseconds(3 * (ConnectionTimes.backoffMax + 2 * 1_500))
    /// How long they must have been equal.
    private static let calmTime = VirtualTime.seconds(3)
    /// How long what was said last may take to be acknowledged, or a connection that is dead without knowing it to end.
    private static let finishingTime = VirtualTime.milliseconds(ConnectionTimes.idleTimeout + 5_000)
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
            // Equal machines may still have to restamp what a wrong clock has stamped.
            self.run(until: self.time + World.calmTime)
            guard self.isEqual(core), self.missingWrite(of: core) == nil else { continue }
            if self.keptByMistake(core) == nil, self.unrepaired(core) == nil { break }
        }
        guard !self.record.hasFatalFinding else { return }
        guard self.isEqual(core) else {
            self.record.find(.notConverged, self.inequality(of: core))
            return
        }
        self.record.mark(.equalInTime)
        self.record.convergenceTime = self.time - start - World.calmTime
        self.inspect()
        self.markEnds(core)
        self.checkResidue(core)
        self.checkClocks(core)
        self.checkAcquaintance(core)
        self.checkAcknowledgedWrites(core)
        self.checkTimelyWrites(core)
        if self.isShared {
            self.checkSecrets()
            for machine in core { self.compareCirclesWithModel(machine) }
        } else {
            self.compareWithModel(core[0])
        }
        self.compareWithReplay(core)
        if self.isShared {
            self.checkPastOfCircles(core)
        } else {
            self.checkVersions(core)
            self.compareHistory(core)
        }
        self.checkBranches(core)
        self.checkErasures(core)
        self.checkSessions(core)
        if self.watchesSilence, !self.plan.endsWhenEqual { self.probe(core) }
    }

    /// P31: where nothing happens any more, connections have nothing left over.
    func checkSessions(_ core: [Machine]) {
        // A hostile member has its own ideas of what it takes and acknowledges.
        guard !self.machines.contains(where: { $0.hostile != nil && $0.isUp }) else { return }
        // Who was told of something, and then was not to have it any more, does not get it.
        let endings: Set<Mark> = [.unshared, .shareLeft, .deviceRemoved, .personDismissed]
        guard self.record.marks.isDisjoint(with: endings) else { return }
        let deadline = self.time + World.finishingTime
        while self.time < deadline, self.sessionResidue(core) != nil, !self.record.hasFatalFinding {
            self.run(until: self.time + .seconds(1))
        }
        guard !self.record.hasFatalFinding else { return }
        self.record.mark(.windowsFull)
        if let residue = self.sessionResidue(core) { self.record.find(.sessionResidue, residue) }
    }

    /// What a connection of these machines has left over, in words; nil if nothing.
    private func sessionResidue(_ core: [Machine]) -> String? {
        for machine in core {
            guard let residue = machine.node?.footprint.residue else { continue }
            return "machine \(machine.number) keeps \(residue)"
        }
        return nil
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
        self.assureOfTime(core)
        self.releaseHeldLanes()
        return core
    }

    /// If all their clocks were set back, none of them knows the time by itself, and a user must say it of one.
    private func assureOfTime(_ core: [Machine]) {
        let core = self.standing(core)
        let isKnown = core.contains { $0.observedStatus(at: self.time)?.clockSetBackFrom == nil }
        if let first = core.first, !isKnown { self.restamp(first) }
    }

    /// The largest group of machines in which each is known to another, so that they can meet.
    ///
    /// Two devices that were invited by a third, and have not heard of each other from it before it failed, are
    /// strangers for ever. So are two that have both removed a third. Who is removed belongs to those who did it.
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
        largest += candidates.indices.filter { other in
            !largest.contains(other) && largest.contains { candidates[$0].hasRemoved(candidates[other]) }
        }
        if largest.count < candidates.count { self.record.mark(.strangersLeft) }
        return largest.sorted().map { candidates[$0] }
    }

    // MARK: - Equality

    func isEqual(_ core: [Machine]) -> Bool {
        if self.isShared {
            return self.isEqualInCircles(core)
                && !core.contains { self.isUnfinished($0) || self.speaksToTheDead($0) }
        }
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
        if self.isShared, let gap = self.circleGap(of: core) { lines.append(gap) }
        for machine in core {
            guard let frontier = machine.frontier else {
                lines.append("machine \(machine.number) is \(machine.condition)")
                continue
            }
            let chains = frontier.entries.map { "\($0.replica.description.prefix(4)):\($0.sequence)" }
            let ready = self.isUnfinished(machine) ? " and something ready that is not applied" : ""
            let dead = self.speaksToTheDead(machine) ? " and a session with a machine that failed" : ""
            lines.append("machine \(machine.number) has \(chains.joined(separator: " "))\(ready)\(dead)")
        }
        let exports = core.compactMap(\.export)
        if !self.isShared, let first = exports.first, let other = exports.first(where: { $0 != first }) {
            lines.append("states differ: " + ModelWords.firstDifference(first, other))
        }
        return "after \(World.settlingTime.seconds) s: " + lines.joined(separator: "; ")
    }

    // MARK: - What must hold of equal machines

    /// P9: only what is held, what nobody in the core can supply, and what comes behind such changes, may wait.
    private func needlessWait(of machine: Machine) -> Merge.Wait? {
        let now = machine.clock.wall(at: self.time)
        let founder = machine.founder
        return machine.look { transaction throws(StoreError) -> Merge.Wait? in
            var merge = Merge(now: now, founder: founder)
            let waits = try merge.waits(in: &transaction)
            for wait in waits.values {
                switch wait {
                case .held(let until): if until <= now { return wait }
                case .missing(let point):
                    guard let place = try transaction.place(of: point), place.sequence > 0 else { continue }
                    if waits[place.segment] == nil { return wait }
                }
            }
            return nil
        }
    }

    /// Whether something is stored, ready, and not applied: as after a disk refused to apply what had come due.
    private func isUnfinished(_ machine: Machine) -> Bool {
        let now = machine.clock.wall(at: self.time)
        let founder = machine.founder
        return machine.look { transaction throws(StoreError) -> Bool in
            guard try StateChecks.isWaiting(of: founder, in: &transaction) else { return false }
            if try StateChecks.hasDueRestamps(of: founder, in: &transaction) { return true }
            // Others may wait for what is ready.
            var merge = Merge(now: now, founder: founder)
            let waits = try merge.waits(in: &transaction)
            return StateChecks.waitingSegments(in: transaction).contains { waits[$0] == nil }
        } ?? true
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
            let introduced = machine.look { transaction throws(StoreError) in
                let roster = transaction.circles.index(of: .roster).flatMap { transaction.rights.rights(in: $0) }
                // Who was removed is forgotten.
                return transaction.segmentIndices.compactMap { index -> DeviceID? in
                    guard let introduction = transaction.segment(index).introduction else { return nil }
                    let isRemoved = ChainAuthor(introduction).flatMap { roster?.reads($0) } == false
                    return isRemoved ? nil : introduction.device
                }
            }
            let known = Set(status.peers.map(\.device) + [status.device])
            guard let stranger = introduced?.first(where: { !known.contains($0) }) else { continue }
            self.record.find(.residue, "machine \(machine.number) holds changes of \(stranger), and does not know it")
        }
    }

    /// P9: nothing is applied that the clock, which is right by now, holds; and each device has restamped its own.
    private func checkClocks(_ core: [Machine]) {
        if let kept = self.keptByMistake(core) { self.record.find(.appliedTooEarly, kept) }
        if let unrepaired = self.unrepaired(core) { self.record.find(.notRepaired, unrepaired) }
    }

    /// Which of these machines, whose clocks are right, has something applied that is held, in words; nil if none has.
    private func keptByMistake(_ core: [Machine]) -> String? {
        for machine in core {
            let now = machine.clock.wall(at: self.time).advanced(byMilliseconds: World.unnoticedMilliseconds)
            let found = machine.look { transaction throws(StoreError) in
                StateChecks.hasAppliedHeld(at: now, in: transaction)
            }
            if found ?? false { return "machine \(machine.number) keeps what its clock holds" }
        }
        return nil
    }

    /// Those that all the others let in.
    private func standing(_ core: [Machine]) -> [Machine] {
        guard self.isShared else { return core }
        return core.filter { machine in core.allSatisfy { $0 === machine || $0.admits(machine) } }
    }

    /// By how much clocks that are set back by little at a time may be ahead of what nodes take note of.
    private static let unnoticedMilliseconds: UInt64 = 5_000

    /// Which of these machines, whose clocks are right, leaves its own changes held, in words; nil if none does.
    private func unrepaired(_ core: [Machine]) -> String? {
        // Somebody else's clock has to say that one's own is right, and a hostile member's may say the opposite.
        guard core.count > 1, !self.machines.contains(where: { $0.hostile != nil && $0.isUp }) else { return nil }
        // Who was removed meets nobody who could.
        let standing = self.standing(core)
        guard standing.count > 1 else { return nil }
        for machine in standing {
            guard let status = machine.observedStatus(at: self.time) else { continue }
            let own = status.waits.first { wait in
                guard case .held = wait.reason else { return false }
                return wait.deviceName == status.deviceName
            }
            if let own {
                return "machine \(machine.number) leaves \(ModelWords.short(own.replica)):\(own.sequence) held, its own"
            }
        }
        return nil
    }

    /// P14: what was acknowledged and is answered for is there.
    ///
    /// What is there and waits without need is residue.
    private func checkAcknowledgedWrites(_ core: [Machine]) {
        if self.oracles.acknowledged.hasExcused { self.record.mark(.acknowledgedThenExcused) }
        if let missing = self.missingWrite(of: core) { self.record.find(.lostWrite, missing) }
    }

    /// P14: only what a clock stamped that was ahead is ever restamped, whatever the clocks of others showed.
    private func checkTimelyWrites(_ core: [Machine]) {
        // Whoever is alone believes its clock. A member may restamp out of malice, and lie about the time; a disk that
        // lies may lose what a clock has shown.
        guard self.plan.peerCount > 1, !self.machines.contains(where: { $0.hostile != nil || $0.isTainted }) else {
            return
        }
        let writes = self.oracles.acknowledged.required.filter(\.isTimely)
        let write = core[0].look { transaction throws(StoreError) -> AcknowledgedWrites.Write? in
            for write in writes {
                let (replica, sequence) = (write.change.replica, write.change.sequence)
                guard let place = try transaction.place(of: replica, sequence: sequence, hash: write.change.hash),
                    let claimed = try transaction.header(at: place)?.stamp,
                    transaction.segment(place.segment).appliedSequence >= sequence,
                    try transaction.effectiveStamp(at: place) < claimed
                else { continue }
                return write
            }
            return nil
        }
        guard let write else { return }
        let name = "\(ModelWords.short(write.change.replica)):\(write.change.sequence)"
        self.record.find(.timelyRestamped, "\(name) was written with a clock that was not ahead, and is restamped")
    }

    /// What was acknowledged, is answered for, and is not there, in words; nil if all is.
    private func missingWrite(of core: [Machine]) -> String? {
        if self.isShared { return self.missingWriteInCircles(of: core) }
        let required = self.oracles.acknowledged.required.filter { !self.isHostile(self.machines[$0.author]) }
        guard !required.isEmpty else { return nil }
        let write = core[0].look { transaction throws(StoreError) -> AcknowledgedWrites.Write? in
            for write in required {
                let (replica, sequence) = (write.change.replica, write.change.sequence)
                let place = try transaction.place(of: replica, sequence: sequence, hash: write.change.hash)
                if place == nil { return write }
            }
            return nil
        }
        guard let write else { return nil }
        let change = write.change
        return "\(ModelWords.short(change.replica)):\(change.sequence), held by \(write.holders.sorted()), is "
            + "gone from the core: \(change.hash.description.prefix(8))"
    }
}

extension NodeFootprint {
    /// What connections keep that is to be gone when nothing happens any more, in words; nil if there is nothing.
    var residue: String? {
        if self.unacknowledgedByteCount > 0 { return "\(self.unacknowledgedByteCount) bytes under way" }
        return self.unknownEntryCount > 0 ? "\(self.unknownEntryCount) entries of what a peer has" : nil
    }
}

extension Machine {
    /// Whether another one is not of the workspace any more, as far as is known here.
    func hasRemoved(_ other: Machine) -> Bool {
        let author = other.author
        return self.look { transaction throws(StoreError) -> Bool in
            let roster = transaction.circles.index(of: .roster).flatMap { transaction.rights.rights(in: $0) }
            return roster.map { $0.names(author.user) && !$0.reads(author) || $0.isRemoved(author) } ?? false
        } ?? false
    }

    /// Whether another one is of the workspace, as far as is known here.
    func admits(_ other: Machine) -> Bool {
        let author = other.author
        return self.look { transaction throws(StoreError) -> Bool in
            let roster = transaction.circles.index(of: .roster).flatMap { transaction.rights.rights(in: $0) }
            return roster?.reads(author) ?? true
        } ?? true
    }

    /// What the node says of itself, with its disk behaving meanwhile.
    func observedStatus(at time: VirtualTime) -> NodeStatus? {
        self.disk.isObserved = true
        defer { self.disk.isObserved = false }
        let status = try? self.node?.status(at: self.moment(at: time))
        return status ?? nil
    }
}
