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
        if connection.isDialled {
            if let expected = self.expectedByAnotherDial(connection, of: key) {
                return self.leave(connection, toSessionWith: expected)
            }
            // Our hello would end that session, unless a copy of its device is here: then both stay.
            if self.readyConnections.contains(where: { $0.staticKey == key }) {
                connection.letsOtherSpeakFirst = true
                return
            }
        }
        self.sayHello(connection)
    }

    private mutating func sayHello(_ connection: PeerConnection) {
        let judge = self.identity.standpoint
        do throws(StoreError) {
            let fingerprint = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                var isKnown = true
                if let key = connection.staticKey {
                    let found = self.book.scope(of: key, for: judge, in: transaction)
                    (connection.session.scope, isKnown) = found
                }
                return try connection.session.begin(isKnown: isKnown, in: &transaction)
            }
            // Who was certified anew may be known as one that is removed.
            if connection.link.greeting == .member || self.identity.generation > DeviceCertificate.firstGeneration {
                self.send(.member(self.identity.introduction(nonce: Bytes16(high: 0, low: 0))), on: connection)
            }
            let proof = HandshakeProof.message(
                handshakeHash: connection.link.handshakeHash,
                isDialler: connection.isDialled
            )
            let hello = Hello(
                deviceStart: self.identity.device.start,
                instance: self.instance,
                wallTime: self.shownTime,
                port: self.configuration.listenPort ?? 0,
                fingerprint: fingerprint,
                proof: self.cryptography.signature(of: proof, by: self.identity.signingKey)
            )
            self.send(.hello(hello), on: connection)
        } catch {
            self.note(error)
            self.drop(connection)
        }
    }

    /// Whom another connection expects that we have dialled, and on which the same machine has answered first.
    ///
    /// Only one of the two says hello: of two hellos, each end could take another one for the later.
    private func expectedByAnotherDial(_ connection: PeerConnection, of key: StaticKey) -> PeerKeys? {
        let others = self.connections.values.filter { other in
            other !== connection && other.isDialled && other.keys == nil && other.staticKey == key
        }
        return others.compactMap(\.expected).min()
    }

    /// At an address whose owner was not known is someone with whom a session stands already: it goes on.
    private mutating func leave(
        _ connection: PeerConnection,
        toSessionWith keys: PeerKeys,
        of instance: UInt32? = nil
    ) {
        self.connections[connection.id] = nil
        self.effects.append(.close(connection.id, afterFlush: false))
        self.noteOwner(keys, of: instance, at: connection.address)
        guard let expected = connection.expected, expected != keys else { return }
        self.book[expected]?.isDialledAsMember = false
        self.scheduleRedial(expected, from: nil)
    }

    mutating func received(_ message: Message, on connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        if message.isForMembers { self.noteMembership(by: connection) }
        switch message {
        case .member(let introduction) where connection.keys == nil:
            return self.introduced(connection, introduction)
        case .join(let request) where connection.keys == nil: return self.join(connection, request)
        case .hello(let hello) where connection.letsOtherSpeakFirst:
            let standing = self.readyConnections.first { other in
                other.staticKey == connection.staticKey && other.instance == hello.instance
            }
            if let keys = standing?.keys { return self.leave(connection, toSessionWith: keys, of: hello.instance) }
            connection.letsOtherSpeakFirst = false
            self.sayHello(connection)
            guard self.connections[connection.id] === connection else { return }
        case .state, .sums, .objects:
            if connection.keys != nil { self.compare(message, on: connection) }
        case .ended(let circles):
            connection.endedMessageCount += 1
            guard connection.endedMessageCount <= MessageLimits.endedMessageCountMax else {
                return self.violation(connection, "too many messages about what has ended")
            }
            connection.endedCircles = circles
            self.noteEnded(by: connection)
            if circles.contains(where: { $0.circle == .roster }) { self.noteRemoval(by: connection) }
        case .parcel(let parcel): return self.take(parcel, on: connection)
        case .parcelTaken(let id): return self.parcelTaken(id, on: connection)
        default: break
        }
        do throws(StoreError) {
            let actions = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try connection.session.receive(message, at: now, in: &transaction)
            }
            try self.perform(actions, on: connection)
            if message.saysWhatIsStored, !self.state.ended.isEmpty { self.noteEnded(by: connection) }
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
            case .greeted(let hello):
                self.greeted(connection, hello)
                try self.recallUnread(toward: [connection])
            case .open:
                let message = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                    try connection.session.open(in: &transaction)
                }
                self.send(message, on: connection)
            case .heardTime(let time, let isAsked):
                self.noteClock(time, of: connection)
                if isAsked {
                    self.send(.pong(self.shownTime), on: connection)
                } else {
                    connection.openPingCount = max(0, connection.openPingCount - 1)
                    connection.awaitedPongCount = max(0, connection.awaitedPongCount - 1)
                    self.noteWhetherCopied(connection)
                }
            case .resume:
                connection.mayHaveMore = true
                self.parcels.noteChange(at: self.now.monotonicMilliseconds)
            case .given: break
            case .violation(let reason): self.violation(connection, reason)
            }
        }
    }

    // MARK: - Hello

    private mutating func greeted(_ connection: PeerConnection, _ hello: Hello) {
        guard case .opening = connection.phase, let key = connection.staticKey, connection.invite == nil else {
            self.violation(connection, "a hello in a pairing")
            return
        }
        guard let keys = self.keys(of: connection, with: key, provedBy: hello) else {
            return self.violation(connection, "a hello of another device")
        }
        if keys.device == self.identity.device {
            // A copy of this very device; its changes come by way of others, and both forks count. The other end is
            // to hear it, too.
            connection.failure = .ourselves
            return self.sayGoodbye(connection)
        }
        let isKnown = self.book[keys] != nil
        // Nothing is kept of somebody who is no member.
        let shown = connection.introduction.flatMap { ChainAuthor($0) }
        let known = self.book[keys]?.author
        // One that was certified anew stands above who may have removed it.
        let isAnew =
            shown.map { shown in
                known.map { $0.user == shown.user && $0.generation < shown.generation } ?? true
            } ?? false
        guard let author = isAnew ? shown : known, self.admits(connection, author) else { return }
        if isAnew, let introduction = connection.introduction {
            guard self.hasRoom(for: connection, named: introduction.deviceName, author) else { return }
            guard self.meet(introduction) else { return self.drop(connection) }
        }
        guard let entry = self.book[keys] else { return }
        // Whoever broke the protocol waits as long as if we were to dial him: each breach costs us lines in a log.
        guard entry.avoidedUntil <= self.now.monotonicMilliseconds else {
            self.counters.refusedConnectionCount += 1
            return self.sayGoodbye(connection)
        }
        guard self.settlesOn(connection, keys, hello) else { return }
        connection.phase = .ready(keys)
        connection.instance = hello.instance
        connection.readySince = self.now.monotonicMilliseconds
        // First comes what either has that the other lacks.
        connection.comparison = StateComparison(
            notBefore: self.now.monotonicMilliseconds + StateComparison.interval
        )
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
        self.book[keys]?.beaconAddress = nil
        self.endVainDials(of: keys)
        self.noteAddress(of: connection, hello: hello, key: keys)
        // What has just worked is dialled first when the session ends, and not what comes after it in turn.
        self.book[keys]?.nextAddress = 0
        // Who has shown its certificates can do so again, and is remembered for a week unless the log has it by then.
        if connection.link.greeting != .member { self.hasCome(keys) }
        if isKnown, entry.lastSeen == nil, self.admissions.paired.contains(where: { $0.keys == keys }) {
            // Only by coming does it show that it has accepted its welcome.
            self.effects.append(.notice(.paired(device: entry.shownName)))
        }
        self.effects.append(.notice(.connected(device: entry.shownName)))
        self.noteClock(hello.wallTime, of: connection)
    }

    /// The keys that a hello has proved the peer to have, beside a static key.
    private func keys(of connection: PeerConnection, with key: StaticKey, provedBy hello: Hello) -> PeerKeys? {
        // Whoever certifies devices of his own with the static key of another has to guess its device's first bytes,
        // too.
        var candidates = self.book.sortedKeys.filter { $0.staticKey == key }
        if let device = connection.introduction?.device, !candidates.contains(where: { $0.device == device }) {
            candidates.append(PeerKeys(device: device, staticKey: key))
        }
        return candidates.first {
            $0.device.start == hello.deviceStart
                && connection.isProved($0.device, by: hello.proof, self.cryptography)
        }
    }

    /// Whether the user of a device is in the workspace; from now on the session tells it what he may read.
    private mutating func admits(_ connection: PeerConnection, _ author: ChainAuthor) -> Bool {
        connection.author = author
        let judge = self.identity.standpoint
        do throws(StoreError) {
            let isMember = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                connection.refreshScope(for: judge, in: transaction)
            }
            if isMember { return true }
            self.counters.refusedConnectionCount += 1
            self.turnAway(connection)
        } catch {
            self.note(error)
            self.drop(connection)
        }
        return false
    }

    /// A device shows its certificates: they make it known if it then proves to have the keys that they are about.
    private mutating func introduced(_ connection: PeerConnection, _ introduction: Introduction) {
        guard connection.link.greeting != .pairing, connection.introduction == nil else {
            return self.violation(connection, "an introduction that nobody asked for")
        }
        // Whether its user is a member is looked at once it has proved to be that device.
        let membership = self.replica.author.membership
        guard let certificate = introduction.certificates.first, certificate.staticKey == connection.staticKey,
            introduction.isCertified(in: membership.workspace, self.cryptography)
        else {
            connection.failure = .notCertified
            return self.violation(connection, "certificates that do not hold")
        }
        connection.introduction = introduction
    }

    private mutating func noteAddress(of connection: PeerConnection, hello: Hello, key: PeerKeys) {
        if connection.isDialled {
            self.noteOwner(key, of: hello.instance, at: connection.address)
            self.remember(connection.address, of: key)
        } else if hello.port != 0 {
            self.remember(NetworkAddress(host: connection.address.host, port: hello.port), of: key)
        }
    }

    private mutating func noteOwner(_ keys: PeerKeys, of instance: UInt32?, at address: NetworkAddress) {
        guard self.book.unknownAddresses[address] != nil else { return }
        self.book.unknownAddresses[address]?.owner = keys
        self.book.unknownAddresses[address]?.instance = instance
        self.book.unknownAddresses[address]?.failure = nil
    }

    /// Two runs of the program keep one session: of two that were dialled from both ends at once, the one dialled by
    /// the smaller device; else the newer, since whoever dials has lost the older.
    private mutating func settlesOn(_ connection: PeerConnection, _ keys: PeerKeys, _ hello: Hello) -> Bool {
        let others = self.readyConnections.filter { $0.keys == keys }
        guard let other = others.first(where: { $0.instance == hello.instance }) else {
            return self.settlesOn(connection, beside: others, keys)
        }
        let preferDialled = self.identity.device < keys.device
        // What was dialled before the other stood has come to its end by then.
        let isAtOnce = self.now.monotonicMilliseconds < (other.readySince ?? 0) + ConnectionTimes.dialDeadline
        if other.isDialled != connection.isDialled, isAtOnce, other.isDialled == preferDialled {
            self.doubt(other, inFavourOf: connection, hello, keys)
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

    /// Begins a session with a device that has others, since it was started again or a copy of it runs elsewhere.
    ///
    /// Each copy has edits that the others lack, so all of them keep their sessions. One that does not answer now has
    /// been lost.
    private mutating func settlesOn(
        _ connection: PeerConnection,
        beside others: [PeerConnection],
        _ keys: PeerKeys
    ) -> Bool {
        guard let entry = self.book[keys] else { return true }
        guard self.hasRoom(for: connection, named: entry.shownName, entry.author) else { return false }
        var others = others
        if others.count >= ConnectionLimits.instanceCountMax {
            others.sort { ($0.lastHeard, $0.id.rawValue) < ($1.lastHeard, $1.id.rawValue) }
            self.sayGoodbye(others.removeFirst())
        }
        for other in others {
            other.doubtBesideCopy(at: self.now.monotonicMilliseconds)
            self.send(.ping(self.shownTime), on: other)
        }
        return true
    }

    /// Takes note that two machines have the keys of a device: a session has answered what it was asked when another
    /// one began, or later.
    private mutating func noteWhetherCopied(_ connection: PeerConnection) {
        guard connection.openPingCount == 0, let keys = connection.keys else { return }
        let hasNewer = self.connections.values.contains { other in
            other.keys == keys && other.instance != connection.instance
                && (other.readySince ?? 0) >= (connection.readySince ?? 0)
        }
        if hasNewer { self.book[keys]?.copiesSeen = self.now.monotonicMilliseconds }
    }

    /// Has a session show that it still stands, since its peer has opened another one.
    ///
    /// A peer that did not dial at the same time as we did has lost the session: that ends soon, and the peer is
    /// dialled where it is now.
    private mutating func doubt(
        _ session: PeerConnection,
        inFavourOf connection: PeerConnection,
        _ hello: Hello,
        _ keys: PeerKeys
    ) {
        guard session.doubtedUntil == nil else { return }
        session.doubt(at: self.now.monotonicMilliseconds)
        self.noteAddress(of: connection, hello: hello, key: keys)
        self.send(.ping(self.shownTime), on: session)
    }

    /// Whether those that vouch for a device have not taken all sessions that are theirs, nor had as many of theirs
    /// remembered that the log does not know.
    ///
    /// A member can make up any number of devices. The last of its certificates is that of the user's first device,
    /// which vouches for everyone; of another user's devices all are counted.
    private mutating func hasRoom(
        for connection: PeerConnection,
        named name: String,
        _ author: ChainAuthor
    ) -> Bool {
        let isOwn = author.user == self.identity.user || author.user == self.identity.founder
        let certifiers: [DeviceID?] = author.line.dropFirst().dropLast() + (isOwn ? [] : [nil])
        for certifier in certifiers {
            let isItsOwn = { (keys: PeerKeys, book: DeviceBook) in
                guard let other = book[keys]?.author else { return false }
                return certifier.map { other.line.dropFirst().contains($0) } ?? (other.user == author.user)
            }
            let standing = self.readyConnections.count { $0.keys.map { isItsOwn($0, self.book) } ?? false }
            let isKnown = connection.introduction.map { $0.device.map { self.isInBook($0) } ?? false } ?? true
            let remembered = isKnown ? 0 : self.admissions.paired.count { isItsOwn($0.keys, self.book) }
            guard max(standing, remembered) >= ConnectionLimits.deviceCountMaxByCertifier else { continue }
            self.counters.refusedConnectionCount += 1
            let certifierName = self.book.entries.values.first { $0.device == certifier ?? author.line.last }?.shownName
            self.effects.append(.notice(.tooManySessions(device: name, certifier: certifierName ?? "")))
            self.drop(connection)
            return false
        }
        return true
    }

    private func isInBook(_ device: DeviceID) -> Bool { self.book.entries.keys.contains { $0.device == device } }
}
