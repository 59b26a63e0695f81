package import CRDTCore

/// Two devices of each of five users, of whom two are managers and two writers at first; they fork, grant and
/// remove.
package struct RandomCircle: Sendable {
    package var circle = WrittenCircle()
    package var random: SplitMix64
    package let users = (0..<5).map { WrittenCircle.user(UInt64($0)) }
    private var devices: [DeviceID] = []

    package init(seed: UInt64) {
        self.random = SplitMix64(seed: seed)
        for (number, user) in self.users.enumerated() {
            let first = self.circle.add(UInt64(10 + 2 * number), of: user)
            self.devices += [first, self.circle.add(UInt64(11 + 2 * number), of: user, by: first)]
        }
        for (user, role) in zip(self.users[1...], [NaiveRights.Role.manager, .manager, .writer, .writer]) {
            self.say(self.devices[0], [.grant(user, role)])
        }
        for _ in 0..<14 { self.saySomething(by: self.random.pick(self.devices)) }
    }

    package func devices(of number: Int) -> [DeviceID] { Array(self.devices[(2 * number)..<(2 * number + 2)]) }

    /// Writes a change at the end of a device's last chain, on a fork of one, or on a new one.
    package mutating func say(_ device: DeviceID, _ statements: [NaiveRights.Statement], forks: Bool = false) {
        let own = self.circle.changes.indices.filter { self.circle.changes[$0].device == device }
        var change = NaiveRights.Change(by: device, after: forks ? self.random.pick(own + [-1]) : own.last, statements)
        if own.isEmpty || self.random.chance(30) || change.previous == -1 {
            change.previous = nil
            for (place, statement) in self.said {
                guard case .grant(let user, _, _, _) = statement, user == self.circle.devices[device]?.user else {
                    continue
                }
                if self.random.chance(80) { change.under.insert(place) }
            }
        }
        self.circle.append(change)
    }

    private var said: [(NaiveRights.StatementPlace, NaiveRights.Statement)] {
        self.circle.changes.enumerated().flatMap { number, change in
            change.statements.enumerated().map { (NaiveRights.StatementPlace(number, $0.offset), $0.element) }
        }
    }

    package mutating func heads(of user: UserID?) -> Set<Int> {
        var heads: Set<Int> = []
        for (number, change) in self.circle.changes.enumerated()
        where self.circle.devices[change.device]?.user == user && self.random.chance(50) {
            heads.insert(number)
        }
        return heads
    }

    package mutating func saySomething(by device: DeviceID) {
        let user = self.random.pick(self.users)
        var statements: [NaiveRights.Statement] = []
        switch self.random.below(100) {
        case ..<35:
            var despite: Set<NaiveRights.StatementPlace> = []
            for case (let place, .removal(user, _, _)) in self.said where self.random.chance(60) {
                despite.insert(place)
            }
            let role = self.random.pick([NaiveRights.Role.manager, .writer, .reader])
            let names: Set<String>? = role == .writer && self.random.chance(30) ? ["done"] : nil
            statements = [.grant(user, role, names: names, despite: despite)]
        case ..<60:
            let roles = self.random.pick([Set([NaiveRights.Role.writer, .reader]), [.manager], WrittenCircle.all])
            statements = [.removal(user, roles, heads: self.heads(of: user))]
        case ..<75:
            let removed = self.random.pick(self.devices)
            var keep: Set<DeviceID> = []
            for other in self.devices where self.random.chance(10) { keep.insert(other) }
            let heads = self.heads(of: self.circle.devices[removed]?.user)
            statements = [.deviceRemoval(removed, keep: keep, heads: heads)]
        default: break
        }
        self.say(device, statements, forks: self.random.chance(30))
    }
}

extension RandomCircle {
    /// Whether somebody has ever granted a role, or a higher one, to a user.
    package func wasGranted(_ role: NaiveRights.Role, _ user: Int) -> Bool {
        self.circle.changes.contains { change in
            change.statements.contains {
                if case .grant(self.users[user], let granted, _, _) = $0 { granted <= role } else { false }
            }
        }
    }
}
