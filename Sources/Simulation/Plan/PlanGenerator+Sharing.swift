internal import CRDTCore

/// When the machines belong to several people, and what these share.
///
/// All of it comes from a lane of its own, so that nothing else of a plan hangs on it.
extension PlanGenerator {
    /// How many worlds in a hundred are of several people.
    private static let sharedPercent = 50
    /// How many objects everybody begins with; the next person's have the next numbers.
    private static let ownCount = 3
    private static let userCountMax = 3
    /// The object that everybody keeps for himself has this number and that of the person.
    private static let privateObject = 600

    func chance(_ percent: Int) -> Bool { self.tape.chance(percent, .sharing) }
    func below(_ bound: Int) -> Int { self.tape.below(bound, .sharing) }
    func pick<Element>(_ elements: [Element]) -> Element { self.tape.pick(elements, .sharing) }

    func moment() -> VirtualTime {
        .milliseconds(self.tape.draw(.sharing, below: self.plan.duration.milliseconds))
    }

    /// Gives the machines to several people, or leaves them to one.
    mutating func addPeople(_ limits: PlanLimits) {
        let isDrawn = self.chance(PlanGenerator.sharedPercent)
        guard limits.isShared ?? isDrawn, limits.editsPerSecond == nil else { return }
        let formerCount = self.plan.peerCount
        let further = max(self.below(3), 3 - self.plan.peerCount)
        for _ in 0..<(limits.peerCount == nil ? further : 0) {
            if self.chance(75) { self.plan.core.append(self.plan.peerCount) }
            self.plan.peerCount += 1
        }
        let count = 2 + self.below(PlanGenerator.userCountMax - 1)
        var users = (0..<self.plan.peerCount).map { $0 == 0 ? 0 : self.below(count) }
        if !users.contains(where: { $0 > 0 }) { users[1 + self.below(users.count - 1)] = 1 }
        self.plan.users = Plan.renumbered(users)
        self.plan.actions = self.plan.actions.compactMap { timed in
            switch timed.action {
            case .hostile: nil
            case .write(let peer, let steps):
                TimedAction(time: timed.time, action: .write(peer: peer, steps.map { self.owned($0, peer) }))
            case .network(.partition(let groups)):
                TimedAction(time: timed.time, action: .network(.partition(self.joining(groups, from: formerCount))))
            default: timed
            }
        }
        let first = self.plan.users.indices.filter { self.plan.users.firstIndex(of: self.plan.users[$0]) == $0 }
        self.plan.actions = first.flatMap { self.belongings(of: $0) } + self.plan.actions
        let episodeCount = self.isSmall ? 2 + self.below(5) : 4 + self.below(10)
        for _ in 0..<episodeCount { self.addEpisode() }
        self.addHostileGuest()
    }

    /// Groups of a partition, with machines in them that came after it was drawn.
    private func joining(_ groups: [[Int]], from first: Int) -> [[Int]] {
        var groups = groups
        for peer in first..<self.plan.peerCount { groups[self.below(groups.count)].append(peer) }
        return groups
    }

    /// Most people make objects under ids of their own.
    private func owned(_ step: WorkStep, _ peer: Int) -> WorkStep {
        guard case .create(let object, let parent) = step, self.chance(85) else { return step }
        let own = self.plan.user(of: peer) * PlanGenerator.ownCount + object % PlanGenerator.ownCount
        return .create(own, parent: parent == own ? nil : parent)
    }

    /// What somebody makes on his first machine.
    private func belongings(of peer: Int) -> [TimedAction] {
        let user = self.plan.user(of: peer)
        let first = user * PlanGenerator.ownCount
        let steps: [[WorkStep]] = [
            [.create(first, parent: nil), .create(first + 1, parent: first), .create(first + 2, parent: nil)],
            (first..<first + PlanGenerator.ownCount).map { .set($0, property: 0) },
            [
                .create(PlanGenerator.privateObject + user, parent: nil),
                .assign(PlanGenerator.privateObject + user, name: "title", text: self.secret(of: peer)),
            ],
        ]
        return steps.map { TimedAction(time: .zero, action: .write(peer: peer, $0)) }
    }

    private func secret(of peer: Int) -> String {
        "\(Secrets.prefix)\(self.plan.user(of: peer))-\(self.below(1 << 30))."
    }

    func anyPeer() -> Int { self.below(self.plan.peerCount) }

    /// A machine of somebody else.
    func guest(of peer: Int) -> Int {
        let others = (0..<self.plan.peerCount).filter { self.plan.user(of: $0) != self.plan.user(of: peer) }
        return others.isEmpty ? peer : self.pick(others)
    }

    func object(of peer: Int) -> Int {
        self.plan.user(of: peer) * PlanGenerator.ownCount + self.below(PlanGenerator.ownCount)
    }

    func anyObject() -> Int { self.below(PlanGenerator.ownCount * (1 + (self.plan.users.max() ?? 0))) }

