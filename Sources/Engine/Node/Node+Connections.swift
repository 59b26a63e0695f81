package import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Connections from the first byte to the last.
extension Node where Store: ~Copyable {
    mutating func accepted(_ id: ConnectionID, from address: NetworkAddress) {
        guard self.connections[id] == nil, self.makesRoom(forOneFrom: address) else {
            self.counters.refusedConnectionCount += 1
            self.effects.append(.close(id, afterFlush: false))
            return
        }
        let now = self.now.monotonicMilliseconds
        self.connections[id] = PeerConnection(
            id: id,
            isDialled: false,
            address: address,
            dialAllCount: self.dialAllCount,
            link: .answering(ownStatic: self.identity.publicStaticKey),
            session: SyncSession(isDialled: false, self.cryptography),
            deadline: now + ConnectionTimes.openingDeadline,
            now: now
        )
    }

    /// Whether there is room for one more who has not said who he is.
    ///
    /// He that has had longest to say it goes: somebody who holds all places of a host, which may be all that others
    /// come from, would otherwise keep everybody else out, and a place is held more easily than taken again and again.
    private mutating func makesRoom(forOneFrom address: NetworkAddress) -> Bool {
        let halfOpen = self.connections.values.filter { connection in
            !connection.isDialled && connection.device == nil
        }
        let neighbours = halfOpen.filter { $0.address.network == address.network }
        let crowd: [PeerConnection]
        if neighbours.count >= ConnectionLimits.halfOpenCountMaxByHost {
            crowd = neighbours
        } else if halfOpen.count >= ConnectionLimits.halfOpenCountMax {
            crowd = halfOpen
        } else {
            return self.connections.count < ConnectionLimits.countMax
        }
        // Who came with an invite has shown more than an address.
        let oldest = crowd.filter { $0.invite == nil }.min { $0.id.rawValue < $1.id.rawValue }
        guard let oldest else { return false }
        self.counters.refusedConnectionCount += 1
        self.drop(oldest)
        return true
    }

    mutating func connected(_ id: ConnectionID) {
        guard let connection = self.connections[id], connection.isDialled, !connection.hasBegun else { return }
        // Whom we dialled may have come by himself meanwhile.
        if let keys = connection.expected, self.readyConnections.contains(where: { $0.keys == keys }) {
            return self.drop(connection)
        }
        connection.hasBegun = true
        guard let ephemeral = AgreementKey(seed: self.replica.author.entropy.secret(32), memo: self.cryptography.memo),
            let start = self.start(connection, ephemeral)
        else {
            self.drop(connection)
            return
        }
        let bytes = start.bytes
        connection.link = start.takeLink()
        self.transmit(bytes, on: connection)
    }

    /// Who knows us is dialled by his key, and who may not by the membership key.
    private func start(_ connection: PeerConnection, _ ephemeral: consuming AgreementKey) -> LinkStart? {
        if let keys = connection.expected, !(self.book[keys]?.isDialledAsMember ?? false) {
            return PeerLink.dialling(keys.staticKey, own: self.identity.staticKey, ephemeral: ephemeral)
        }
        return PeerLink.dialling(
            .member,
            secret: SecretBytes(self.membershipKey(for: connection).array),
            own: self.replica.author.identity.staticKey,
            ephemeral: ephemeral
        )
    }

    /// The newest membership key, or if nobody has answered to that the next one: who was off when somebody was removed
    /// knows an older one.
    private func membershipKey(for connection: PeerConnection) -> Bytes32 {
        let number =
            connection.expected.flatMap { self.book[$0]?.membershipKeyNumber }
            ?? self.book.unknownAddresses[connection.address]?.membershipKeyNumber ?? 0
        let keys = self.membershipKeys
        return keys[number % keys.count]
    }

    /// Who is at the other end, once he has proved it.
    package func device(on id: ConnectionID) -> DeviceID? { self.connections[id]?.device }

    mutating func flushed(_ id: ConnectionID, _ byteCount: Int) {
        guard let connection = self.connections[id] else { return }
        let wasFull = connection.unsentByteCount >= TransferLimits.unsentByteCountMax
        connection.unsentByteCount = max(0, connection.unsentByteCount - byteCount)
        if wasFull { self.pump([connection]) }
    }

