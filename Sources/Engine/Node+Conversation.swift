internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What is said over a link that stands: hello, the comparison of frontiers, and the small messages.
extension Node where Store: ~Copyable {
    /// The handshake is done: says hello.
    ///
    /// Whoever answered must not believe anything yet, since the first handshake message can be replayed; the peer's
    /// own hello proves that it is there.
    mutating func established(_ connection: PeerConnection, _ key: StaticKey) {
        connection.conversation.staticKey = key
        #if PLANTED_BUGS
        if PlantedBug.replayBelieved.isPlanted, !connection.isDialled {
            for other in self.readyConnections where other.conversation.staticKey == key { self.sayGoodbye(other) }
        }
        #endif
        do throws(StoreError) {
            let frontier = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try Frontier(of: &transaction)
            }
            let fingerprint = Frontier.fingerprint(frontier.entries, self.author.cryptography)
            connection.conversation.sentFingerprint = fingerprint
            connection.conversation.helloFrontier = frontier
            let hello = Hello(
                workspace: self.author.membership.workspace,
                device: self.author.identity.device,
                replica: try self.activeReplicaID(),
                wallTime: self.now.wall,
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
        if case .hello(let hello) = message {
            self.greeted(connection, hello)
            return
        }
        guard case .ready = connection.phase else {
            self.violation(connection, "a message before the hello")
            return
        }
        switch message {
        case .hello, .run: break
        case .welcome: self.violation(connection, "a welcome to a device that did not ask for one")
        case .ranges(let claims): self.compare(claims, on: connection)
        case .caughtUp: connection.conversation.peerIsCaughtUp = true
        case .stored(let dots): self.peerStored(dots, on: connection)
        case .credit(let byteCount): self.credited(byteCount, on: connection)
        case .eagerness(let isEager):
            connection.conversation.isPeerLazy = !isEager
            self.pump(connection)
        case .held(let notice): self.heardHeld(notice, from: connection)
        case .forkProbe(let probe): self.answerProbe(probe, on: connection)
        case .forkProof(let proof): self.receivedProof(proof, on: connection)
        case .branchRequest(let request): self.sendBranch(request, on: connection)
        case .branch(let part): self.receivedBranch(part, on: connection)
        case .ping(let number): self.send(.pong(number), on: connection)
        case .pong: break
        }
    }

    // MARK: - Hello

    private mutating func greeted(_ connection: PeerConnection, _ hello: Hello) {
        guard case .opening = connection.phase, let key = connection.conversation.staticKey,
            let entry = self.book[key]
        else {
            self.violation(connection, "a second hello")
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
        if hello.fingerprint == connection.conversation.sentFingerprint {
            #if PLANTED_BUGS
            let late = try? self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try Frontier(of: &transaction)
            }
            if PlantedBug.helloFrontierReadLate.isPlanted, let late { connection.conversation.helloFrontier = late }
            #endif
            connection.conversation.comparison.learnAll()
            for entry in connection.conversation.helloFrontier.entries {
                connection.conversation.peerSequences[entry.replica] = entry.sequence
                connection.conversation.sentSequences[entry.replica] = entry.sequence
                if entry.isForked { connection.conversation.sharedForks[entry.replica] = entry.sequence + 1 }
            }
            self.shareForks(on: connection)
            self.comparisonFinished(connection)
        } else if connection.isDialled {
            let opening = connection.conversation.comparison.opening(
                connection.conversation.helloFrontier,
                self.author.cryptography
            )
            self.send(.ranges(opening), on: connection)
        }
        self.sendHeldNotices(connection)
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

    // MARK: - Comparing frontiers

    private mutating func compare(_ claims: [FrontierRange], on connection: PeerConnection) {
        do throws(StoreError) {
            let frontier = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try Frontier(of: &transaction)
            }
            let wasComplete = connection.conversation.comparison.isComplete
            let outcome = connection.conversation.comparison.answer(claims, frontier, self.author.cryptography)
            guard connection.conversation.comparison.unlearned.count <= TransferLimits.openSpanCountMax else {
                self.violation(connection, "a comparison in too many pieces")
                return
            }
            if !outcome.reply.isEmpty { self.send(.ranges(outcome.reply), on: connection) }
            for lesson in outcome.lessons {
                try self.learn(lesson, frontier, on: connection)
                guard self.connections[connection.id] != nil else { return }
            }
            if connection.conversation.comparison.isComplete {
                if !wasComplete { self.comparisonFinished(connection) }
                self.pump(connection)
            }
        } catch {
            self.note(error)
            self.drop(connection)
        }
    }

    /// Takes in what the peer holds in a range.
    private mutating func learn(
        _ lesson: FrontierComparison.Lesson,
        _ mine: Frontier,
        on connection: PeerConnection
    ) throws(StoreError) {
        for entry in lesson.entries where connection.conversation.hasRoom(for: entry.replica) {
            connection.conversation.peerSequences[entry.replica] = entry.sequence
            connection.conversation.sentSequences[entry.replica] = entry.sequence
            #if PLANTED_BUGS
            if PlantedBug.everythingSentAgain.isPlanted { connection.conversation.sentSequences[entry.replica] = 0 }
            if PlantedBug.resumesTooFar.isPlanted { connection.conversation.sentSequences[entry.replica]? += 1 }
            #endif
            if entry.isForked { connection.conversation.sharedForks[entry.replica] = entry.sequence + 1 }
            try self.checkAgainstOwn(entry, on: connection)
        }
        let theirs = Dictionary(lesson.entries.map { ($0.replica, $0) }) { first, _ in first }
        for entry in mine.entries(from: lesson.span.start, to: lesson.span.end) {
            if theirs[entry.replica] == nil, connection.conversation.hasRoom(for: entry.replica) {
                connection.conversation.peerSequences[entry.replica] = 0
                connection.conversation.sentSequences[entry.replica] = 0
            }
            if entry.isForked { try self.shareFork(entry.replica, on: connection) }
        }
    }

    private mutating func comparisonFinished(_ connection: PeerConnection) {
        self.requestBranches(from: connection)
        self.pump(connection)
    }

    // MARK: - What the peer holds

    private mutating func peerStored(_ dots: [Dot], on connection: PeerConnection) {
        do throws(StoreError) {
            let (lacking, held) = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                var lacking: [Dot] = []
                var held: [Dot] = []
                for dot in dots {
                    var stored: UInt64 = 0
                    if let index = transaction.existingReplicaIndex(of: dot.replica) {
                        stored = transaction.replica(index).storedSequence
                    }
                    if dot.sequence > stored { lacking.append(dot) } else { held.append(dot) }
                }
                return (lacking, held)
            }
            for dot in held where dot.sequence > connection.conversation.sentSequences[dot.replica] ?? 0 {
                self.noteUnproven(dot, on: connection)
            }
            for dot in dots {
                guard connection.conversation.hasRoom(for: dot.replica) else { continue }
                let known = connection.conversation.peerSequences[dot.replica] ?? 0
                connection.conversation.peerSequences[dot.replica] = max(known, dot.sequence)
                let sent = connection.conversation.sentSequences[dot.replica] ?? 0
                connection.conversation.sentSequences[dot.replica] = max(sent, dot.sequence)
            }
            if !lacking.isEmpty, connection.conversation.graftDeadline == nil {
                connection.conversation.graftDeadline = self.now.monotonicMilliseconds + ConnectionTimes.graftDelay
            }
        } catch {
            self.note(error)
        }
    }

