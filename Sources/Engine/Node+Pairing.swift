package import CRDTCore
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
        at now: Moment
    ) throws(StoreError) -> Invite {
        let bytes = self.author.entropy.bytes(32)
        guard let secret = Bytes32(bytes) else { preconditionFailure("32 bytes were drawn") }
        var open = self.invites.filter { $0.expiry > now.wall }
        if open.count >= Invite.openCountMax { open.removeFirst() }
        let expiry = now.wall.advanced(byMilliseconds: Invite.lifetimeMilliseconds)
        open.append(OpenInvite(secret: secret, expiry: expiry))
        try self.saveInvites(open)
        return Invite(staticKey: self.author.identity.publicStaticKey, secret: secret, port: port, addresses: addresses)
    }

    private mutating func saveInvites(_ invites: [OpenInvite]) throws(StoreError) {
        try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try OpenInvite.save(invites, in: &transaction)
        }
        self.invites = invites
    }

    /// A device has proved that it holds an invite: uses the invite up, then certifies the device.
    mutating func paired(_ connection: PeerConnection, _ key: StaticKey, inviteIndex: Int, request: [UInt8]) {
        let offered = connection.offeredInvites ?? []
        guard inviteIndex < offered.count, self.invites.contains(offered[inviteIndex]),
            offered[inviteIndex].expiry > self.now.wall
        else {
            // Someone else was quicker with the same invite.
            self.counters.refusedConnectionCount += 1
            self.drop(connection)
            return
        }
        guard let request = try? JoinRequest(decoding: request),
            request.device != self.author.identity.device, key != self.author.identity.publicStaticKey
        else {
            self.violation(connection, "a pairing request that cannot be read")
            return
        }
        let rest = self.invites.filter { $0 != offered[inviteIndex] && $0.expiry > self.now.wall }
        var paired = self.pairedDevices.filter { $0.staticKey != key }
        paired.append(PairedDevice(device: request.device, staticKey: key, name: request.deviceName))
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try OpenInvite.save(rest, in: &transaction)
                try PairedDevice.save(paired, in: &transaction)
            }
        } catch {
            self.note(error)
            self.drop(connection)
            return
        }
        self.invites = rest
        self.pairedDevices = paired
        self.book.add(request.device, name: request.deviceName, staticKey: key)
        connection.phase = .pairing(deadline: self.now.monotonicMilliseconds + ConnectionTimes.openingDeadline)
        let welcome = Welcome(
            founder: self.author.identity.founder,
            workspaceNonce: self.author.identity.workspaceNonce,
            user: self.author.identity.user,
            certificates: self.author.identity.certify(request.device, staticKey: key)
        )
        self.send(.welcome(welcome), on: connection)
        self.effects.append(.notice(.paired(device: request.deviceName)))
    }
}
