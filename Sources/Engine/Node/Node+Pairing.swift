internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Letting devices in.
extension Node where Store: ~Copyable {
    /// Makes an invite for one more device of this user: good once, for ten minutes.
    ///
    /// The oldest gives way when too many are open.
    package mutating func makeInvite(
        addresses: [String],
        port: UInt16,
        at now: ClockReading
    ) throws(InviteRefusal) -> Invite {
        guard !self.identity.isTooFarFromRoot else {
            throw .tooFarFromRoot(nearest: self.nameOfDeviceNearestToRoot)
        }
        let bytes = self.replica.author.entropy.bytes(32)
        guard let secret = Bytes32(bytes) else { preconditionFailure("32 bytes were drawn") }
        var open = self.admissions.invites.filter { $0.isOpen(at: now) }
        if open.count >= Invite.openCountMax { open.removeFirst() }
        let expiry = now.wall.advanced(byMilliseconds: Invite.lifetimeMilliseconds)
        let deadline = now.monotonicMilliseconds + Invite.lifetimeMilliseconds
        open.append(OpenInvite(secret: secret, expiry: expiry, deadline: deadline))
        do throws(StoreError) {
            try self.saveInvites(open)
        } catch {
            throw .store(error)
        }
        return Invite(staticKey: self.identity.publicStaticKey, secret: secret, port: port, addresses: addresses)
    }

    /// The name of the device that the fewest others vouch for, of those that can invite, and are not gone if possible.
    private var nameOfDeviceNearestToRoot: String {
        var nearest: DeviceBook.Entry?
        for entry in self.book.sortedKeys.compactMap({ self.book[$0] }) {
            guard let distance = entry.certifiers?.count, distance + 1 < Limits.certificateCountMax else { continue }
            let isNearer =
                nearest.map { other in
                    (entry.isForgotten ? 1 : 0, distance) < (other.isForgotten ? 1 : 0, other.certifiers?.count ?? 0)
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
        guard self.admissions.invites.contains(invite), invite.isOpen(at: self.now), !self.identity.isTooFarFromRoot
        else {
            // Someone else was quicker with the same invite.
            self.counters.refusedConnectionCount += 1
            self.drop(connection)
            return
        }
        guard request.device != self.identity.device, key != self.identity.publicStaticKey,
            connection.isProved(request.device, by: request.proof, self.cryptography)
        else { return self.violation(connection, "a request to join as another device") }
        let rest = self.admissions.invites.filter { $0 != invite && $0.isOpen(at: self.now) }
        let keys = PeerKeys(device: request.device, staticKey: key)
        var paired = self.admissions.paired.filter { $0.keys != keys }
        paired.append(
            PairedDevice(device: request.device, staticKey: key, name: request.deviceName, lapse: .after(self.now))
        )
        do throws(StoreError) {
            try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try OpenInvite.save(rest, in: &transaction)
                try PairedDevice.save(paired, in: &transaction)
            }
        } catch {
            self.note(error)
            self.drop(connection)
            return
        }
        self.admissions.invites = rest
        self.admissions.paired = paired
        self.book.add(keys, name: request.deviceName)
        connection.phase = .pairing(deadline: self.now.monotonicMilliseconds + ConnectionTimes.openingDeadline)
        let welcome = Welcome(
            founder: self.identity.founder,
            workspaceNonce: self.identity.workspaceNonce,
            user: self.identity.user,
            membershipKey: self.identity.membershipKeyBytes,
            certificates: self.identity.certify(request.device, staticKey: key)
        )
        self.send(.welcome(welcome), on: connection)
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
    mutating func meet(_ keys: PeerKeys, _ introduction: Introduction) -> Bool {
        let name = introduction.deviceName
        let met = PairedDevice(device: keys.device, staticKey: keys.staticKey, name: name, lapse: .after(self.now))
        guard self.savePaired(self.admissions.paired + [met]) else { return false }
        self.book.add(keys, name: name, certifiers: introduction.certificates.dropFirst().map(\.device))
        self.effects.append(.notice(.memberMet(device: name)))
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
