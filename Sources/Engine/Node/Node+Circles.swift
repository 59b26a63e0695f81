package import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What decides who reads what, as a number that is another one whenever that may have changed.
struct RightsAge: Hashable {
    private let revision: Int
    private let circleCount: Int

    init(of transaction: some StoreTransaction) {
        (self.revision, self.circleCount) = (transaction.rights.revision, transaction.circles.count)
    }
}

/// From where a device judges who is of the workspace.
struct Standpoint {
    var founder: UserID
    /// Who uses the device.
    var user: UserID
    /// The device that has let it in.
    var inviter: DeviceID
}

extension DeviceIdentity {
    var standpoint: Standpoint { Standpoint(founder: self.founder, user: self.user, inviter: self.inviter) }
}

extension StoreTransaction {
    /// Whether a device is of the workspace: the founder's, or that of somebody whom the roster lets in.
    ///
    /// Before the roster comes, other devices of the user, and the one that has let this one in.
    func isMember(_ author: ChainAuthor, for judge: Standpoint) -> Bool {
        let rights = self.circles.index(of: .roster).flatMap { self.rights.rights(in: $0) }
        guard let rights else {
            return author.user == judge.founder || author.user == judge.user || author.line.first == judge.inviter
        }
        return rights.reads(author) || author.user == judge.user && !rights.isRemoved(author)
    }

    /// What a device may be told; nil if it is of nobody in the workspace.
    func scope(of author: ChainAuthor, for judge: Standpoint) -> CircleScope? {
        guard self.isMember(author, for: judge) else { return nil }
        return self.circles(readableBy: author, founder: judge.founder)
    }
}

extension DeviceBook {
    /// Notes of each device whether the workspace has removed it, or its user, and what members know each other by.
    mutating func judge(for judge: Standpoint, in transaction: some StoreTransaction) {
        let age = RightsAge(of: transaction)
        guard age != self.rightsAge else { return }
        self.rightsAge = age
        let roster = transaction.circles.index(of: .roster).flatMap { transaction.rights.rights(in: $0) }
        self.membershipKeys = roster?.membershipKeys ?? []
        for keys in self.sortedKeys {
            guard let entry = self[keys] else { continue }
            self[keys]?.isRemoved = !transaction.isMember(entry.author, for: judge)
        }
    }

    /// What a peer may be told before it has shown who it is, by the key that it has in the handshake.
    ///
    /// `isKnown`: whether that says who it is.
    func scope(
        of key: StaticKey,
        for judge: Standpoint,
        in transaction: some StoreTransaction
    ) -> (scope: CircleScope, isKnown: Bool) {
        // Where nobody has let another user in, all members are devices of one.
        guard transaction.circles.count > 1 else { return (.home, true) }
        let authors = self.entries.values.filter { $0.staticKey == key }.map(\.author)
        guard Set(authors.map(\.user)).count == 1 else { return (.nothing, false) }
        let scopes = authors.map { transaction.scope(of: $0, for: judge) ?? .nothing }
        return (scopes.dropFirst().reduce(scopes[0]) { $0.intersection($1) }, true)
    }
}

extension Node where Store: ~Copyable {
    /// What members know each other by that have not met, the newest first: what the roster says, and what this device
    /// was given when it was let in.
    ///
    /// Whoever removes a device gives the others a new one. A device dials with the newest one, and answers to the last
    /// few: others may not have heard of it.
    var membershipKeys: [Bytes32] {
        let (said, given) = (self.book.membershipKeys, self.identity.membershipKeyBytes)
        if said.contains(given) { return said }
        return Array((said + [given]).prefix(Limits.membershipKeyCountMax))
    }

    /// Finds which devices are of nobody in the workspace any more, if what decides about that has changed.
    mutating func judgeDevices() throws(StoreError) {
        let judge = self.identity.standpoint
        try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            self.book.judge(for: judge, in: transaction)
        }
    }

    /// Says who this device is to everybody in the workspace, if not all of them are its user's.
    mutating func introduceInRoster() {
        do throws(StoreError) {
            let isNew = try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Bool in
                try author.introduceInRoster(in: &transaction)
            }
            if isNew { self.pumpAll() }
        } catch {
            self.note(error)
        }
    }
}

/// Shares that have ended: who is removed from a circle is sent nothing of it any more, not even that. So the owner's
/// machines tell him beside the log, and how far his chains count. It is no statement, and turns no verdict: it spares
/// him writes that nobody counts, and tells him which of his edits those are.
extension Node where Store: ~Copyable {
    /// Keeps which circles of a user this one does not read any more, by the last word of a machine of that user.
    mutating func noteEnded(by connection: PeerConnection) {
        guard let owner = connection.author?.user else { return }
        self.noteEnded(connection.endedCircles, by: owner, holding: connection.session.storedByPeer)
    }

