internal import CRDTCore
internal import Engine

/// The second phase beside members that do not keep to the protocol.
extension World {
    /// Whether a machine goes on against the healed core; it then does.
    func staysHostile(_ machine: Machine) -> Bool {
        guard let member = machine.hostile, member.stays, machine.isUp else { return false }
        self.record.mark(.hostileStayed)
        member.manner = .withhold
        self.schedule(.hostileVisit(machine: machine.number), after: .seconds(1))
        return true
    }

    /// Notes what became of hostile members in a core that is equal.
    func markHostility(_ core: [Machine]) {
        let liars = Set(self.machines.compactMap { $0.hostile?.identity.name })
        guard !liars.isEmpty, let status = core.first?.observedStatus(at: self.time) else { return }
        for exclusion in status.exclusions where liars.contains(exclusion.deviceName) {
            switch exclusion.exclusion.reason {
            case .equivocation: self.record.mark(.liarExcluded)
            case .backdated: self.record.mark(.backdatingExcluded)
            case .retired: break
            }
        }
        for wait in status.waits {
            guard case .missing = wait.reason, liars.contains(wait.deviceName) else { continue }
            self.record.mark(.causeNeverCame)
        }
    }

    /// P24 and P25 where a hostile member has to be answered: the others push nothing to each other.
    func checkSilenceAmong(_ core: [Machine]) {
        let asked = self.replicaCounts(core)
        let before = self.pushedAmong(core)
        let held = self.changeCount(of: core[0])
        self.run(until: self.time + World.quietTime)
        let after = self.pushedAmong(core)
        if zip(before, after).contains(where: { $1 > $0 + self.pushedAtMost(core, since: held) }) {
            self.record.find(.notQuiet, "equal machines pushed changes to each other: \(before) before, \(after) after")
        }
        if asked != self.replicaCounts(core) {
            self.record.find(.notQuiet, "replicas were opened although nobody wrote")
        }
        for wire in self.wires where wire.isConnected { self.reset(wire) }
        let heldThen = self.changeCount(of: core[0])
        self.run(until: self.time + World.settlingTime)
        let repeated = self.pushedAmong(core)
        if repeated.contains(where: { $0 > self.pushedAtMost(core, since: heldThen) }) {
            self.record.find(.repeated, "equal machines that met again pushed changes: \(repeated)")
        }
        let numbers = Set(core.map(\.number))
        let isApart = core.contains { machine in
            let links = self.wires.filter { $0.isConnected && $0.ends.contains { $0.machine == machine.number } }
            return !links.contains { $0.ends.allSatisfy { $0.state == .open && numbers.contains($0.machine ?? -1) } }
        }
        if isApart { self.record.find(.notQuiet, "a machine of the core is not connected again") }
    }

    /// How much one may push to another of what only now came from the member: all that is new since.
    private func pushedAtMost(_ core: [Machine], since held: Int) -> Int {
        max(0, self.changeCount(of: core[0]) - held)
    }

    private func replicaCounts(_ core: [Machine]) -> [Int] {
        core.map { $0.observedStatus(at: self.time)?.frontier.count ?? 0 }
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
