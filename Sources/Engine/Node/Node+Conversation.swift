internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What is said over a link that stands: whom to talk to, and what the session wants done.
extension Node where Store: ~Copyable {
    /// The handshake is done: says hello.
    ///
    /// Whoever answered must not believe anything yet, since the first handshake message can be replayed; the peer's
    /// own hello proves that it is there.
    mutating func established(_ connection: PeerConnection, _ key: StaticKey) {
        connection.staticKey = key
        if connection.isDialled, let standing = self.readyConnections.first(where: { $0.staticKey == key })?.keys {
            return self.leave(connection, toSessionWith: standing)
        }
        #if PLANTED_BUGS
        if PlantedBug.replayBelieved.isPlanted, !connection.isDialled { self.hangUpOnOthers(with: key) }
        #endif
        do throws(StoreError) {
            let fingerprint = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try connection.session.begin(in: &transaction)
            }
            if connection.link.greeting == .member {
                self.send(.member(self.author.identity.introduction(nonce: Bytes16(high: 0, low: 0))), on: connection)
            }
            let proof = HandshakeProof.message(
                handshakeHash: connection.link.handshakeHash,
                isDialler: connection.isDialled
            )
            let hello = Hello(
                deviceStart: self.author.identity.device.start,
                wallTime: self.shownTime,
                port: self.configuration.listenPort ?? 0,
                fingerprint: fingerprint,
                proof: self.author.cryptography.signature(of: proof, by: self.author.identity.signingKey)
            )
            self.send(.hello(hello), on: connection)
        } catch {
            self.note(error)
            self.drop(connection)
        }
    }

    /// At an address whose owner was not known is someone with whom a session stands already: it goes on.
    private mutating func leave(_ connection: PeerConnection, toSessionWith keys: PeerKeys) {
        self.connections[connection.id] = nil
        self.effects.append(.close(connection.id, afterFlush: false))
        if self.book.unknownAddresses[connection.address] != nil {
            self.book.unknownAddresses[connection.address]?.owner = keys
            self.book.unknownAddresses[connection.address]?.failure = nil
        }
        guard let expected = connection.expected else { return }
        self.book[expected]?.isDialledAsMember = false
        self.scheduleRedial(expected, from: nil)
    }

    mutating func received(_ message: Message, on connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        switch message {
        case .member(let introduction) where connection.keys == nil:
            return self.introduced(connection, introduction)
        case .join(let request) where connection.keys == nil: return self.join(connection, request)
        default: break
        }
        do throws(StoreError) {
            let actions = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try connection.session.receive(message, at: now, in: &transaction)
            }
            try self.perform(actions, on: connection)
        } catch {
            // The next session begins again what this one does once.
            self.note(error)
            self.drop(connection)
        }
    }

    /// Does what a session wants, as long as it lasts.
    mutating func perform(_ actions: [SyncSession.Action], on connection: PeerConnection) throws(StoreError) {
        for action in actions where self.connections[connection.id] === connection {
            switch action {
            case .send(let message): self.send(message, on: connection)
            case .greeted(let hello): self.greeted(connection, hello)
            case .heardTime(let time, let isAsked):
                self.noteClock(time, of: connection)
                if isAsked {
                    self.send(.pong(self.shownTime), on: connection)
                } else {
                    connection.openPingCount = max(0, connection.openPingCount - 1)
                    connection.awaitedPongCount = max(0, connection.awaitedPongCount - 1)
                }
            case .lacks(let entries): try self.checkOwnReplica(entries, on: connection)
            case .resume: connection.mayHaveMore = true
            case .violation(let reason): self.violation(connection, reason)
            }
        }
    }

    /// A peer that holds more of our chain than we do knew this database before it went back in time.
    private mutating func checkOwnReplica(
        _ entries: [FrontierEntry],
        on connection: PeerConnection
    ) throws(StoreError) {
        guard let line = self.author.activeLine, let device = connection.device else { return }
        let (id, stored) = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            (transaction.replicaID(line), transaction.progress(of: line).storedSequence)
        }
        // Believed once of each device: a database goes back only while no process has it open.
        if entries.contains(where: { $0.replica == id && $0.sequence > stored }), self.doubters.insert(device).inserted
        {
            try self.abandonReplica(.rolledBack)
        }
    }

    // MARK: - Hello

    private mutating func greeted(_ connection: PeerConnection, _ hello: Hello) {
        guard case .opening = connection.phase, let key = connection.staticKey, connection.invite == nil else {
            self.violation(connection, "a hello in a pairing")
            return
        }
        // Whoever certifies devices of his own with the static key of another has to guess its device's first bytes,
        // too.
        var candidates = self.book.sortedKeys.filter { $0.staticKey == key }
        if let device = connection.introduction?.device, !candidates.contains(where: { $0.device == device }) {
            candidates.append(PeerKeys(device: device, staticKey: key))
        }
        let proved = candidates.first {
            $0.device.start == hello.deviceStart
                && connection.isProved($0.device, by: hello.proof, self.author.cryptography)
        }
        guard let keys = proved else { return self.violation(connection, "a hello of another device") }
        if keys.device == self.author.identity.device {
            // A copy of this very device; its changes come by way of others, and both branches count. The other end is
            // to hear it, too.
            connection.failure = .ourselves
            return self.sayGoodbye(connection)
        }
        if self.book[keys] == nil, let introduction = connection.introduction {
            let certifiers = introduction.certificates.dropFirst().map(\.device)
            guard self.hasRoom(for: connection, named: introduction.deviceName, certifiers) else { return }
            guard self.meet(keys, introduction) else { return self.drop(connection) }
        }
        guard let entry = self.book[keys] else { return }
        // Whoever broke the protocol waits as long as if we were to dial him: each breach costs us lines in a log.
        guard entry.avoidedUntil <= self.now.monotonicMilliseconds else {
            self.counters.refusedConnectionCount += 1
            return self.sayGoodbye(connection)
        }
        guard self.settlesOn(connection, keys) else { return }
        connection.phase = .ready(keys)
        connection.readySince = self.now.monotonicMilliseconds
        if connection.isDialled, let expected = connection.expected, expected != keys {
            // Another member is there now; whom we looked for is looked for elsewhere, and later.
            self.book[expected]?.isDialledAsMember = false
            self.scheduleRedial(expected, from: nil)
            connection.expected = nil
        }
        self.recall(keys)
        self.book[keys]?.lastSeen = self.now.wall
        self.book[keys]?.nextDial = nil
        self.book[keys]?.isDialledAsMember = false
        self.book[keys]?.heardAddresses = []
        self.book[keys]?.isHeardNext = true
        self.noteAddress(of: connection, hello: hello, key: keys)
        // What has just worked is dialled first when the session ends, and not what comes after it in turn.
        self.book[keys]?.nextAddress = 0
        // Who has shown its certificates can do so again, and is remembered for a week unless the log has it by then.
        if connection.introduction == nil { self.hasCome(keys) }
        self.effects.append(.notice(.connected(device: entry.shownName)))
        self.noteClock(hello.wallTime, of: connection)
    }

    /// A device shows its certificates: they make it known if it then proves to have the keys that they are about.
    private mutating func introduced(_ connection: PeerConnection, _ introduction: Introduction) {
        guard connection.link.greeting == .member, connection.introduction == nil else {
            return self.violation(connection, "an introduction that nobody asked for")
        }
        let membership = self.author.membership
        guard let certificate = introduction.certificates.first, certificate.staticKey == connection.staticKey,
            introduction.user == membership.founder,
            introduction.isCertified(in: membership.workspace, self.author.cryptography)
        else {
            connection.failure = .notCertified
            return self.violation(connection, "certificates that do not hold")
        }
        connection.introduction = introduction
    }

    private mutating func noteAddress(of connection: PeerConnection, hello: Hello, key: PeerKeys) {
        if connection.isDialled {
            if self.book.unknownAddresses[connection.address] != nil {
                self.book.unknownAddresses[connection.address]?.owner = key
                self.book.unknownAddresses[connection.address]?.failure = nil
            }
            self.remember(connection.address, of: key)
        } else if hello.port != 0 {
            self.remember(NetworkAddress(host: connection.address.host, port: hello.port), of: key)
        }
    }

    /// Two devices keep one session: of two that were dialled from both ends at once, the one dialled by the smaller
    /// device; else the newer, since whoever dials has lost the older.
    private mutating func settlesOn(_ connection: PeerConnection, _ keys: PeerKeys) -> Bool {
        guard let other = self.readyConnections.first(where: { $0.keys == keys }) else {
            guard let entry = self.book[keys] else { return true }
            return self.hasRoom(for: connection, named: entry.shownName, entry.certifiers)
        }
        #if PLANTED_BUGS
        if PlantedBug.bothSessionsKept.isPlanted { return true }
        if self.olderSessionStays(other, connection) { return false }
        #endif
        let preferDialled = self.author.identity.device < keys.device
        // What was dialled before the other stood has come to its end by then.
        let isAtOnce = self.now.monotonicMilliseconds < (other.readySince ?? 0) + ConnectionTimes.dialDeadline
        if other.isDialled != connection.isDialled, isAtOnce, other.isDialled == preferDialled {
            self.sayGoodbye(connection)
            return false
        }
        // Of two that were dialled from both ends, one has to go; else this device has a session and opens another.
        if !connection.isDialled, !other.isDialled, other.lastHeard + ConnectionTimes.pingAfter > connection.lastHeard {
            self.book[keys]?.noteDisplacement(at: self.now.monotonicMilliseconds)
        }
        connection.phase = .ready(keys)
        self.sayGoodbye(other)
        return true
    }

    /// Whether those that vouch for a device have not taken all sessions that are theirs, nor had as many of theirs
    /// remembered that the log does not know.
    ///
    /// A member can make up any number of devices. The last of its certificates is that of the user's first device,
    /// which vouches for everyone.
    private mutating func hasRoom(
        for connection: PeerConnection,
        named name: String,
        _ certifiers: [DeviceID]
    ) -> Bool {
        for certifier in certifiers.dropLast() {
            let isItsOwn = { (keys: PeerKeys, book: DeviceBook) in book[keys]?.certifiers.contains(certifier) ?? false }
            let standing = self.readyConnections.count { $0.keys.map { isItsOwn($0, self.book) } ?? false }
            let isKnown = connection.introduction.map { $0.device.map { self.isInBook($0) } ?? false } ?? true
            let remembered = isKnown ? 0 : self.pairedDevices.count { isItsOwn($0.keys, self.book) }
            guard max(standing, remembered) >= ConnectionLimits.deviceCountMaxByCertifier else { continue }
            self.counters.refusedConnectionCount += 1
            let certifierName = self.book.entries.values.first { $0.device == certifier }?.shownName ?? ""
            self.effects.append(.notice(.tooManySessions(device: name, certifier: certifierName)))
            self.drop(connection)
            return false
        }
        return true
    }

    private func isInBook(_ device: DeviceID) -> Bool { self.book.entries.keys.contains { $0.device == device } }
}

#if PLANTED_BUGS
extension Node where Store: ~Copyable {
    private mutating func hangUpOnOthers(with key: StaticKey) {
        for other in self.readyConnections where other.staticKey == key { self.sayGoodbye(other) }
    }

    private mutating func olderSessionStays(_ older: PeerConnection, _ newer: PeerConnection) -> Bool {
        guard PlantedBug.olderSessionStays.isPlanted, older.isDialled == newer.isDialled else { return false }
        self.sayGoodbye(newer)
        return true
    }
}
#endif
