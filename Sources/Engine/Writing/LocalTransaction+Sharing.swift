package import CRDTCore
internal import PeerCrypto

/// What sharing an object did.
package struct ShareReport: Hashable, Sendable {
    package var circle: Circle
    /// Objects that went over into a circle of their own, which is done when an object is shared for the first time.
    package var movedCount: Int
    /// Whether it is to be done once more, in a further transaction: not all objects had room, or a role was taken that
    /// is to be given again, for less, and the grant names the removal.
    package var isHalfDone = false
}

/// Objects that others may read and write: each with what is below it is a circle of its own.
extension LocalTransaction {
    /// Lets somebody read or write an object and what is below it, and nothing of what they were before.
    ///
    /// - Throws: `WriteRefusal` if the object does not show or is below one that is shared, if the user may not give
    ///   that role, or if a value is not here.
    package mutating func share(
        _ object: ObjectID,
        with user: UserID,
        as role: Role,
        names: [String]? = nil
    ) throws(WriteRefusal) -> ShareReport {
        try self.planning { local throws(WriteRefusal) in
            guard try local.plan.isVisible(object, in: &local.state) else { throw .noSuchObject(object) }
            var report = ShareReport(circle: try local.plan.circle(of: object, in: &local.state), movedCount: 0)
            if report.circle == local.plan.base {
                let nonce = Bytes16(high: local.entropy.nextUInt64(), low: local.entropy.nextUInt64())
                report.circle = .shared(owner: local.plan.user, nonce: nonce)
            } else if try local.plan.hasParent(object, in: report.circle, in: &local.state) {
                throw .partOfShare(object)
            } else {
                _ = try local.plan.deleteTwins(below: object, in: &local.state)
            }
            if report.circle.isOwned(by: local.plan.user) {
                let moved = try local.plan.transfer(object, to: report.circle, inParts: true, in: &local.state)
                (report.movedCount, report.isHalfDone) = (moved.count, !moved.isWhole)
            }
            if try local.grant(user, role, names, in: report.circle, about: object) { report.isHalfDone = true }
            return report
        }
    }

    /// Gives a user a role in a circle, unless he has it, and takes what is more.
    ///
    /// Returns whether the role itself was taken, and is to be given in a further transaction.
    mutating func grant(
        _ user: UserID,
        _ role: Role,
        _ names: [String]?,
        in circle: Circle,
        about object: ObjectID
    ) throws(WriteRefusal) -> Bool {
        if try self.lower(user, to: role, names, in: circle).contains(role) { return true }
        if self.has(user, role, names, in: circle) { return false }
        let rights = self.store.circles.index(of: circle).flatMap { self.store.rights.rights(in: $0) }
        if let rights, rights.isRemovedByOwner(user, from: role), !circle.isOwned(by: self.plan.user) {
            throw .notPermitted(.owner, object)
        }
        let despite = try WriteRefusal.from { () throws(StoreError) in
            try self.store.removalsToOverride(of: user, in: circle)
        }
        let grant = RightsStatement.Grant(to: user, role, names: names, despite: despite)
        try self.plan.append(.rights(.grants(grant)), in: circle)
        return false
    }

