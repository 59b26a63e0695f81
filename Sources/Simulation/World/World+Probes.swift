internal import CRDTCore
internal import Engine
internal import SyncProtocol

/// What equal machines are put through at the end of a run: a write must reach all at once, then nothing more may be
/// said, a stranger must not disturb that, and who meets again must not repeat what is known.
extension World {
    /// How long equal machines are watched for silence.
    static let quietTime = VirtualTime.seconds(60)
    /// What two of them may say to each other meanwhile: pings and their answers.
    private static let quietByteCountMax = 2_048
    /// How long connections that are dead without knowing it can last.
    private static let staleTime = VirtualTime.milliseconds(ConnectionTimes.idleTimeout + 5_000)
    /// From here on numbers of objects that nothing else touches.
    private static let probedObject = 2_000

    func probe(_ core: [Machine]) {
        guard core.count > 1, !self.record.hasFatalFinding else { return }
        // Who is not let in any more is in no session with the others.
        if self.record.marks.contains(.deviceRemoved) || self.record.marks.contains(.personDismissed) { return }
        if self.machines.contains(where: { $0.hostile != nil && $0.isUp }) {
            // Announcements of what came last are still under way.
            self.run(until: self.time + .seconds(5))
            return self.checkSilenceAmong(core)
        }
        // Two machines with one device's keys push each other out of their sessions for ever.
        guard Set(core.map(\.keyFile)).count == core.count else { return self.probeTwins(core) }
        let deadline = self.time + World.settlingTime
        while self.time < deadline, !self.isJoined(core) { self.run(until: self.time + .seconds(1)) }
        guard self.isJoined(core) else {
            self.record.find(.notQuiet, "no sessions join all machines of the core")
            return
        }
        self.run(until: self.time + World.staleTime)
        var checks = [self.checkIdle, self.checkMeetingAgain]
        if self.disturbsSilence {
            checks = [
                self.checkPush, self.checkDetour, self.checkIdle, self.checkStrangers, self.checkMeetingAgain,
            ]
        }
        for check in checks where !self.record.hasFatalFinding {
            check(core)
        }
        if !self.record.hasFatalFinding { self.checkSessions(core) }
    }

    /// Which of these machines have a session with each other that both know of.
    private func sessions(of core: [Machine]) -> [[Bool]] {
        let statuses = core.map { $0.observedStatus(at: self.time) }
        func knows(_ left: Int, _ right: Int) -> Bool {
            guard let mine = statuses[left], let theirs = statuses[right] else { return false }
            return mine.peers.contains { $0.isConnected && $0.device == theirs.device }
        }
        return core.indices.map { left in core.indices.map { knows(left, $0) && knows($0, left) } }
    }

    /// Whether sessions join all machines.
    private func isJoined(_ core: [Machine]) -> Bool {
        let sessions = self.sessions(of: core)
        var group = [0]
        var next = 0
        while next < group.count {
            group += core.indices.filter { !group.contains($0) && sessions[group[next]][$0] }
            next += 1
        }
        return group.count == core.count
    }

    /// How long a write may take to all who are connected.
    private var pushTime: VirtualTime { .seconds(self.plan.links == .lan || self.plan.links == .wifi ? 3 : 12) }

    /// P24: what is written reaches all who are connected, without waiting for anything else.
    private func checkPush(_ core: [Machine]) {
        for machine in core { self.write(self.probing(World.probedObject + machine.number, property: 0), on: machine) }
        self.run(until: self.time + self.pushTime)
        if !self.isEqual(core) { self.record.find(.notPushed, self.inequality(of: core)) }
    }

    /// P24: what does not come on the straight way is asked for from another who has it.
    private func checkDetour(_ core: [Machine]) {
        // Who does not read it has nothing to pass on.
        guard core.count > 2, Set(core.prefix(3).map(\.user)).count == 1 else { return }
        let sessions = self.sessions(of: core)
        guard sessions[0][1], sessions[0][2], sessions[1][2] else { return }
        let end = self.time + self.pushTime + .seconds(1)
        self.network.block(from: core[0].number, to: core[1].number, until: end)
        self.network.block(from: core[1].number, to: core[0].number, until: end)
        self.schedule(after: self.pushTime + .seconds(1)) { $0.releaseHeldLanes() }
        self.write(self.probing(World.probedObject, property: 2), on: core[0])
        self.run(until: self.time + self.pushTime)
        if !self.isEqual(core) { self.record.find(.notPushed, self.inequality(of: core)) }
    }

    /// P24: equal machines say nothing more, and keep one session with each other.
    private func checkIdle(_ core: [Machine]) {
        // Announcements of what came last are still under way.
        self.run(until: self.time + .seconds(5))
        // And what is left with others for somebody who never came.
        if self.isShared {
            let delay = ParcelLimits.intervalMilliseconds + ParcelLimits.patienceMilliseconds
            self.run(until: self.time + .milliseconds(delay))
        }
        let before = (core.map { self.pushedCount(of: $0) }, self.endedSessionCount, self.record.deliveredByteCount)
        self.run(until: self.time + World.quietTime)
        let after = (core.map { self.pushedCount(of: $0) }, self.endedSessionCount, self.record.deliveredByteCount)
        if before.0 != after.0 {
            self.record.find(.notQuiet, "equal machines pushed changes: \(before.0) before, \(after.0) after")
        }
        if before.1 != after.1 { self.record.find(.notQuiet, "a session of equal machines ended") }
        let pairCount = core.count * (core.count - 1) / 2
        if after.2 - before.2 > pairCount * World.quietByteCountMax {
            self.record.find(.notQuiet, "equal machines sent each other \(after.2 - before.2) bytes")
        }
        for (position, left) in core.enumerated() {
            for right in core[(position + 1)...] where self.openWires(left.number, right.number).count > 1 {
                self.record.find(.notQuiet, "machines \(left.number) and \(right.number) keep two sessions")
            }
        }
    }

