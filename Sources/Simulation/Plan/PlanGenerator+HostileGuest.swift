internal import CRDTCore

/// Somebody with whom something is shared does not keep to the protocol, nor to what he may do.
extension PlanGenerator {
    /// In how many worlds in a hundred of several people one of them is hostile.
    private static let hostilePercent = 25
    private static let forkCountMax = 4

    mutating func addHostileGuest() {
        let outside = (1..<self.plan.peerCount).filter { !self.plan.core.contains($0) }
        guard self.chance(PlanGenerator.hostilePercent), !outside.isEmpty else { return }
        let peer = self.pick(outside)
        let owner = self.guest(of: peer)
        let object = self.object(of: owner)
        var time = self.moment()
        func next(_ low: UInt64, _ high: UInt64) -> VirtualTime {
            time = time + .milliseconds(self.tape.between(low, high, .sharing))
            return time
        }
        let role = self.pick([.writer, .writer, .manager, .reader] as [Role])
        self.add(.sharing(peer: owner, .share(object, with: peer, role, names: nil)), at: time)
        self.addEdit(of: object, at: &time)
        let isRemovedFirst = self.chance(40)
        let removal = Action.sharing(peer: owner, .unshare(object, from: peer))
        if isRemovedFirst { self.add(removal, at: next(300, 2_000)) }
        for _ in 0..<1 + self.below(5) {
            let others = (0..<self.plan.peerCount).filter { $0 != peer }
            let action = self.hostility(about: object)
            self.add(.hostile(peer: peer, victim: self.pick(others), action), at: next(200, 1_500))
            if self.chance(40) { self.addEdit(of: object, at: &time) }
        }
        if self.chance(30) { self.add(.hostile(peer: peer, victim: peer, .stay), at: time) }
        if !isRemovedFirst, self.chance(60) { self.add(removal, at: next(1, 1_000)) }
    }

    /// What he does in the circle of an object, or in home.
    private func hostility(about object: Int) -> HostileAction {
        let chain = HostileChainName(self.below(3), in: self.chance(85) ? object : nil)
        let near = self.chance(70) ? object : self.anyObject()
        let steps: [WorkStep] = [
            .set(near, property: self.below(Workload.propertyNames.count)), .delete(near), .move(near, parent: nil),
            .create(near, parent: nil), .create(self.anyObject(), parent: object), .unset(near, property: 0),
        ]
        let change = HostileChange(chain: chain, step: self.pick(steps))
        switch self.below(10) {
        case 0..<3: return .write(change)
        case 3: return .name(change)
        case 4: return .backdate(change)
        case 5: return .fork(change, count: 1 + self.below(PlanGenerator.forkCountMax))
        case 6: return .stampAhead(change, milliseconds: 3_600_000)
        default:
            let role = self.pick([nil, nil, .reader, .writer, .manager] as [Role?])
            return .declare(chain, about: self.anyPeer(), role)
        }
    }
}
