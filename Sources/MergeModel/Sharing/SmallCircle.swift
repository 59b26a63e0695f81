internal import CRDTCore

/// A circle of an owner, a manager and a writer, who do three things more: one of all that there are, by its number.
///
/// The owner has let the other two in, and each of them has begun a chain. What comes then is a write, a grant or a
/// removal, at the end of its author's last chain or, once, on a fork after its first change. Who was granted something
/// since begins a new chain for what he does next.
package struct SmallCircle: Sendable {
    package let circle: WrittenCircle
    /// What is done, for people.
    package let lines: [String]

    /// What one of them does.
    private enum Deed: Hashable {
        case write
        /// A grant to the next of the other two, or the one after; it overrides all removals that there are, or none.
        case grant(toNext: Bool, NaiveRights.Role, despite: Bool)
        /// What the user has written by then stays, or his first change, or nothing.
        case remove(next: Bool, kept: Kept)
        case leave
    }

    private enum Kept: CaseIterable { case all, first, nothing }

    private struct Step {
        var actor: Int
        var forks: Bool
        var deed: Deed
    }

    private static let stepCount = 3
    private static let roles = [NaiveRights.Role.manager, .writer, .reader]
    private static let steps: [Step] = {
        var deeds: [Deed] = [.write, .leave]
        for isNext in [true, false] {
            for role in SmallCircle.roles {
                for despite in [true, false] { deeds.append(.grant(toNext: isNext, role, despite: despite)) }
            }
            for kept in Kept.allCases { deeds.append(.remove(next: isNext, kept: kept)) }
        }
        return (0..<3).flatMap { actor in
            [false, true].flatMap { forks in deeds.map { Step(actor: actor, forks: forks, deed: $0) } }
        }
    }()

    /// How many there are; several forks in one are no case.
    package static let count = (0..<SmallCircle.stepCount).reduce(1) { total, _ in total * SmallCircle.steps.count }

    /// Makes the circle with a number; nil if several would fork in it.
    package init?(number: Int) {
        var (rest, steps): (Int, [Step]) = (number, [])
        for _ in 0..<SmallCircle.stepCount {
            steps.append(SmallCircle.steps[rest % SmallCircle.steps.count])
            rest /= SmallCircle.steps.count
        }
        guard steps.count(where: \.forks) <= 1 else { return nil }
        var world = World()
        for step in steps { world.take(step) }
        (self.circle, self.lines) = (world.circle, world.lines)
    }

    /// The circle as it comes about.
    private struct World {
        var circle = WrittenCircle()
        var lines: [String] = []
        private let users = (0..<3).map { WrittenCircle.user(UInt64($0)) }
        private var devices: [DeviceID] = []
        /// The grants to each user that his last chain names.
        private var named: [Set<NaiveRights.StatementPlace>] = [[], [], []]
        private static let names = ["owner", "manager", "writer"]

        init() {
            self.devices = self.users.enumerated().map { number, user in
                self.circle.add(UInt64(10 + number), of: user)
            }
            self.circle.append(
                NaiveRights.Change(
                    by: self.devices[0],
                    [.grant(self.users[1], .manager), .grant(self.users[2], .writer)]
                )
            )
            for number in 1...2 {
                self.named[number] = [NaiveRights.StatementPlace(0, number - 1)]
                self.circle.append(NaiveRights.Change(by: self.devices[number], under: self.named[number]))
            }
        }

        mutating func take(_ step: Step) {
            let own = self.circle.changes.indices.filter { self.circle.changes[$0].device == self.devices[step.actor] }
            var change = NaiveRights.Change(by: self.devices[step.actor], after: step.forks ? own.first : own.last)
            let grants = self.grants(to: self.users[step.actor])
            if !step.forks, grants != self.named[step.actor], step.actor > 0 {
                (change.previous, change.under) = (nil, grants)
                self.named[step.actor] = grants
            }
            change.statements = self.statements(of: step)
            self.circle.append(change)
            let place = step.forks ? "on a fork " : change.previous == nil ? "on a new chain " : ""
            self.lines.append("\(Self.names[step.actor]) \(place)\(step.deed)")
        }

        private func statements(of step: Step) -> [NaiveRights.Statement] {
            func other(_ isNext: Bool) -> UserID { self.users[(step.actor + (isNext ? 1 : 2)) % 3] }
            switch step.deed {
            case .write: return []
            case .grant(let isNext, let role, let despite):
                return [.grant(other(isNext), role, despite: despite ? self.removals(of: other(isNext)) : [])]
            case .remove(let isNext, let kept):
                let own = self.circle.changes.indices.filter { number in
                    self.circle.devices[self.circle.changes[number].device]?.user == other(isNext)
                }
                let heads = kept == .all ? Set(own) : kept == .first ? Set(own.prefix(1)) : []
                return [.removal(other(isNext), WrittenCircle.all, heads: heads)]
            case .leave: return [.removal(self.users[step.actor], WrittenCircle.all, heads: [])]
            }
        }

        private func grants(to user: UserID) -> Set<NaiveRights.StatementPlace> {
            self.places { if case .grant(user, _, _, _) = $0 { true } else { false } }
        }

        private func removals(of user: UserID) -> Set<NaiveRights.StatementPlace> {
            self.places { if case .removal(user, _, _) = $0 { true } else { false } }
        }

        private func places(where isWanted: (NaiveRights.Statement) -> Bool) -> Set<NaiveRights.StatementPlace> {
            var places: Set<NaiveRights.StatementPlace> = []
            for (number, change) in self.circle.changes.enumerated() {
                for (index, statement) in change.statements.enumerated() where isWanted(statement) {
                    places.insert(NaiveRights.StatementPlace(number, index))
                }
            }
            return places
        }
    }
}
