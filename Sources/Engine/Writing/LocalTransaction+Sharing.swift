package import CRDTCore
internal import PeerCrypto

/// What sharing an object did.
package struct ShareReport: Hashable, Sendable {
    package var circle: Circle
    /// Objects that went over into a circle of their own, which is done when an object is shared for the first time.
    package var movedCount: Int
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
                report.movedCount = try local.plan.transfer(object, to: report.circle, in: &local.state)
            } else if try local.plan.hasParent(object, in: report.circle, in: &local.state) {
                throw .partOfShare(object)
            }
            if try local.lower(user, to: role, in: report.circle) { return report }
            let rights = local.store.circles.index(of: report.circle).flatMap { local.store.rights.rights(in: $0) }
            if let rights, rights.isRemovedByOwner(user, from: role), !report.circle.isOwned(by: local.plan.user) {
                throw .notPermitted(.owner, object)
            }
            let despite = try local.removals(of: user, in: report.circle)
            let grant = RightsStatement.Grant(to: user, role, names: names, despite: despite)
            try local.plan.append(.rights(.grants(grant)), in: report.circle)
            return report
        }
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
            guard circle != local.plan.base else { throw .notShared(object) }
            if try local.plan.hasParent(object, in: circle, in: &local.state) { throw .partOfShare(object) }
            try local.remove(user, from: Set(Role.allCases), in: circle)
        }
    }

    /// Takes a user out of the workspace: the roster lets him in no more.
    package mutating func dismiss(_ user: UserID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            // In what is this user's own, too: others may not have heard of it when they meet.
            for number in 0..<UInt32(local.store.circles.count) {
                let index = CircleIndex(rawValue: number)
                let circle = local.store.circles[index]
                guard circle.isOwned(by: local.plan.user), let rights = local.store.rights.rights(in: index),
                    rights.standingGrants().contains(where: { $0.grant.user == user })
                else { continue }
                try local.remove(user, from: Set(Role.allCases), in: circle)
            }
            try local.remove(user, from: Set(Role.allCases), in: .roster)
        }
    }

    private mutating func remove(
        _ user: UserID,
        from roles: Set<Role>,
        in circle: Circle
    ) throws(WriteRefusal) {
        let heads = try WriteRefusal.from { () throws(StoreError) in try self.store.heads(of: user, in: circle) }
        guard heads.count <= Limits.removalHeadCountMax else {
            throw .tooLarge(what: "chains of the user", limit: Limits.removalHeadCountMax)
        }
        let removal = RightsStatement.Removal(of: user, from: roles, heads: heads)
        try self.plan.append(.rights(.removes(removal)), in: circle)
    }

    /// Takes higher roles from a user than he is to have.
    ///
    /// Returns whether he has that one already.
    private mutating func lower(
        _ user: UserID,
        to role: Role,
        in circle: Circle
    ) throws(WriteRefusal) -> Bool {
        guard let number = self.store.circles.index(of: circle), let rights = self.store.rights.rights(in: number)
        else { return false }
        let standing = rights.standingGrants().map(\.grant).filter { $0.user == user }
        let higher = Set(standing.map(\.role).filter { $0 < role })
        if !higher.isEmpty { try self.remove(user, from: higher, in: circle) }
        return standing.contains { $0.role == role && $0.names == nil }
    }

    /// The removals of a user that a new grant overrides.
    private mutating func removals(of user: UserID, in circle: Circle) throws(WriteRefusal) -> [StatementID] {
        try WriteRefusal.from { () throws(StoreError) -> [StatementID] in
            guard let number = self.store.circles.index(of: circle), let rights = self.store.rights.rights(in: number)
            else { return [] }
            var found: [StatementID] = []
            for place in rights.standingRemovals(of: user).suffix(Limits.grantDespiteCountMax) {
                if let statement = try self.store.statementID(at: place) { found.append(statement) }
            }
            return found
        }
    }
}

extension StoreTransaction {
    /// The last changes of all chains of a user in a circle.
    fileprivate mutating func heads(of user: UserID, in circle: Circle) throws(StoreError) -> [NamedChange] {
        guard let number = self.circles.index(of: circle) else { return [] }
        var heads: [NamedChange] = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            guard progress.circle == number, self.segment(segment).introduction?.user == user else { continue }
            let place = SegmentPoint(segment: segment, sequence: progress.storedSequence)
            guard let hash = try self.hash(at: place) else { continue }
            heads.append(NamedChange(replica: self.replicaID(segment), sequence: place.sequence, hash: hash))
        }
        return heads
    }
}
