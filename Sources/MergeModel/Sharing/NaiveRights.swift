package import CRDTCore

/// Which changes of a circle count, by what all of its changes say and without regard to speed.
///
/// The verdicts depend on the set of changes alone: no stamp, no context and no order of arrival is looked at. They are
/// found in three layers, none of which looks at a later one: which devices were removed, what the owner says, and what
/// managers say.
package struct NaiveRights: Sendable {
    /// What a user may do in a circle; each role includes the later ones.
    package enum Role: Int, Hashable, Comparable, CaseIterable, Sendable {
        case owner, manager, writer, reader

        package static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }
    }

    /// A machine of a user, as its certificates say.
    package struct Device: Hashable, Sendable {
        package var user: UserID
        /// The devices that vouch for it, the nearest first.
        package var issuers: [DeviceID]
        /// How often the user had recovered when the first of them was certified.
        package var generation: Int

        package init(user: UserID, issuers: [DeviceID] = [], generation: Int = 1) {
            (self.user, self.issuers, self.generation) = (user, issuers, generation)
        }
    }

    /// A statement, by the number of its change and its place there.
    package struct StatementPlace: Hashable, Sendable {
        package var change: Int
        package var index: Int

        package init(_ change: Int, _ index: Int = 0) { (self.change, self.index) = (change, index) }
    }

    package enum Statement: Hashable, Sendable {
        /// A user has a role; a writer's may be that of some properties alone (nil: of all). It overrides the removals
        /// in `despite`, if nobody of a higher level made them.
        case grant(UserID, Role, names: Set<String>? = nil, despite: Set<StatementPlace> = [])
        /// A user has some roles no more. What he wrote by them counts as far as it is within the heads.
        case removal(UserID, Set<Role>, heads: Set<Int>)
        /// The same of a device and those below it, without those that are kept.
        case deviceRemoval(DeviceID, keep: Set<DeviceID>, heads: Set<Int>)
    }

    package struct Change: Sendable {
        package var device: DeviceID
        /// The number of the change before it in its chain, nil for the first; several have the same in a fork.
        package var previous: Int?
        package var statements: [Statement]
        /// The grants that the chain names as it begins; of no meaning in a later change.
        package var under: Set<StatementPlace>
        /// What the chain's certificates say; nil if that is what those of its device say now.
        package var author: Device?

        package init(
            by device: DeviceID,
            after previous: Int? = nil,
            _ statements: [Statement] = [],
            under: Set<StatementPlace> = [],
            as author: Device? = nil
        ) {
            (self.device, self.previous, self.statements, self.under) = (device, previous, statements, under)
            self.author = author
        }
    }

    private struct CountingGrant {
        var place: StatementPlace
        var level: Role
        var user: UserID
        var role: Role
        var names: Set<String>?
    }

    private struct CountingRemoval {
        var place: StatementPlace
        var level: Role
        var user: UserID
        var roles: Set<Role>
    }

    private let owner: UserID
    private let devices: [DeviceID: Device]
    private let changes: [Change]
    private var removedDevices: [(change: Int, device: DeviceID, keep: Set<DeviceID>, heads: Set<Int>)] = []
    private var grants: [CountingGrant] = []
    private var removals: [CountingRemoval] = []

    package init(owner: UserID, devices: [DeviceID: Device], changes: [Change]) {
        (self.owner, self.devices, self.changes) = (owner, devices, changes)
        self.judgeDevices()
        self.judgeOwner()
        self.judgeManagers()
    }

    // MARK: - Verdicts

    /// Whether a user may act in a role, or in a higher one, in one of his changes, and so that it stands.
    package func counts(_ change: Int, as role: Role = .writer) -> Bool {
        self.stands(change) && self.acts(change, as: role, name: nil)
    }

    /// Whether a write to a property counts.
    package func counts(_ change: Int, writing name: String) -> Bool {
        self.stands(change) && self.acts(change, as: .writer, name: name)
    }

    /// Whether the circle is sent to a device now.
    package func reads(_ device: DeviceID) -> Bool {
        let user = self.devices[device]?.user
        let under = Set(self.grants.filter { $0.user == user }.map(\.place))
        var rights = self
        rights = NaiveRights(rights, adding: Change(by: device, under: under))
        return rights.counts(rights.changes.count - 1, as: .reader)
    }

    /// Whether a user has given up by himself what he was granted, and was granted nothing since that is left.
    package func hasLeft(_ user: UserID) -> Bool {
        let hasLeft = self.removals.contains { $0.user == user && self.author(of: $0.place.change)?.user == user }
        return hasLeft && !self.grants.contains { $0.user == user && self.heads(cutting: $0).isEmpty }
    }

    /// The same verdicts with a change that says nothing.
    private init(_ rights: NaiveRights, adding change: Change) {
        (self.owner, self.devices, self.changes) = (rights.owner, rights.devices, rights.changes + [change])
        (self.removedDevices, self.grants, self.removals) = (rights.removedDevices, rights.grants, rights.removals)
    }

    // MARK: - The three layers

    /// Removals of devices, those by the owner first, then by the devices that stand highest: nobody else could hit
    /// them.
    private mutating func judgeDevices() {
        var said: [(change: Int, device: DeviceID, keep: Set<DeviceID>, heads: Set<Int>)] = []
        for (number, change) in self.changes.enumerated() {
            for case .deviceRemoval(let device, let keep, let heads) in change.statements {
                said.append((number, device, keep, heads))
            }
        }
        func rank(_ change: Int) -> (Int, Int, Int) {
            let author = self.author(of: change)
            return (author?.user == self.owner ? 0 : 1, -(author?.generation ?? 0), author?.issuers.count ?? 0)
        }
        for removal in said.sorted(by: { rank($0.change) < rank($1.change) }) {
            if self.stands(removal.change) { self.removedDevices.append(removal) }
        }
    }

    /// All that the owner says, and removals of oneself.
    private mutating func judgeOwner() {
        for (place, statement) in self.standing where self.author(of: place.change)?.user == self.owner {
            self.take(statement, at: place, level: .owner)
        }
        for (place, statement) in self.standing {
            guard case .removal(let user, let roles, _) = statement, user == self.author(of: place.change)?.user,
                user != self.owner
            else { continue }
            self.removals.append(CountingRemoval(place: place, level: .reader, user: user, roles: roles))
        }
    }

    /// What managers say of writers and readers.
    private mutating func judgeManagers() {
        let said = self.standing.filter { self.isManagers($0.place.change) }
        for (place, statement) in said { self.take(statement, at: place, level: .manager) }
    }

    private func isManagers(_ change: Int) -> Bool {
        guard self.author(of: change)?.user != self.owner else { return false }
        return self.grants.contains { $0.role == .manager && self.admits($0, change) }
    }

    private mutating func take(_ statement: Statement, at place: StatementPlace, level: Role) {
        switch statement {
        case .grant(let user, let role, let names, _):
            guard role > level else { return }
            let names = role == .writer ? names : nil
            self.grants.append(CountingGrant(place: place, level: level, user: user, role: role, names: names))
        case .removal(let user, let roles, _):
            // The owner cannot be removed.
            guard user != self.owner else { return }
            let roles = roles.filter { $0 > level }
            self.removals.append(CountingRemoval(place: place, level: level, user: user, roles: roles))
        case .deviceRemoval: break
        }
    }

    private var standing: [(place: StatementPlace, statement: Statement)] {
        self.changes.enumerated().filter { self.stands($0.offset) }.flatMap { number, change in
            change.statements.enumerated().map { (StatementPlace(number, $0.offset), $0.element) }
        }
    }

    // MARK: - One change

    private func author(of change: Int) -> Device? {
        self.changes[change].author ?? self.devices[self.changes[change].device]
    }

    /// Whether no removal of a device hits a change.
    private func stands(_ change: Int) -> Bool {
        guard let author = self.author(of: change) else { return false }
        let line = [self.changes[change].device] + author.issuers
        return !self.removedDevices.contains { removed in
            guard let place = line.firstIndex(of: removed.device), let remover = self.author(of: removed.change) else {
                return false
            }
            // A device that was certified anew has older chains with other certificates.
            let vouches = line[(place + 1)...].contains(self.changes[removed.change].device)
            let isAbove = remover.user == author.user && (vouches || remover.generation > author.generation)
            guard isAbove || (remover.user == self.owner && author.user != self.owner) else { return false }
            return !line[..<place].contains(where: removed.keep.contains) && !self.isWithin(removed.heads, change)
        }
    }

    private func acts(_ change: Int, as role: Role, name: String?) -> Bool {
        if self.author(of: change)?.user == self.owner { return true }
        return self.grants.contains { grant in
            guard grant.role <= role, self.admits(grant, change) else { return false }
            // What is not about one property needs a writer of all.
            guard role == .writer, grant.role == .writer, let names = grant.names else { return true }
            return name.map(names.contains) ?? false
        }
    }

    private func admits(_ grant: CountingGrant, _ change: Int) -> Bool {
        let user = self.author(of: change)?.user
        let path = self.path(to: change)
        guard grant.user == user, let first = path.last, self.changes[first].under.contains(grant.place) else {
            return false
        }
        return self.heads(cutting: grant).allSatisfy { self.isWithin($0, change) }
    }

    /// What is left by each of the removals that take a grant away.
    private func heads(cutting grant: CountingGrant) -> [Set<Int>] {
        func statement(_ place: StatementPlace) -> Statement { self.changes[place.change].statements[place.index] }
        guard case .grant(_, _, _, let despite) = statement(grant.place) else { return [] }
        return self.removals.compactMap { removal in
            guard removal.user == grant.user, removal.roles.contains(grant.role),
                case .removal(_, _, let heads) = statement(removal.place)
            else { return nil }
            let isOverridden = despite.contains(removal.place) && grant.level <= removal.level
            return isOverridden ? nil : heads
        }
    }

    /// Whether a change is one of the heads, or comes before one in its chain.
    private func isWithin(_ heads: Set<Int>, _ change: Int) -> Bool {
        heads.contains { self.path(to: $0).contains(change) }
    }

    /// A change, and those before it in its chain, the first last.
    private func path(to change: Int) -> [Int] {
        var path = [change]
        while let previous = self.changes[path[path.count - 1]].previous { path.append(previous) }
        return path
    }
}