    /// Keeps which circles of a user this one does not read any more.
    ///
    /// He reads one again if such a machine speaks of it: it tells nobody else of what it has of a circle. One that has
    /// not heard of the share says nothing of it.
    /// `held`: what the machine has that says so.
    mutating func noteEnded(_ circles: [EndedCircle], by owner: UserID, holding held: SeenSegments) {
        let known = self.state.ended
        do throws(StoreError) {
            var ended = known
            let reopened = known.keys.filter { circle in
                circle.isOwned(by: owner) && !circles.contains { $0.circle == circle }
            }
            if !reopened.isEmpty {
                let held = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                    Set(held.all.map { transaction.circles[transaction.progress(of: $0.segment).circle] })
                }
                for circle in reopened where held.contains(circle) { ended[circle] = nil }
            }
            for told in circles where told.circle.isOwned(by: owner) {
                ended[told.circle] = Dictionary(told.ends.map { ($0.replica, $0.sequence) }, uniquingKeysWith: max)
            }
            guard ended != known else { return }
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                // What is not here needs no memory.
                let kept = ended.filter { transaction.circles.index(of: $0.key) != nil }
                if kept == author.state.ended { return }
                try transaction.setEndedCircles(kept)
                author.state.ended = kept
            }
            try self.closeCircles()
            try self.bringBack()
        } catch {
            self.note(error)
        }
    }

    /// Ends a connection with a device that is in the workspace no more, and tells it so.
    mutating func turnAway(_ connection: PeerConnection) {
        if let ended = connection.ended, ended != connection.toldEnded { self.send(.ended(ended), on: connection) }
        self.sayGoodbye(connection)
    }

    /// Keeps that this device is removed, by the word of a machine of its user or of the founder.
    ///
    /// It changes nothing but what is shown: a thief with a machine of this user can say so, too.
    mutating func noteRemoval(by connection: PeerConnection) {
        guard let entry = connection.keys.flatMap({ self.book[$0] }), let user = connection.author?.user,
            user == self.identity.user || user == self.identity.founder
        else { return }
        // Whoever looks for the others hears it each time.
        guard self.state.removal?.user != user else { return }
        if self.state.removal == nil { self.effects.append(.notice(.removed(by: entry.shownName))) }
        self.setRemoval(ToldRemoval(deviceName: entry.shownName, user: user, time: self.now.wall))
    }

    /// Whoever sends what only members are sent does not hold this device for removed.
    mutating func noteMembership(by connection: PeerConnection) {
        guard let removal = self.state.removal, connection.keys != nil, connection.author?.user == removal.user
        else { return }
        self.setRemoval(nil)
    }

    private mutating func setRemoval(_ removal: ToldRemoval?) {
        do throws(StoreError) {
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.setFact(NodeFact.removal, removal?.encoded)
                author.state.removal = removal
            }
        } catch {
            self.note(error)
        }
    }

    /// Notes which circles this user is sent nothing of any more: hidden properties that he was given once show no
    /// longer in the place of what others see, since they would stay what they were, and undos pass what he cannot take
    /// back.
    mutating func closeCircles() throws(StoreError) {
        let ended = self.state.ended
        let closed = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            let circles = transaction.circles
            let all = (0..<UInt32(circles.count)).map { CircleIndex(rawValue: $0) }
            let closed = Set(all.filter { ended[circles[$0]] != nil || transaction.rights.isLeft($0) })
            return closed == circles.closed ? nil : closed
        }
        guard let closed else { return }
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setClosedCircles(closed)
        }
        try self.recallUnread(toward: self.readyConnections)
    }

    /// Has sessions go by what peers have said before of what this user does not read: they say nothing of it any more,
    /// and would be sent all of it each time.
    mutating func recallUnread(toward connections: [PeerConnection]) throws(StoreError) {
        guard let own = self.replica.author.author else { return }
        let (founder, acknowledgements) = (self.identity.founder, self.memory.acknowledgements)
        try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            let closed = CircleScope(transaction.circles.closed)
            let readable = transaction.circles(readableBy: own, founder: founder).subtracting(closed)
            guard !readable.contains(allOf: transaction.circles) else { return }
            for connection in connections where connection.author?.user != own.user {
                // Of a device that runs twice, one does not have what the other has acknowledged.
                guard let keys = connection.keys, self.book[keys]?.copiesSeen == nil else { continue }
                guard let seen = connection.device.flatMap({ acknowledgements.seen[$0] }) else { continue }
                let unread = seen.all.filter { !readable.contains(transaction.progress(of: $0.segment).circle) }
                let places = unread.map { SegmentPoint(segment: $0.segment, sequence: $0.sequence) }
                connection.session.recall(places, in: &transaction)
            }
        }
    }
}

