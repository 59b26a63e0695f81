internal import CRDTCore
internal import Engine

/// The second phase beside members that do not keep to the protocol.
extension World {
    /// Whether a machine goes on against the healed core; it then does.
    func staysHostile(_ machine: Machine) -> Bool {
        guard let member = machine.hostile, member.stays, machine.isUp else { return false }
        self.record.mark(.hostileStayed)
        member.manner = .withhold
        self.schedule(after: .seconds(1)) { $0.keepVisiting(machine) }
        return true
    }

    /// Notes what became of forks, of those who are gone, and of hostile members, in a core that is equal.
    func markEnds(_ core: [Machine]) {
        guard let status = core.first?.observedStatus(at: self.time) else { return }
        if status.forks.contains(where: { $0.forkCount > 2 }) { self.record.mark(.forkedTwice) }
        let coming = Set(core.compactMap { $0.observedStatus(at: self.time)?.deviceName })
        for wait in status.waits {
            if case .held = wait.reason, !coming.contains(wait.deviceName) { self.record.mark(.heldOfTheGone) }
        }
        let liars = Set(self.machines.compactMap { $0.hostile?.identity.name })
        guard !liars.isEmpty else { return }
        if status.forks.contains(where: { liars.contains($0.deviceName) }) { self.record.mark(.liarForked) }
        for wait in status.waits {
            guard case .missing = wait.reason, liars.contains(wait.deviceName) else { continue }
            self.record.mark(.causeNeverCame)
        }
    }

    /// P24 and P25 where a hostile member has to be answered: the others push nothing to each other.
    func checkSilenceAmong(_ core: [Machine]) {
        let opened = self.activeReplicas(core)
        let before = self.pushedAmong(core)
        let held = core.map { self.changeCount(of: $0) }
        self.run(until: self.time + World.quietTime)
        let after = self.pushedAmong(core)
        if zip(before, after).contains(where: { $1 > $0 + self.pushedAtMost(core, since: held) }) {
            self.record.find(.notQuiet, "equal machines pushed changes to each other: \(before) before, \(after) after")
        }
        // Not by their number: the member may bring one that only it held.
        let opens = zip(opened, self.activeReplicas(core)).contains { before, now in
            !before.waits && now.replica != nil && now.replica != before.replica
        }
        if opens {
            self.record.find(.notQuiet, "replicas were opened although nobody wrote")
        }
        guard !self.record.hasFatalFinding else { return }
        // Where the member has handed somebody what he does not read, the others say nothing of it to him: he sends it
        // once, and goes by their answer from then on.
        for _ in 0..<(self.isShared ? 2 : 1) {
            for wire in self.wires where wire.isConnected { self.reset(wire) }
            self.run(until: self.time + World.settlingTime)
        }
        let repeated = self.pushedAmong(core)
        // What the member brought before may have been under way between them when the links were cut.
        if repeated.contains(where: { $0 > self.pushedAtMost(core, since: held) }) {
            self.record.find(.repeated, "equal machines that met again pushed changes: \(repeated)")
        }
        let numbers = Set(core.map(\.number))
        let isApart = core.contains { machine in
            let links = self.wires.filter { $0.isConnected && $0.ends.contains { $0.machine == machine.number } }
            return !links.contains { $0.ends.allSatisfy { $0.state == .open && numbers.contains($0.machine ?? -1) } }
        }
        if isApart { self.record.find(.notQuiet, "a machine of the core is not connected again") }
    }

    /// How much one may push to another of what only now came from the member: all that is new since on any of them,
    /// which may be what the others had and say nothing of to him.
    private func pushedAtMost(_ core: [Machine], since held: [Int]) -> Int {
        zip(core, held).map { self.changeCount(of: $0) - $1 }.max() ?? 0
    }

    /// The replicas that they write under, and which of them wait for a word that their clock is right.
    ///
    /// The member's clock may have kept that word from them, and may do so no longer: then they restamp what is held,
    /// under a new replica.
    private func activeReplicas(_ core: [Machine]) -> [(replica: ReplicaID?, waits: Bool)] {
        core.map { machine in
            guard let status = machine.observedStatus(at: self.time) else { return (nil, false) }
            let waits = status.waits.contains { wait in
                if case .held = wait.reason { return wait.deviceName == status.deviceName }
                return false
            }
            return (status.replica, waits)
        }
    }

    /// How many changes each machine of the core has pushed to each other one, over the connections that stand.
    private func pushedAmong(_ core: [Machine]) -> [Int] {
        let statuses = core.map { $0.observedStatus(at: self.time) }
        let devices = Set(statuses.compactMap { $0?.device })
        return statuses.flatMap { status in
            status?.peers.filter { devices.contains($0.device) }.map(\.traffic.pushedChangeCount) ?? []
        }
    }
}
