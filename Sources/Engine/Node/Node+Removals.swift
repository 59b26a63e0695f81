internal import CRDTCore
internal import PeerCrypto

/// Removals are said in each circle, and somebody may remove a device, or a person, before he hears of a circle where
/// that writes. So the machine that has said it says it again where it is missing.
///
/// No other one does: it would say with its own weight what may turn out to be a thief's.
extension Node where Store: ~Copyable {
    /// Says again what the roster says of who is removed, where that is missing, if what is said has changed.
    mutating func repeatRemovals() {
        do throws(StoreError) {
            let age = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                RightsAge(of: transaction)
            }
            guard age != self.repeatedAge else { return }
            self.repeatedAge = age
            try self.judgeDevices()
            try self.closeCircles()
            try self.bringBack()
            let isNew = try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Bool in
                try author.repeatRemovals(in: &transaction)
            }
            guard isNew else { return }
            try self.judgeDevices()
            self.pumpAll()
        } catch {
            self.note(error)
        }
    }
}

extension ReplicaAuthor {
    /// Writes in each circle what of the removals in the roster is missing there; returns whether anything was.
    ///
    /// What stays is what the chains say to be from before the removal in the roster.
    /// - Complexity: O(*c* *r*) for *c* circles and *r* removals.
    fileprivate mutating func repeatRemovals(in transaction: inout some NodeTransaction) throws(StoreError) -> Bool {
        guard let number = transaction.circles.index(of: .roster), let roster = transaction.rights.rights(in: number),
            let own = self.author, !roster.isRemoved(own)
        else { return false }
        let removals = roster.deviceRemovals.filter { $0.author.line[0] == own.line[0] }
        let isFounder = self.identity.user == self.membership.founder
        if removals.isEmpty, !isFounder { return false }
        let authors = transaction.authors
        let members = Set(roster.standingGrants().map(\.grant.user))
        var isNew = false
        for number in 0..<UInt32(transaction.circles.count) {
            let index = CircleIndex(rawValue: number)
            let circle = transaction.circles[index]
            let rights = transaction.rights.rights(in: index)
            // What is said by whom is removed there counts nowhere.
            if circle == .roster || rights?.isRemoved(own) ?? false { continue }
            let owner = circle.owner(founder: self.membership.founder)
            var statements: [RightsStatement] = []
            for removal in removals {
                guard let target = authors[removal.device], !(rights?.isRemoved(target) ?? false),
                    self.maySay(removal, of: target, by: own, in: circle, rights)
                else { continue }
                let lost = Set(authors.filter { $0.value.goes(with: removal.device, keeping: removal.keep) }.keys)
                var remainder = Remainder(
                    of: removal.device,
                    target.user,
                    keeping: removal.keep,
                    lost: lost,
                    until: try transaction.time(of: removal.place)
                )
                let heads = try transaction.heads(in: circle, of: &remainder)
                let keep = removal.keep.sorted()
                statements.append(.removesDevice(.init(of: removal.device, keep: keep, heads: heads)))
            }
            for user in Set(rights?.standingGrants().map(\.grant.user) ?? []).subtracting(members)
            where owner == own.user && isFounder && user != owner {
                let places = roster.standingRemovals(of: user).filter { place in
                    transaction.segment(place.change.segment).device == own.line[0]
                }
                guard let place = places.last else { continue }
                var remainder = Remainder(of: user, until: try transaction.time(of: place))
                let heads = try transaction.heads(in: circle, of: &remainder)
                statements.append(.removes(.init(of: user, from: Set(Role.allCases), heads: heads)))
            }
            // Each may be as large as a change can be.
            for statement in statements {
                let edits = [Edit.rights(statement)]
                guard try self.commit(edits, on: Timeline(circle: circle), in: &transaction) != nil else {
                    return isNew
                }
                isNew = true
            }
        }
        return isNew
    }

    /// Whether this device may say a removal in a circle, where it has something to say.
    private func maySay(
        _ removal: (place: StatementPlace, author: ChainAuthor, device: DeviceID, keep: Set<DeviceID>),
        of target: ChainAuthor,
        by own: ChainAuthor,
        in circle: Circle,
        _ rights: CircleRights?
    ) -> Bool {
        let isOwner = circle.owner(founder: self.membership.founder) == own.user
        if target.user == own.user {
            // A machine that was certified anew since is not removed by it, however high this one stands by now.
            return own.standsAbove(target) && removal.author.standsAbove(target)
                && (isOwner || !(rights?.standingGrants(to: own).isEmpty ?? true))
        }
        // A machine of somebody else: whoever owns what he was given, if he has it removed.
        return isOwner && removal.author.user == own.user && rights?.hasGranted(target.user) ?? false
    }
}

extension StoreTransaction {
    /// When a change with a statement says to be from.
    fileprivate mutating func time(of place: StatementPlace) throws(StoreError) -> WallTime {
        WallTime(milliseconds: try self.header(at: place.change)?.stamp.milliseconds ?? 0)
    }
}
