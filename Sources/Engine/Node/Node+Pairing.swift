internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Letting devices in.
extension Node where Store: ~Copyable {
    /// Makes an invite: good once, for ten minutes.
    ///
    /// The oldest gives way when too many are open.
    package mutating func makeInvite(
        for guest: Guest = .device,
        addresses: [String],
        port: UInt16,
        at now: ClockReading
    ) throws(InviteRefusal) -> Invite {
        if case .person = guest, self.identity.user != self.identity.founder { throw .notFounder }
        guard guest != .device || !self.identity.isTooFarFromRoot else {
            throw .tooFarFromRoot(nearest: self.nameOfDeviceNearestToRoot)
        }
        let bytes = self.replica.author.entropy.bytes(32)
        guard let secret = Bytes32(bytes) else { preconditionFailure("32 bytes were drawn") }
        var open = self.admissions.invites.filter { $0.isOpen(at: now) }
        if open.count >= Invite.openCountMax { open.removeFirst() }
        let expiry = now.wall.advanced(byMilliseconds: Invite.lifetimeMilliseconds)
        let deadline = now.monotonicMilliseconds + Invite.lifetimeMilliseconds
        open.append(OpenInvite(secret: secret, guest: guest, expiry: expiry, deadline: deadline))
        do throws(StoreError) {
            try self.saveInvites(open)
        } catch {
            throw .store(error)
        }
        var invite = Invite(staticKey: self.identity.publicStaticKey, secret: secret, port: port, addresses: addresses)
        if guest != .device {
            invite.workspace = Invite.Workspace(founder: self.identity.founder, nonce: self.identity.workspaceNonce)
        }
        return invite
    }

    /// The name of the device that the fewest others vouch for, of those that can invite, and are not gone if possible.
    private var nameOfDeviceNearestToRoot: String {
        var nearest: DeviceBook.Entry?
        for entry in self.book.sortedKeys.compactMap({ self.book[$0] }) {
            let distance = entry.certifiers.count
            guard entry.author.user == self.identity.user, distance + 1 < Limits.certificateCountMax else { continue }
            let isNearer =
                nearest.map { other in
                    (entry.isForgotten ? 1 : 0, distance) < (other.isForgotten ? 1 : 0, other.certifiers.count)
                } ?? true
            if isNearer { nearest = entry }
        }
        return nearest?.shownName ?? ""
    }

    /// Whether one more invite would end the oldest.
    package func hasAllInvitesOpen(at now: ClockReading) -> Bool {
        self.admissions.invites.count { $0.isOpen(at: now) } >= Invite.openCountMax
    }