    private mutating func credited(_ byteCount: UInt64, on connection: PeerConnection) {
        guard connection.conversation.window.acknowledge(byteCount) else {
            self.violation(connection, "more credit than was used")
            return
        }
        self.pump(connection)
    }

    // MARK: - Held changes

    /// Tells a device that its own changes are held here.
    mutating func sendHeldNotices(_ connection: PeerConnection) {
        #if PLANTED_BUGS
        if PlantedBug.heldNoticeForgotten.isPlanted { return }
        #endif
        guard let device = connection.device, self.nextDue != nil else { return }
        let now = self.now.wall
        do throws(StoreError) {
            let notices = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                var notices: [HeldNotice] = []
                for (index, wait) in try Merge.waits(at: now, in: &transaction) {
                    let record = transaction.replica(index)
                    guard case .held = wait, record.device == device else { continue }
                    let sequence = record.appliedSequence + 1
                    let stamp = try transaction.stamp(of: index, sequence: sequence) ?? record.storedStamp
                    notices.append(HeldNotice(replica: record.id, sequence: sequence, stamp: stamp, wallTime: now))
                }
                return notices
            }
            for notice in notices.sorted(by: { $0.replica < $1.replica })
            where connection.conversation.heldNotices[notice.replica] != notice.sequence {
                connection.conversation.heldNotices[notice.replica] = notice.sequence
                self.send(.held(notice), on: connection)
            }
        } catch {
            self.note(error)
        }
    }

    /// A peer holds our changes: if our clock is right by now, they are written again under a new replica id; if not,
    /// the user must be told.
    private mutating func heardHeld(_ notice: HeldNotice, from connection: PeerConnection) {
        self.clockWitness = ClockWitness(notice.wallTime, heardAt: self.now)
        if self.repairClockIfNeeded() { return }
        self.clockRepairTried = self.now.wall
        let ours = self.now.wall.milliseconds
        let theirs = notice.wallTime.milliseconds
        let ahead = ours > theirs ? ours - theirs : 0
        guard ahead > HybridClock.skewMaxMilliseconds else { return }
        self.clockAheadMilliseconds = ahead
        let name = connection.device.flatMap { self.book.entry(of: $0)?.shownName } ?? "unknown"
        self.effects.append(.notice(.clockAhead(milliseconds: ahead, accordingTo: name)))
    }
}