    /// Whoever has recorded how a session began can do nothing with it.
    private func checkStrangers(_ core: [Machine]) {
        let before = self.endedSessionCount
        for machine in core {
            guard let first = machine.recording.first else { continue }
            self.connectStranger(to: machine, [first], every: .milliseconds(5))
        }
        self.run(until: self.time + .seconds(10))
        if self.endedSessionCount != before { self.record.find(.notQuiet, "a stranger ended a session") }
    }

    /// P25: new sessions send what was written meanwhile, and nothing that is known.
    private func checkMeetingAgain(_ core: [Machine]) {
        let pushed = core.map { self.pushedCount(of: $0) }
        let writer = core[core.count - 1]
        let held = self.changeCount(of: writer)
        for wire in self.wires where wire.isConnected { self.reset(wire) }
        let written = self.disturbsSilence ? self.writeDuringMeeting(core) : 0
        let deadline = self.time + World.settlingTime
        self.run(until: self.time + .seconds(1))
        while self.time < deadline, !self.isJoined(core) || !self.isEqual(core), !self.record.hasFatalFinding {
            self.run(until: self.time + .seconds(1))
        }
        guard !self.record.hasFatalFinding else { return }
        guard self.isEqual(core) else {
            self.record.find(.notConverged, self.inequality(of: core))
            return
        }
        if !self.isJoined(core) { self.record.find(.notQuiet, "a machine of the core is not connected again") }
        self.run(until: self.time + .seconds(5))
        let growth = self.changeCount(of: writer) - held
        if growth != written {
            self.record.find(.repeated, "\(written) changes were written, and there are \(growth) more")
        }
        // Twice, since a session may give way to another that was dialled at the same time.
        let most = 2 * (core.count - 1) * written
        for (machine, before) in zip(core, pushed) where self.pushedCount(of: machine) - before > most {
            let count = self.pushedCount(of: machine) - before
            self.record.find(.repeated, "machine \(machine.number) sent \(count) changes where \(most) would do")
        }
    }

    /// Writes while all are apart, or leaves them equal, and then writes again and again while one meets the others.
    ///
    /// - Returns: How often it wrote.
    private func writeDuringMeeting(_ core: [Machine]) -> Int {
        let writer = core[core.count - 1]
        let writesApart = self.tape.chance(50, .network)
        if writesApart { self.write(self.probing(World.probedObject, property: 1), on: writer) }
        func isMet() -> Bool {
            self.wires.contains {
                $0.isConnected && $0.ends.contains { $0.machine == writer.number && $0.state == .open }
            }
        }
        let deadline = self.time + .seconds(5)
        while self.time < deadline, !isMet() { self.run(until: self.time + .milliseconds(1)) }
        let waits: [UInt64] = [1, 1, 1, 1, 2, 4, 10, 60, 300, 600, 1_200]
        for wait in waits {
            self.run(until: self.time + .milliseconds(wait))
            self.write(self.probing(World.probedObject, property: 1), on: writer)
        }
        return waits.count + (writesApart ? 1 : 0)
    }

    private func probeTwins(_ core: [Machine]) {
        self.run(until: self.time + .seconds(5))
        let before = core.map { self.pushedCount(of: $0) }
        self.run(until: self.time + World.quietTime)
        for wire in self.wires where wire.isConnected { self.reset(wire) }
        self.run(until: self.time + World.settlingTime)
        let after = core.map { self.pushedCount(of: $0) }
        if before != after {
            self.record.find(.notQuiet, "equal machines pushed changes: \(before) before, \(after) after")
        }
        let isConnected = core.allSatisfy { self.connectedCount(of: $0) > 0 }
        if !isConnected { self.record.find(.notQuiet, "a machine of the core is not connected again") }
    }

    /// Writes to an object, which is made if it is not there.
    private func probing(_ object: Int, property: Int) -> [WorkStep] {
        let set = WorkStep.set(object, property: property)
        return self.isShared ? [.create(object, parent: nil), set] : [set]
    }

    private func pushedCount(of machine: Machine) -> Int {
        machine.observedStatus(at: self.time)?.traffic.pushedChangeCount ?? 0
    }

    private func connectedCount(of machine: Machine) -> Int {
        machine.observedStatus(at: self.time)?.peers.count { $0.isConnected } ?? 0
    }

    /// How many changes a machine holds.
    func changeCount(of machine: Machine) -> Int {
        let found = machine.look { transaction throws(StoreError) in StoreContent(of: transaction).storedCount }
        return Int(clamping: found ?? 0)
    }
}