    private mutating func saveInvites(_ invites: [OpenInvite]) throws(StoreError) {
        try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try OpenInvite.save(invites, in: &transaction)
        }
        self.admissions.invites = invites
    }

    /// A device has proved that it holds an invite; what it asks for comes next.
    mutating func invited(_ connection: PeerConnection, _ key: StaticKey, inviteIndex: Int) {
        let offered = connection.offeredInvites ?? []
        guard inviteIndex < offered.count else { return self.drop(connection) }
        connection.staticKey = key
        connection.invite = offered[inviteIndex]
    }

    /// Uses the invite up, then certifies the device.
    mutating func join(_ connection: PeerConnection, _ request: JoinRequest) {
        guard let invite = connection.invite, case .opening = connection.phase, let key = connection.staticKey else {
            return self.violation(connection, "a request to join without an invite")
        }
        guard self.admissions.invites.contains(invite), invite.isOpen(at: self.now),
            invite.guest != .device || !self.identity.isTooFarFromRoot
        else {
            // Someone else was quicker with the same invite.
            self.counters.refusedConnectionCount += 1
            self.drop(connection)
            return
        }
        guard request.device != self.identity.device, key != self.identity.publicStaticKey,
            connection.isProved(request.device, by: request.proof, self.cryptography)
        else { return self.violation(connection, "a request to join as another device") }
        guard (invite.guest == .device) == (request.person == nil), self.holds(request, key, for: invite.guest) else {
            // It was made for somebody else.
            self.counters.refusedConnectionCount += 1
            return self.sayGoodbye(connection)
        }
        let introduction =
            request.person
            ?? Introduction(
                user: self.identity.user,
                deviceName: request.deviceName,
                nonce: Bytes16(high: 0, low: 0),
                certificates: self.identity.certify(request.device, staticKey: key)
            )
        guard let device = PairedDevice(introduction, lapse: .after(self.now)) else { return self.drop(connection) }
        let rest = self.admissions.invites.filter { $0 != invite && $0.isOpen(at: self.now) }
        let paired = self.admissions.paired.filter { $0.keys != device.keys } + [device]
        do throws(StoreError) {
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                try OpenInvite.save(rest, in: &transaction)
                try PairedDevice.save(paired, in: &transaction)
                guard case .person(let name) = invite.guest else { return }
                try author.admit(introduction.user, named: name, in: &transaction)
            }
        } catch {
            self.note(error)
            self.drop(connection)
            return
        }
        self.admissions.invites = rest
        self.admissions.paired = paired
        self.book.add(device.keys, name: request.deviceName, device.author)
        connection.phase = .pairing(deadline: self.now.monotonicMilliseconds + ConnectionTimes.openingDeadline)
        let welcome = Welcome(
            founder: self.identity.founder,
            workspaceNonce: self.identity.workspaceNonce,
            user: introduction.user,
            membershipKey: self.membershipKeys[0],
            inviter: self.identity.device,
            certificates: introduction.certificates
        )
        self.send(.welcome(welcome), on: connection)
        if invite.guest != .device { self.introduceInRoster() }
        self.pumpAll()
    }

    /// Whether the certificates that a person shows are about the device that asks, and hold, and whether he is new or
    /// comes back as the invite says.
    private mutating func holds(_ request: JoinRequest, _ key: StaticKey, for guest: Guest) -> Bool {
        guard let introduction = request.person, let author = ChainAuthor(introduction) else {
            return request.person == nil
        }
        let certificate = introduction.certificates.first
        guard certificate?.device == request.device, certificate?.staticKey == key,
            introduction.isCertified(in: self.identity.workspace, self.cryptography)
        else { return false }
        guard guest == .returning else { return introduction.user != self.identity.founder }
        let judge = self.identity.standpoint
        let scope = try? self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            transaction.scope(of: author, for: judge)
        }
        return scope != nil
    }

    /// A device has come: it has got its welcome, and stays a member.
    mutating func hasCome(_ keys: PeerKeys) {
        guard let position = self.admissions.paired.firstIndex(where: { $0.keys == keys && $0.lapse != nil }) else {
            return
        }
        var paired = self.admissions.paired
        paired[position].lapse = nil
        self.savePaired(paired)
    }

    /// Forgets devices that were paired and have not come in time.
    mutating func forgetWhoDidNotCome() {
        let late = self.admissions.paired.filter { $0.lapse?.hasCome(at: self.now) ?? false }
        guard !late.isEmpty else { return }
        do throws(StoreError) {
            // Who is introduced in the log has come to another device.
            let introduced = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                Set(transaction.segmentIndices.compactMap { transaction.segment($0).device })
            }
            guard self.savePaired(self.admissions.paired.filter { !late.contains($0) }) else { return }
            for device in late where !introduced.contains(device.device) {
                for connection in self.connections.values.filter({ $0.expected == device.keys }) {
                    self.drop(connection)
                }
                self.book.remove(device.keys)
                self.effects.append(.notice(.pairingLapsed(device: device.name)))
            }
        } catch {
            self.note(error)
        }
    }

    /// A member has been met that no other has told us of: its certificates end at our user.
    ///
    /// False if it cannot be remembered.
    mutating func meet(_ introduction: Introduction) -> Bool {
        guard let met = PairedDevice(introduction, lapse: .after(self.now)),
            self.savePaired(self.admissions.paired.filter { $0.keys != met.keys } + [met])
        else { return false }
        self.book.add(met.keys, name: met.name, met.author)
        self.effects.append(.notice(.memberMet(device: met.name)))
        return true
    }

    @discardableResult
    private mutating func savePaired(_ paired: [PairedDevice]) -> Bool {
        do throws(StoreError) {
            try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try PairedDevice.save(paired, in: &transaction)
            }
            self.admissions.paired = paired
            return true
        } catch {
            self.note(error)
            for position in self.admissions.paired.indices where self.admissions.paired[position].lapse != nil {
                // Not tried again at every event of a disk that fails.
                self.admissions.paired[position].lapse?.deadline =
                    self.now.monotonicMilliseconds + PairedDevice.Lapse.runningMilliseconds
            }
            return false
        }
    }
}