    /// Takes from somebody what he may do with an object that is shared.
    ///
    /// What is here of his edits stays; what he wrote without anybody here having it does not count.
    ///
    /// - Throws: `WriteRefusal` if the object does not show, is not shared or is below one that is, or if the user may
    ///   not take that.
    package mutating func unshare(_ object: ObjectID, with user: UserID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            guard try local.plan.isVisible(object, in: &local.state) else { throw .noSuchObject(object) }
            let circle = try local.plan.circle(of: object, in: &local.state)
            // Who has it only where another machine moved it at once has nothing more now.
            let hadTwins = try local.plan.deleteTwins(below: object, in: &local.state)
            if hadTwins, !local.standingGrants(in: circle).contains(where: { $0.user == user }) { return }
            guard circle != local.plan.base else { throw .notShared(object) }
            if try local.plan.hasParent(object, in: circle, in: &local.state) { throw .partOfShare(object) }
            // Who manages takes the roles below his own.
            let isManager = local.standingGrants(in: circle).contains { $0.user == user && $0.role == .manager }
            let isOwn = circle == local.plan.base || circle.isOwned(by: local.plan.user)
            if isManager, !isOwn, user != local.plan.user { throw .notPermitted(.owner, object) }
            let roles: Set<Role> = isOwn || user == local.plan.user ? Set(Role.allCases) : [.writer, .reader]
            try local.remove(user, from: roles, in: circle)
            try local.unshareHidden(in: circle, with: user)
        }
    }

    /// Gives up what others have given this user in an object that is shared: it shows here no more.
    ///
    /// - Throws: `WriteRefusal` if the object does not show, is not shared or is below one that is, or is this user's.
    package mutating func leave(_ object: ObjectID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            guard try local.plan.isVisible(object, in: &local.state) else { throw .noSuchObject(object) }
            let (circle, user) = (try local.plan.circle(of: object, in: &local.state), local.plan.user)
            guard circle != local.plan.base else { throw .notShared(object) }
            guard !circle.isOwned(by: user) else { throw .isOwner(object) }
            if try local.plan.hasParent(object, in: circle, in: &local.state) { throw .partOfShare(object) }
            try local.unshareHidden(in: circle, with: user)
            try local.remove(user, from: Set(Role.allCases), in: circle)
        }
    }

    /// Says what a user is called in the workspace, and whether somebody has made sure that it is he.
    ///
    /// In the roster the role of a writer stands for that: it has no objects that could be written.
    package mutating func name(_ user: UserID, _ name: String, isVerified: Bool) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            let role = isVerified ? Role.writer : .reader
            let despite = try WriteRefusal.from { () throws(StoreError) in
                try local.store.removalsToOverride(of: user, in: .roster)
            }
            let grant = RightsStatement.Grant(to: user, role, despite: despite, name: name)
            try local.plan.append(.rights(.grants(grant)), in: .roster)
        }
    }

    /// Takes a user out of the workspace: the roster lets him in no more.
    /// - Throws: `WriteRefusal` unless this user has made the workspace.
    package mutating func dismiss(_ user: UserID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            guard local.plan.user == local.founder else { throw .notPermitted(.owner, nil) }
            try local.remove(user, from: Set(Role.allCases), in: .roster)
            try local.replaceMembershipKey()
            // In what is this user's own, too: others may not have heard of it when they meet. What there is no room
            // for is said again right after this (`Node+Removals`).
            for number in 0..<UInt32(local.store.circles.count) {
                let index = CircleIndex(rawValue: number)
                let circle = local.store.circles[index]
                guard circle.isOwned(by: local.plan.user),
                    local.standingGrants(in: circle).contains(where: { $0.user == user })
                else { continue }
                try local.remove(user, from: Set(Role.allCases), in: circle, ifThereIsRoom: true)
            }
        }
    }

    mutating func remove(
        _ user: UserID,
        from roles: Set<Role>,
        in circle: Circle,
        ifThereIsRoom isOptional: Bool = false
    ) throws(WriteRefusal) {
        let heads = try WriteRefusal.from { () throws(StoreError) -> [NamedChange] in
            var remainder = Remainder(of: user)
            return try self.store.heads(in: circle, of: &remainder)
        }
        let edit = Edit.rights(.removes(RightsStatement.Removal(of: user, from: roles, heads: heads)))
        if isOptional, !self.plan.hasRoom(for: edit, before: 0) { return }
        try self.plan.append(edit, in: circle)
    }

    /// What is granted in a circle and not taken back.
    func standingGrants(in circle: Circle) -> [RightsStatement.Grant] {
        let rights = self.store.circles.index(of: circle).flatMap { self.store.rights.rights(in: $0) }
        return rights?.standingGrants().map(\.grant) ?? []
    }

    private func has(_ user: UserID, _ role: Role, _ names: [String]?, in circle: Circle) -> Bool {
        self.standingGrants(in: circle).contains { grant in
            grant.user == user && grant.role == role && grant.exactNames == names.map { Set($0.map { ExactText($0) }) }
        }
    }

    /// Takes from a user what is more than he is to have.
    ///
    /// Returns the roles that are taken.
    private mutating func lower(
        _ user: UserID,
        to role: Role,
        _ names: [String]?,
        in circle: Circle
    ) throws(WriteRefusal) -> Set<Role> {
        let excess = self.standingGrants(in: circle).filter { grant in
            guard grant.user == user else { return false }
            guard grant.role == role, let names else { return grant.role < role }
            return grant.exactNames.map { !$0.isSubset(of: names.map { ExactText($0) }) } ?? true
        }
        let roles = Set(excess.map(\.role))
        if !roles.isEmpty { try self.remove(user, from: roles, in: circle) }
        return roles
    }
}

extension RightsStatement.Grant {
    /// The properties that may be written, as they are compared; nil for all.
    fileprivate var exactNames: Set<ExactText>? { self.names.map { Set($0.map { ExactText($0) }) } }
}