extension StoreTransaction {
    /// The circles that a user has made, that he has given somebody something in, and that this one does not read now;
    /// the roster if it is in the workspace no more.
    func circlesEnded(for author: ChainAuthor, by judge: Standpoint) -> [EndedCircle] {
        let indices = (0..<UInt32(self.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
            guard let rights = self.rights.rights(in: index) else { return false }
            if self.circles[index] == .roster {
                let isToSay = judge.user == judge.founder || judge.user == author.user
                // Who is not known yet was not removed.
                let wasMember = rights.names(author.user) || rights.isRemoved(author)
                return isToSay && wasMember && self.scope(of: author, for: judge) == nil
            }
            guard self.circles[index].isOwned(by: judge.user), author.user != judge.user else { return false }
            // Also whose grant does not count any more, since the device that gave it was removed from before.
            return rights.hasNamed(author.user) && !rights.reads(author)
        }
        return indices.prefix(MessageLimits.endedCircleCountMax).map { index in
            EndedCircle(self.circles[index], ends: self.ends(of: author.user, in: index))
        }
    }

    /// How far the last chains of a user in a circle count.
    private func ends(of user: UserID, in circle: CircleIndex) -> [EndedCircle.End] {
        var ends: [EndedCircle.End] = []
        for segment in self.segmentIndices.reversed() where self.progress(of: segment).circle == circle {
            guard ends.count < MessageLimits.endedChainCountMax else { break }
            guard self.segment(segment).introduction?.user == user else { continue }
            let stored = self.progress(of: segment).storedSequence
            let last = self.rights.limits(of: segment).map { min($0.last, stored) } ?? stored
            ends.append(EndedCircle.End(replica: self.replicaID(segment), sequence: last))
        }
        return ends.sorted { ($0.replica, $0.sequence) < ($1.replica, $1.sequence) }
    }
}

extension NodeTransaction {
    /// The circles that their owners' machines say this user does not read any more, and how far his chains count
    /// there.
    package mutating func endedCircles() throws(StoreError) -> [Circle: [ReplicaID: UInt64]] {
        var reader = ByteReader(try self.fact(NodeFact.ended) ?? [])
        var circles: [Circle: [ReplicaID: UInt64]] = [:]
        while reader.remaining > 0, let ended = try? EndedCircle(decoding: &reader) {
            circles[ended.circle] = Dictionary(ended.ends.map { ($0.replica, $0.sequence) }, uniquingKeysWith: max)
        }
        return circles
    }

    fileprivate mutating func setEndedCircles(_ circles: [Circle: [ReplicaID: UInt64]]) throws(StoreError) {
        let entries = circles.map { circle, ends in
            var bytes: [UInt8] = []
            let sorted = ends.map { EndedCircle.End(replica: $0.key, sequence: $0.value) }
                .sorted { $0.replica < $1.replica }
            EndedCircle(circle, ends: sorted).encode(to: &bytes)
            return bytes
        }
        let bytes = entries.sorted { $0.lexicographicallyPrecedes($1) }.flatMap(\.self)
        try self.setFact(NodeFact.ended, bytes.isEmpty ? nil : bytes)
    }
}

/// The roster: a circle without objects, which everybody in the workspace reads.
extension ReplicaAuthor {
    /// Lets a user into the workspace.
    ///
    /// `name`: what he is called here.
    mutating func admit(
        _ user: UserID,
        named name: String,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        let despite = try transaction.removalsToOverride(of: user, in: .roster)
        let grant = RightsStatement.Grant(to: user, .reader, despite: despite, name: name)
        _ = try self.commit([.rights(.grants(grant))], on: Timeline(circle: .roster), in: &transaction)
    }

    /// Opens a chain in the roster, if others than this user are in the workspace, as far as is known here.
    ///
    /// Returns whether it did.
    mutating func introduceInRoster(in transaction: inout some NodeTransaction) throws(StoreError) -> Bool {
        guard let roster = transaction.circles.index(of: .roster) else { return false }
        let certificates = self.identity.certificates
        let isThere = transaction.segmentIndices.contains { segment in
            transaction.progress(of: segment).circle == roster
                && transaction.segment(segment).introduction?.certificates == certificates
        }
        if isThere { return false }
        // Who is not let in yet, as far as is known here, would be believed by nobody.
        let isOwner = self.identity.user == self.membership.founder
        let grants = try self.grants(in: .roster, of: &transaction)
        guard isOwner || !grants.isEmpty else { return false }
        return try self.introduce(on: Timeline(circle: .roster), in: &transaction)
    }
}
