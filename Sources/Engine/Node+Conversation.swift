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
        #if PLANTED_BUGS
        if PlantedBug.replayBelieved.isPlanted, !connection.isDialled {
            for other in self.readyConnections where other.staticKey == key { self.sayGoodbye(other) }
        }
        #endif
        do throws(StoreError) {
            let fingerprint = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try connection.session.begin(in: &transaction)
            }
            let hello = Hello(
                workspace: self.author.membership.workspace,
                device: self.author.identity.device,
                replica: try self.activeReplicaID(),
                wallTime: self.shownTime,
                port: self.configuration.listenPort ?? 0,
                fingerprint: fingerprint
            )
            self.send(.hello(hello), on: connection)
        } catch {
            self.note(error)
            self.drop(connection)
        }
    }

    mutating func received(_ message: Message, on connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
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
                if isAsked { self.send(.pong(self.shownTime), on: connection) }
            case .lacks(let entries): try self.checkOwnReplica(entries, on: connection)
            case .resume: self.pump([connection])
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
        guard case .opening = connection.phase, let key = connection.staticKey, let entry = self.book[key] else {
            self.violation(connection, "a hello in a pairing")
            return
        }
        guard hello.workspace == self.author.membership.workspace, hello.device == entry.device else {
            self.violation(connection, "a hello of another workspace or device")
            return
        }
        guard self.settlesOn(connection, device: hello.device) else { return }
        connection.phase = .ready(device: hello.device)
        connection.readySince = self.now.monotonicMilliseconds
        self.book[key]?.lastSeen = self.now.wall
        self.book[key]?.nextDial = nil
        self.book[key]?.heardAddresses = []
        self.book[key]?.isHeardNext = true
        self.noteAddress(of: connection, hello: hello, key: key)
        // What has just worked is dialled first when the session ends, and not what comes after it in turn.
        self.book[key]?.nextAddress = 0
        self.hasCome(key)
        self.effects.append(.notice(.connected(device: entry.shownName)))
        self.noteClock(hello.wallTime, of: connection)
    }

    private mutating func noteAddress(of connection: PeerConnection, hello: Hello, key: StaticKey) {
        if connection.isDialled {
            if self.book.unknownAddresses[connection.address] != nil {
                self.book.unknownAddresses[connection.address]?.owner = key
            }
            self.remember(connection.address, of: key)
        } else if hello.port != 0 {
            self.remember(NetworkAddress(host: connection.address.host, port: hello.port), of: key)
        }
    }

    /// Two devices keep one session: of two that were dialled from both ends at once, the one dialled by the smaller
    /// device; else the newer, since whoever dials has lost the older.
    private mutating func settlesOn(_ connection: PeerConnection, device: DeviceID) -> Bool {
        guard let other = self.readyConnections.first(where: { $0.device == device }) else { return true }
        #if PLANTED_BUGS
        if PlantedBug.bothSessionsKept.isPlanted { return true }
        if PlantedBug.olderSessionStays.isPlanted, other.isDialled == connection.isDialled {
            self.sayGoodbye(connection)
            return false
        }
        #endif
        let preferDialled = self.author.identity.device < device
        // What was dialled before the other stood has come to its end by then.
        let isAtOnce = self.now.monotonicMilliseconds < (other.readySince ?? 0) + ConnectionTimes.dialDeadline
        if other.isDialled != connection.isDialled, isAtOnce, other.isDialled == preferDialled {
            self.sayGoodbye(connection)
            return false
        }
        connection.phase = .ready(device: device)
        self.sayGoodbye(other)
        return true
    }
}
