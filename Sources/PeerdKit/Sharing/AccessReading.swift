internal import CRDTCore
internal import Engine
internal import Persistence

/// What one state of a store says of access.
struct AccessReading {
    var state: WorkspaceState
    var transaction: SQLiteTransaction
    let people: People
    let rights: RightsTable
    /// The circles that their owners' machines say this user does not read any more.
    let ended: Set<Circle>
    let identity: Workspace.Identity

    init(_ identity: Workspace.Identity, _ transaction: SQLiteTransaction) throws {
        var transaction = transaction
        self.identity = identity
        self.state = WorkspaceState(.present, of: transaction)
        self.ended = Set(try transaction.endedCircles().keys)
        var store: any StoreTransaction = transaction
        self.people = try People(founder: identity.founder, user: identity.user, in: &store)
        self.rights = try store.judgedRights(founder: identity.founder)
        self.transaction = transaction
    }

    /// Who may do what with an object that shows.
    mutating func report(on index: ObjectIndex) throws(StoreError) -> AccessReport {
        let number = try self.state.object(index).circle
        let circle = self.state.circles[number]
        let owner = circle.owner(founder: self.identity.founder)
        var access = self.access(in: number)
        let hasEnded = self.ended.contains(circle)
        if hasEnded { access.removeAll { $0.person.isYou } }
        let people = [PersonAccess(person: self.people.person(owner), role: .owner, properties: nil)] + access
        return AccessReport(
            shared: self.isShared(circle) ? try self.top(of: index, in: number) : nil,
            people: people,
            hidden: try self.hiddenProperties(of: index),
            copies: try self.copies(of: index, besides: people),
            hasEnded: hasEnded
        )
    }

    /// Who has a copy of an object that does not change with it, and does not read the object.
    ///
    /// Where several have moved it at once, or somebody has made one with its id, it lives in other circles as well.
    private mutating func copies(
        of index: ObjectIndex,
        besides people: [PersonAccess]
    ) throws(StoreError) -> [PersonAccess] {
        var (copies, known): ([PersonAccess], Set<String>) = ([], Set(people.map(\.person.id)))
        for other in try self.state.objects(of: self.state.object(index).id) where other != index {
            let circle = try self.state.object(other).circle
            guard !self.state.circles[circle].isBeside, !self.state.circles.closed.contains(circle),
                try self.state.isAlive(other)
            else { continue }
            let owner = self.people.person(self.state.circles[circle].owner(founder: self.identity.founder))
            let all = [PersonAccess(person: owner, role: .owner, properties: nil)] + self.access(in: circle)
            copies += all.filter { !$0.person.isYou && known.insert($0.person.id).inserted }
        }
        return copies
    }

    /// Who may do what with those of some objects that are shared by themselves.
    mutating func shares(of objects: [ObjectIndex]) throws(StoreError) -> [AccessReport] {
        var shares: [AccessReport] = []
        for object in objects {
            let record = try self.state.object(object)
            guard record.isVisible, self.isShared(self.state.circles[record.circle]),
                try self.state.parentInCircle(of: object) == nil
            else { continue }
            let report = try self.report(on: object)
            if report.people.count > 1 || report.hasEnded { shares.append(report) }
        }
        func place(_ report: AccessReport) -> (Int, String) {
            (report.people.first?.person.isYou ?? false ? 1 : 0, report.shared?.description ?? "")
        }
        return shares.sorted { place($0) < place($1) }
    }

    private func isShared(_ circle: Circle) -> Bool {
        circle != .home && circle != .own(of: circle.owner(founder: self.identity.founder))
    }

    /// The object at the root of a circle that another one of it stands below.
    private mutating func top(of index: ObjectIndex, in circle: CircleIndex) throws(StoreError) -> ObjectID {
        var (top, watch) = (index, CycleWatch<ObjectIndex>())
        while let parent = try self.state.object(top).parent, try self.state.object(parent).circle == circle {
            try watch.pass(parent)
            top = parent
        }
        return try self.state.object(top).id
    }

    /// What is given to others in a circle, by their names.
    private func access(in circle: CircleIndex) -> [PersonAccess] {
        let standing = self.rights.rights(in: circle)?.standing ?? []
        let access = standing.map { user, role, names in
            PersonAccess(person: self.people.person(user), role: AccessRole(role), properties: names)
        }
        return access.sorted { ($0.person.name, $0.person.id) < ($1.person.name, $1.person.id) }
    }

    /// The properties of an object that somebody hides, as far as this user reads them.
    private mutating func hiddenProperties(of object: ObjectIndex) throws(StoreError) -> [HiddenProperty] {
        var people: [ExactText: [PersonAccess]] = [:]
        for beside in try self.state.besides(object) {
            let circle = try self.state.object(beside).circle
            let owner = self.state.circles[circle].owner(founder: self.identity.founder)
            let all =
                [PersonAccess(person: self.people.person(owner), role: .owner, properties: nil)]
                + self.access(in: circle)
            // Machines that hid it at once may have done so in several circles.
            for (name, _) in try self.state.properties(of: beside) {
                let known = people[ExactText(name)] ?? []
                people[ExactText(name)] =
                    known + all.filter { access in !known.contains { $0.person.id == access.person.id } }
            }
        }
        let hidden = people.map { HiddenProperty(name: $0.key.text, people: $0.value) }
        return hidden.sorted { $0.name < $1.name }
    }
}