    mutating func closed(_ id: ConnectionID) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        self.forget(connection)
    }

    mutating func received(_ id: ConnectionID, _ bytes: [UInt8]) {
        guard let connection = self.connections[id], connection.hasBegun || !connection.isDialled else { return }
        self.effects.append(.resumeReading(id, byteCount: bytes.count))
        connection.traffic.receivedByteCount += bytes.count
        let output =
            connection.link.isShakingHands
            ? self.shakeHands(bytes, on: connection)
            : connection.link.receive(bytes, now: self.now.monotonicMilliseconds)
        // Bytes alone are no sign of life: of a record whose length was changed on the way the rest never comes.
        if output.isAuthentic { connection.noteLife(at: self.now.monotonicMilliseconds) }
        if !output.bytes.isEmpty { self.transmit(output.bytes, on: connection) }
        self.handle(output.events, on: connection)
    }

    private mutating func shakeHands(_ bytes: [UInt8], on connection: PeerConnection) -> PeerLink.Output {
        // The invites a stranger may use are those open when he first spoke, so that their order stays as it was.
        let offered = connection.offeredInvites ?? self.admissions.invites.filter { $0.isOpen(at: self.now) }
        connection.offeredInvites = offered
        let authority = Authority(
            book: self.book,
            invites: offered,
            membershipKeys: self.membershipKeys
        )
        // An ephemeral key is drawn only if the handshake asks for one, at most once an event.
        var drawn = self.replica.author.entropy.child()
        let memo = self.cryptography.memo
        return connection.link.receive(
            bytes,
            own: self.replica.author.identity.staticKey,
            authority: authority,
            now: self.now.monotonicMilliseconds
        ) { AgreementKey(seed: drawn.secret(32), memo: memo) }
    }

    private mutating func handle(_ events: [PeerLink.LinkEvent], on connection: PeerConnection) {
        var runs: [Run] = []
        var intakeCount = 0
        for event in events {
            guard self.connections[connection.id] != nil else { return }
            if case .message(.run(let run), let byteCount) = event, connection.keys != nil {
                connection.session.received(byteCount: byteCount)
                runs.append(run)
                continue
            }
            if !runs.isEmpty, intakeCount < PeerConnection.intakeCountMax || event.isEnd {
                self.ingest(runs, from: connection)
                runs = []
                intakeCount += 1
                guard self.connections[connection.id] != nil else { return }
            }
            switch event {
            case .established(let key): self.established(connection, key)
            case .invited(let key, let inviteIndex): self.invited(connection, key, inviteIndex: inviteIndex)
            case .message(let message, _): self.received(message, on: connection)
            case .ended(let end): self.ended(connection, end)
            }
        }
        if !runs.isEmpty { self.ingest(runs, from: connection) }
        // Once for all that came together: looking for what may be sent costs more than many a message.
        if connection.mayHaveMore, self.connections[connection.id] === connection {
            connection.mayHaveMore = false
            self.pump([connection])
        }
    }

    private mutating func ended(_ connection: PeerConnection, _ end: PeerLink.LinkEnd) {
        switch end {
        case .closed: self.drop(connection)
        case .refused:
            // A dialled peer that does not know our key, or is not who we think, is tried again later.
            self.counters.refusedConnectionCount += connection.isDialled ? 0 : 1
            self.drop(connection)
        case .violation(let reason): self.violation(connection, reason)
        }
    }

    /// Ends a session because the peer broke the protocol.
    ///
    /// Nothing it sent in the offending message is kept.
    mutating func violation(_ connection: PeerConnection, _ reason: String) {
        self.counters.protocolViolationCount += 1
        let name = connection.keys.flatMap { self.book[$0]?.shownName }
        self.effects.append(.notice(.protocolViolation(device: name, reason: reason)))
        let keys = connection.keys ?? (connection.isDialled ? connection.expected : nil)
        self.drop(connection)
        if let keys { self.avoid(keys) }
    }

    /// Ends a connection without a goodbye.
    mutating func drop(_ connection: PeerConnection) {
        guard self.connections.removeValue(forKey: connection.id) != nil else { return }
        self.effects.append(.close(connection.id, afterFlush: false))
        self.forget(connection)
    }

    /// Ends a connection with a close record, so that the peer knows nothing was cut off.
    mutating func sayGoodbye(_ connection: PeerConnection) {
        guard self.connections.removeValue(forKey: connection.id) != nil else { return }
        let bytes = connection.link.close(now: self.now.monotonicMilliseconds)
        if !bytes.isEmpty { self.effects.append(.send(connection.id, bytes)) }
        self.effects.append(.close(connection.id, afterFlush: true))
        self.forget(connection)
    }

    private mutating func forget(_ connection: PeerConnection) {
        self.pastTraffic.add(connection.traffic)
        self.parcels.noteChange(at: self.now.monotonicMilliseconds)
        if let keys = connection.keys, let entry = self.book[keys] {
            let isReplaced = self.connections.values.contains { $0.keys == keys }
            self.noteAcknowledgement(of: connection)
            self.book[keys]?.lastSeen = self.now.wall
            self.book[keys]?.noteEnd(of: connection)
            let wasOfUse = connection.wasOfUse(at: self.now.monotonicMilliseconds)
            let backoff = wasOfUse ? ConnectionTimes.backoffFirst : ConnectionTimes.backoffAfterUseless
            if isReplaced {
                self.scheduleReturn(to: connection.instance, of: keys, from: backoff)
            } else {
                self.effects.append(.notice(.disconnected(device: entry.shownName)))
                self.scheduleRedial(keys, from: backoff)
            }
        } else if connection.isDialled {
            self.dialEnded(connection)
        }
    }

    /// Hands bytes to the transport.
    mutating func transmit(_ bytes: [UInt8], on connection: PeerConnection) {
        guard !bytes.isEmpty, self.connections[connection.id] === connection else { return }
        connection.unsentByteCount += bytes.count
        connection.traffic.sentByteCount += bytes.count
        self.effects.appendSending(bytes, on: connection.id)
        if connection.unsentByteCount > TransferLimits.unsentByteCountLimit { self.drop(connection) }
    }

    /// Seals a message and hands it to the transport.
    mutating func send(_ message: Message, on connection: PeerConnection) {
        if case .ping = message { connection.openPingCount += 1 }
        self.transmit(connection.link.seal(message, now: self.now.monotonicMilliseconds), on: connection)
    }

    /// The connections to known devices in a fixed order.
    var readyConnections: [PeerConnection] {
        self.connections.values.filter { $0.device != nil }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Who may connect, as the link asks it.
    private struct Authority: LinkAuthority, ~Copyable {
        let book: DeviceBook
        let invites: [OpenInvite]
        let membershipKeys: [Bytes32]

        func admits(_ key: StaticKey) -> Bool { self.book.entries.keys.contains { $0.staticKey == key } }

        func inviteSecrets() -> PresharedKeys {
            var keys = PresharedKeys()
            for invite in self.invites { _ = keys.append(SecretBytes(invite.secret.array)) }
            return keys
        }

        func membershipSecrets() -> PresharedKeys {
            var keys = PresharedKeys()
            for key in self.membershipKeys { _ = keys.append(SecretBytes(key.array)) }
            return keys
        }
    }
}

extension Traffic {
    /// Adds another connection's numbers to these.
    mutating func add(_ other: Traffic) {
        self.pushedChangeCount += other.pushedChangeCount
        self.pushedOperationCount += other.pushedOperationCount
        self.pulledChangeCount += other.pulledChangeCount
        self.pulledOperationCount += other.pulledOperationCount
        self.duplicateChangeCount += other.duplicateChangeCount
        self.sentByteCount += other.sentByteCount
        self.receivedByteCount += other.receivedByteCount
    }
}

extension [Effect] {
    /// What is said to one peer in answer to one event goes out together, as long as it is little.
    fileprivate mutating func appendSending(_ bytes: [UInt8], on connection: ConnectionID) {
        let last = self.lastIndex { effect in
            switch effect {
            case .send(connection, _), .close(connection, _): true
            default: false
            }
        }
        if let last, case .send(_, let earlier) = self[last],
            earlier.count + bytes.count <= TransferLimits.joinedByteCountMax
        {
            self[last] = .send(connection, earlier + bytes)
        } else {
            self.append(.send(connection, bytes))
        }
    }
}

extension PeerLink.LinkEvent {
    fileprivate var isEnd: Bool { if case .ended = self { true } else { false } }
}
