internal import CRDTCore

/// What the authors of a plan say of rights, drawn from the numbers of their changes.
struct PlannedRights {
    /// The grants to the other user so far.
    private(set) var grants: [StatementID] = []
    private var removals: [StatementID] = []

    /// What a change says of who may do what: the owner grants and removes, and the other user leaves now and then, or
    /// grants without right.
    ///
    /// `tips`: the changes of each chain. `others`: the devices of the other user.
    func statements(
        by device: TestDevice,
        number: Int,
        _ tips: [[FrontierEntry]],
        others: [TestDevice]
    ) -> [Edit] {
        var random = SplitMix64(seed: UInt64(number))
        var heads: [NamedChange] = []
        for chain in tips where !chain.isEmpty && random.chance(80) {
            let entry = random.chance(40) ? chain[chain.count - 1] : random.pick(chain)
            heads.append(NamedChange(replica: entry.replica, sequence: entry.sequence, hash: entry.hash))
        }
        let user = TestDevice.otherUser
        guard device.user == TestDevice.user else {
            switch random.below(16) {
            case 0: return [.rights(.removes(.init(of: user, from: [.writer], heads: heads)))]
            case 1: return [.rights(.grants(.init(to: user, .writer)))]
            default: return []
            }
        }
        switch random.below(10) {
        case 0, 1:
            let roles: Set<Role> = random.chance(50) ? [.writer] : [.manager, .writer, .reader]
            return [.rights(.removes(.init(of: user, from: roles, heads: heads)))]
        case 2:
            return [.rights(.grants(.init(to: user, .writer, despite: self.removals)))]
        case 3:
            let names = [random.pick(PlanVocabulary.names), random.pick(PlanVocabulary.names)]
            return [.rights(.grants(.init(to: user, .writer, names: names, despite: self.removals)))]
        case 4 where !others.isEmpty:
            return [.rights(.removesDevice(.init(of: random.pick(others).device, heads: heads)))]
        default: return []
        }
    }

    /// Takes note of what a change says.
    mutating func note(_ change: NaiveChange) {
        for (index, edit) in change.edits.enumerated() {
            let named = NamedChange(replica: change.replica, sequence: change.sequence, hash: change.hash)
            let id = StatementID(change: named, index: UInt32(index))
            switch edit {
            case .rights(.grants): self.grants.append(id)
            case .rights(.removes): self.removals.append(id)
            default: break
            }
        }
    }
}