    /// Something is done about who reads what, and people write before, meanwhile and after, perhaps apart.
    private mutating func addEpisode() {
        let peer = self.anyPeer()
        let guest = self.guest(of: peer)
        let object = self.chance(85) ? self.object(of: peer) : self.anyObject()
        var time = self.moment()
        if self.chance(40) {
            let inside = (0..<self.plan.peerCount).filter { $0 == peer || $0 != guest && self.chance(50) }
            let outside = (0..<self.plan.peerCount).filter { !inside.contains($0) }
            self.add(.network(.partition([inside, outside].filter { !$0.isEmpty })), at: time)
            let pause = VirtualTime.milliseconds(self.tape.between(300, 4_000, .sharing))
            self.add(.network(.healPartition), at: time + pause)
        }
        for _ in 0..<self.below(3) { self.addEdit(of: object, at: &time) }
        for action in self.sharing(object, by: peer, with: guest) {
            self.add(action, at: time)
            time = time + .milliseconds(self.tape.between(0, 300, .sharing))
            if self.chance(50) { self.addEdit(of: object, at: &time) }
        }
        for _ in 0..<self.below(6) { self.addEdit(of: object, at: &time) }
    }

    private func sharing(_ object: Int, by peer: Int, with guest: Int) -> [Action] {
        let property = self.below(Workload.propertyNames.count)
        let name = Workload.propertyNames[property]
        let role = self.pick([.writer, .writer, .writer, .reader, .manager] as [Role])
        let names = role == .writer && self.chance(20) ? [name] : nil
        func act(_ action: SharingAction) -> Action { .sharing(peer: peer, action) }
        let share = act(.share(object, with: guest, role, names: names))
        switch self.below(17) {
        case 0..<5: return [share]
        case 5..<7: return [act(.unshare(object, from: guest))]
        case 7: return [share, act(.unshare(object, from: guest)), share]
        case 8..<11:
            let secret = WorkStep.assign(object, name: name, text: self.secret(of: peer))
            let hidden = [act(.hide(object, name: name)), .write(peer: peer, [secret])]
            let shown = [act(.shareProperty(object, name: name, with: guest, self.pick([.reader, .writer])))]
            let after = self.chance(30) ? shown : self.chance(20) ? [act(.unhide(object, name: name))] : []
            return hidden + (self.chance(60) ? [share] : []) + after
        case 11: return [share, .write(peer: peer, [.move(object, parent: self.anyObject())])]
        case 12: return [act(.unshareProperty(object, name: name, from: guest))]
        case 13, 14: return self.removal(by: peer)
        case 15: return [share, .sharing(peer: guest, .leave(object))] + (self.chance(50) ? [share] : [])
        // Only the founder can.
        default: return self.chance(40) ? self.dismissal() : [share]
        }
    }

    private func dismissal() -> [Action] {
        let guest = self.guest(of: 0)
        let again = self.chance(40) ? [Action.sharing(peer: 0, .readmit(guest))] : []
        return [.sharing(peer: 0, .dismiss(guest))] + again
    }

    /// Somebody removes another machine of his, or the founder one of somebody else.
    private func removal(by peer: Int) -> [Action] {
        let user = self.plan.user(of: peer)
        let machines = (0..<self.plan.peerCount).filter { other in
            other != peer && (user == 0 || self.plan.user(of: other) == user)
        }
        guard !machines.isEmpty, self.chance(50) else { return [] }
        let removed = self.pick(machines)
        let kept = machines.filter { $0 != removed && self.plan.user(of: $0) == self.plan.user(of: removed) }
        let keeps = self.chance(50) ? [] : Array(kept.prefix(1))
        let removal = Action.sharing(peer: peer, .removeDevice(removed, keeping: keeps))
        // With the words either of the two may have the last one.
        guard self.chance(40) else { return [removal] }
        let recovery = Action.sharing(peer: self.chance(70) ? peer : removed, .recover)
        return self.chance(50) ? [recovery, removal] : [removal, recovery, removal]
    }

    /// Somebody edits an object, or what is below it.
    mutating func addEdit(of object: Int, at time: inout VirtualTime) {
        let peer = self.anyPeer()
        let near = self.chance(70) ? object : self.anyObject()
        let steps: WorkStep
        switch self.below(10) {
        case 0..<4: steps = .set(near, property: self.below(Workload.propertyNames.count))
        case 4: steps = .insert(under: near, before: nil)
        case 5: steps = .create(self.object(of: peer), parent: near)
        case 6..<8: steps = .move(near, parent: self.chance(30) ? nil : self.anyObject())
        case 8: steps = .unset(near, property: self.below(Workload.propertyNames.count))
        default: steps = .delete(near)
        }
        self.add(.write(peer: peer, [steps]), at: time)
        time = time + .milliseconds(self.tape.between(0, 400, .sharing))
    }
}
