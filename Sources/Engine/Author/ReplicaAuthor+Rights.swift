package import CRDTCore

/// What the user of this device may write, as far as is known here.
///
/// Others come to their own verdict. This only spares the user writes that nobody would count.
extension ReplicaAuthor {
    /// This device, as its certificates say.
    var author: ChainAuthor? {
        ChainAuthor(self.identity.introduction(nonce: Bytes16(high: 0, low: 0)))
    }

    /// Whether the user owns a circle, so that he needs no grant.
    func owns(_ circle: Circle) -> Bool {
        circle.owner(founder: self.membership.founder) == self.identity.user
    }

    /// The circle that objects are made in at the root: home, or the user's own if he does not read home.
    func base(in transaction: some NodeTransaction) -> Circle {
        if self.owns(.home) { return .home }
        guard let author = self.author, let rights = transaction.rights.rights(in: .home), rights.reads(author) else {
            return .own(of: self.identity.user)
        }
        return .home
    }

    /// Why edits would not count if this device made them now; nil if they would.
    ///
    /// - Complexity: O(*e* *g*) for *e* edits and *g* grants of the circle; O(1) for its owner who has given no right.
    func refusal(of part: CircleEdits, in transaction: some NodeTransaction) -> WriteRefusal? {
        let rights = transaction.circles.index(of: part.circle).flatMap { transaction.rights.rights(in: $0) }
        if rights == nil, self.owns(part.circle) { return nil }
        let hasEnded = self.state.ended[part.circle] != nil
        var known: [RightNeed: Bool] = [:]
        for edit in part.edits {
            guard let need = self.need(of: edit, in: part.circle) else { continue }
            var isAllowed = known[need] ?? self.author.flatMap { rights?.allows(need, to: $0) } ?? false
            if hasEnded { isAllowed = false }
            known[need] = isAllowed
            if !isAllowed { return .notPermitted(need, edit.object) }
        }
        // A chain that names no grant nobody takes in.
        guard self.owns(part.circle) || rights?.names(self.identity.user) ?? false else {
            return .notPermitted(.role(.reader), nil)
        }
        return nil
    }

    /// What this device's user must be allowed for an edit; nil if nothing, or if it would count in any case.
    private func need(of edit: Edit, in circle: Circle) -> RightNeed? {
        switch edit {
        case .rights(.grants(let grant)): self.need(toSay: [grant.role], in: circle)
        case .rights(.removes(let removal)) where removal.user != self.identity.user:
            self.need(toSay: removal.roles, in: circle)
        case .rights(.membershipKey): .role(.reader)
        // In the roster, nobody takes in a chain of somebody who has not heard yet that he is let in.
        case .rights(.removesDevice): self.owns(circle) ? nil : .role(.reader)
        // Nothing brings back what is erased, so it takes more than other edits (`Merge.noteErasures`).
        case .erase: .role(.manager)
        default: edit.need
        }
    }

    /// Managers give and take the roles below theirs; that of managers is the owner's.
    private func need(toSay roles: Set<Role>, in circle: Circle) -> RightNeed {
        roles.contains(.manager) && !self.owns(circle) ? .owner : .role(.manager)
    }

    /// What a chain of this device in a circle is written under.
    ///
    /// If nothing is granted to its user any more, what was: others take in no chain that names nothing, and there may
    /// be something left to say of what he wrote before.
    func grants(in circle: Circle, of transaction: inout some NodeTransaction) throws(StoreError) -> [StatementID] {
        guard !self.owns(circle), let author = self.author, let index = transaction.circles.index(of: circle),
            let rights = transaction.rights.rights(in: index)
        else { return [] }
        var grants: [StatementID] = []
        let standing = rights.standingGrants(to: author)
        let named = standing.isEmpty ? rights.formerGrants(to: author.user) : standing
        // The last ones, if there are more than a chain may name.
        for place in named.suffix(Limits.chainGrantCountMax) {
            if let statement = try transaction.statementID(at: place) { grants.append(statement) }
        }
        return grants
    }

    /// Whether a chain names all grants that its next change could be written under, and shows the certificates that
    /// this device has by now.
    func isIntroducedAsNow(
        _ segment: SegmentIndex,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Bool {
        guard let introduction = transaction.segment(segment).introduction else { return true }
        guard introduction.certificates == self.identity.certificates else { return false }
        let grants = try self.grants(in: introduction.circle, of: &transaction)
        return grants.isEmpty || Set(grants).isSubset(of: introduction.grants)
    }
}

extension StoreTransaction {
    /// The highest generation of a user's machines that have written something; nil if none has.
    package func latestGeneration(of user: UserID) -> UInt32? {
        self.segmentIndices.compactMap { segment in
            let introduction = self.segment(segment).introduction
            return introduction?.user == user ? introduction?.certificates.first?.generation : nil
        }.max()
    }

    /// A statement as others name it; nil if its change is not here.
    package mutating func statementID(at place: StatementPlace) throws(StoreError) -> StatementID? {
        guard let hash = try self.hash(at: place.change) else { return nil }
        let replica = self.replicaID(place.change.segment)
        let change = NamedChange(replica: replica, sequence: place.change.sequence, hash: hash)
        return StatementID(change: change, index: place.index)
    }
}
