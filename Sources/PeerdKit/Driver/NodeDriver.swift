package import CRDTCore
package import Engine
internal import PeerCrypto
package import PeerTransport
package import Persistence

/// Owns the node and performs its effects. Between two awaits the node is never half changed.
package actor NodeDriver {
    private var node: Node<SQLiteStore>?
    private let inbox: NodeInbox
    /// For those who wait for changes.
    private let bell: CommitBell
    /// Rings after whatever may have changed what ``status()`` says; counts such events.
    nonisolated let eventBell = CommitBell()
    private(set) var eventCount: Int64 = 0
    private var transport: TCPTransport?
    private var beacons: BeaconTransport?
    private(set) var dialsPeers: Bool
    /// Looks for other addresses of this machine while it listens.
    private var watch: InterfaceWatch?
    nonisolated let report: @Sendable (Notice) -> Void
    private var answers: [RequestID: CheckedContinuation<Result<WriteReceipt, WriteRefusal>, Never>] = [:]
    private var lastRequest: UInt64 = 0
    private var events: [Event] = []
    private var pace = ReadingPace()
    private var alarm: Alarm?
    /// When to keep next who was seen, in monotonic milliseconds.
    private var nextMemory: UInt64 = 0
    /// Waits to write the files anew, after something was erased.
    var scrub: Task<Void, Never>?
    var scrubbing = ScrubSchedule()
    /// Looks for what other programs write to the database; and what it showed when it last did.
    private var writerWatch: Task<Void, Never>?
    private var dataVersion: Int64?
    /// Waits for what is kept back to be due.
    private var release: Task<Void, Never>?

    private struct Alarm {
        var deadline: UInt64
        var task: Task<Void, Never>
    }

    static let stopping = StoreError.unavailable("The workspace is being closed.")
    private static let memoryIntervalMilliseconds: UInt64 = 60_000
    /// How often it is looked whether another program has written to the database.
    private static let writerWatchInterval = Duration.seconds(15)
    private static let dialTimeout = Duration.seconds(10)
    /// How long a write waits for another program that holds the lock of the database, and how often it tries.
    private static let lockPatience = Duration.seconds(30)
    private static let lockInterval = Duration.milliseconds(100)
    /// Events handled before callers that wait for the driver get a turn.
    private static let eventsPerTurn = 16

    /// Takes over a node.
    ///
    /// The transport must post its events to the inbox; `bell` is rung after commits; `report` is called with what the
    /// user should know, and must not block.
    package init(
        node: consuming sending Node<SQLiteStore>,
        inbox: NodeInbox,
        bell: CommitBell,
        transport: TCPTransport?,
        beacons: BeaconTransport?,
        dialsPeers: Bool,
        report: @escaping @Sendable (Notice) -> Void
    ) {
        self.node = consume node
        self.inbox = inbox
        self.bell = bell
        self.transport = transport
        self.beacons = beacons
        self.dialsPeers = dialsPeers
        self.report = report
    }

    // MARK: - Running

    /// Handles what comes in, until the inbox is closed.
    package func run() async {
        self.handle(self.dialsPeers ? .introduce : .timer)
        self.watchForWriters()
        for await _ in self.inbox.arrivals {
            await self.drain()
        }
    }

    /// Ends all connections and closes the store.
    ///
    /// Nothing can be done with the driver afterwards.
    package func stop() async {
        self.inbox.close()
        self.watch?.stop()
        // Those that are connected now were seen last now.
        if self.dialsPeers { self.node?.rememberDevices(at: SystemClock.now()) }
        await self.beacons?.shutdown()
        await self.transport?.shutdown()
        self.alarm?.task.cancel()
        self.alarm = nil
        self.release?.cancel()
        self.writerWatch?.cancel()
        self.scrub?.cancel()
        let refused = self.answers.values
        self.answers = [:]
        for answer in refused {
            answer.resume(returning: .failure(.store(Self.stopping)))
        }
        self.node = nil
        self.eventBell.close()
    }

    /// Has the state compared anew when another program has written to the database, which it should not have.
    private func watchForWriters() {
        guard self.dialsPeers else { return }
        self.lookForWriters()
        self.writerWatch = Task {
            while (try? await Task.sleep(for: Self.writerWatchInterval)) != nil { self.lookForWriters() }
        }
    }

    private func lookForWriters() {
        let version = try? self.asking { node throws(StoreError) in
            try node.read { transaction throws(StoreError) in try transaction.dataVersion() }
        }
        guard let version else { return }
        if let last = self.dataVersion, last != version { self.handle(.databaseChanged) }
        self.dataVersion = version
    }

    private func drain() async {
        while true {
            let arrived = self.inbox.take()
            self.events += arrived.events
            if !arrived.writes.isEmpty { self.handle(.write(arrived.writes)) }
            let turn = self.events.prefix(Self.eventsPerTurn)
            self.events.removeFirst(turn.count)
            for event in turn { self.handleInTurn(event) }
            if arrived.writes.isEmpty, turn.isEmpty { return }
            await Task.yield()
        }
    }

    /// Handles an event of a transport now, or once its connection need wait no more.
    private func handleInTurn(_ event: Event) {
        switch event {
        case .received(let connection, let bytes):
            let device = self.node?.device(on: connection)
            let party = device.map { ReadingPace.Party.device($0) } ?? .connection(connection)
            let start = SystemClock.now().monotonicMilliseconds
            if self.pace.holds(bytes, on: connection, of: party, at: start) { return self.scheduleRelease() }
            self.handle(bytes, on: connection, of: party)
        case .closed(let connection):
            self.pace.ended(connection)
            self.handle(event)
        default: self.handle(event)
        }
    }

    private func handle(_ bytes: [UInt8], on connection: ConnectionID, of party: ReadingPace.Party) {
        // Nothing here waits for another task, so that all of it is this thread's.
        let before = SystemClock.threadMilliseconds()
        self.handle(.received(connection, bytes))
        if case .connection = party, self.node?.device(on: connection) != nil {
            self.transport?.noteMember(TransportID(connection))
        }
        let spent = SystemClock.threadMilliseconds() - before
        let end = SystemClock.now().monotonicMilliseconds
        self.pace.handled(byteCount: bytes.count, of: party, milliseconds: spent, at: end)
    }

    private func scheduleRelease() {
        guard let end = self.pace.nextEnd else { return }
        self.release?.cancel()
        let now = SystemClock.now().monotonicMilliseconds
        let delay = Duration.milliseconds(end > now ? end - now : 0)
        self.release = Task {
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            self.releaseDue()
        }
    }

    private func releaseDue() {
        // At once, before what has come since on the same connection.
        if let due = self.pace.release(at: SystemClock.now().monotonicMilliseconds) {
            self.handle(due.bytes, on: due.connection, of: due.party)
        }
        self.inbox.ring()
        self.scheduleRelease()
    }

    private func handle(_ event: Event) {
        guard let effects = self.node?.handle(event, at: SystemClock.now()) else { return }
        for effect in effects { self.perform(effect) }
        // A timer goes off for whoever asks for the status, too.
        if case .timer = event, effects.isEmpty {} else { self.ringEventBell() }
        self.rememberDevices()
        self.ringBell()
        self.setAlarm()
        self.scheduleScrub()
    }

    /// Keeps now and then who was seen, for when the process ends without order.
    private func rememberDevices() {
        let now = SystemClock.now()
        guard self.dialsPeers, now.monotonicMilliseconds >= self.nextMemory else { return }
        self.nextMemory = now.monotonicMilliseconds + Self.memoryIntervalMilliseconds
        self.node?.rememberDevices(at: now)
    }

    private func ringEventBell() {
        self.eventCount += 1
        self.eventBell.ring(self.eventCount)
    }

    /// Wakes those who wait for changes, if there are some and something has changed.
    private func ringBell() {
        guard self.bell.isAwaited() else { return }
        let last = try? self.node?.read { transaction throws(StoreError) in
            try transaction.storedLastCommit()
        }
        if let last { self.bell.ring(last) }
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .dial(let connection, let address):
            guard self.dialsPeers, let transport = self.transport else {
                return self.inbox.post(.dialFailed(connection))
            }
            let peer = PeerAddress(host: address.host, port: address.port)
            transport.dial(TransportID(connection), peer, timeout: Self.dialTimeout)
        case .send(let connection, let bytes): self.transport?.send(TransportID(connection), bytes)
        case .resumeReading(let connection, let byteCount):
            self.transport?.resumeReading(TransportID(connection), byteCount: byteCount)
        case .close(let connection, let afterFlush):
            self.transport?.close(TransportID(connection), afterFlush: afterFlush)
        case .answer(let request, let result):
            self.answers.removeValue(forKey: request)?.resume(returning: result)
        case .broadcast(let bytes):
            // A beacon is never longer than its limit; one that is lost is followed by the next.
            try? self.beacons?.broadcast(bytes)
        case .notice(let notice):
            self.report(notice)
        }
    }

    /// One timer, at the node's next deadline.
    ///
    /// One that has become too early fires in vain and is set anew.
    private func setAlarm() {
        guard let deadline = self.node?.nextDeadline else { return }
        if let alarm = self.alarm {
            if alarm.deadline <= deadline { return }
            alarm.task.cancel()
        }
        let now = SystemClock.now().monotonicMilliseconds
        let delay = Duration.milliseconds(deadline > now ? deadline - now : 0)
        let task = Task {
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            self.alarmWentOff()
        }
        self.alarm = Alarm(deadline: deadline, task: task)
    }

    private func alarmWentOff() {
        self.alarm = nil
        self.handle(.timer)
    }

    // MARK: - Taking part

    /// Takes a transport that posts its events to the inbox, and beacons, if there are any, in the place of the last.
    ///
    /// Before the transport listens: else whoever connects at that moment would get no answer.
    package func use(_ transport: TCPTransport, _ beacons: BeaconTransport?) async {
        // Connections of another transport end with it.
        if self.transport != nil { await self.withdraw() }
        self.transport = transport
        self.beacons = beacons
    }

    /// Meets others over the transport.
    package func takePart(_ participation: Participation) {
        self.dialsPeers = true
        self.handle(.takePart(participation))
        if participation.listenPort != nil { self.watchAddresses() }
    }

    /// Looks for others anew whenever this machine has got other addresses.
    package func watchAddresses() {
        guard let transport = self.transport else { return }
        let inbox = self.inbox
        self.watch?.stop()
        self.watch = InterfaceWatch { hosts in
            transport.closeConnections(outside: hosts)
            inbox.post(.dialAll)
        } failed: { [report] failure in
            report(.addressesUnknown(reason: failure.description))
        }
    }

    /// Ends all connections; nobody is met any more.
    package func withdraw() async {
        self.dialsPeers = false
        self.watch?.stop()
        self.watch = nil
        self.handle(.withdraw)
        let (transport, beacons) = (self.transport, self.beacons)
        self.transport = nil
        self.beacons = nil
        await beacons?.shutdown()
        await transport?.shutdown()
    }

    // MARK: - Local callers

    /// Writes a transaction; what the receipt says is durable.
    ///
    /// Transactions that come in meanwhile share its commit.
    package func write(
        _ transaction: Transaction,
        on branch: BranchID? = nil
    ) async -> Result<WriteReceipt, WriteRefusal> {
        await self.answerInAction(on: branch) { id, action in
            WriteRequest(id: id, transaction: transaction, branch: branch, action: action)
        }
    }

    /// Writes what a caller's own code wants as it reads; what the receipt says is durable.
    package func write(
        named name: IdempotencyKey? = nil,
        on branch: BranchID? = nil,
        _ body: @escaping @Sendable (inout LocalTransaction) throws(WriteRefusal) -> Void
    ) async -> Result<WriteReceipt, WriteRefusal> {
        await self.answerInAction(on: branch) { id, action in
            WriteRequest(id: id, name: name, branch: branch, action: action, body: body)
        }
    }

    /// Has a request done as part of the action of the task that asks for it.
    private func answerInAction(
        on branch: BranchID?,
        _ request: (RequestID, ActionContext) -> WriteRequest
    ) async -> Result<WriteReceipt, WriteRefusal> {
        let running = RunningAction.current
        let context = running?.context(on: branch) ?? ActionContext()
        let answer = await self.answerOnceUnlocked { id in self.inbox.post(request(id, context)) }
        if case .success(let receipt) = answer { running?.note(receipt, on: branch) }
        return answer
    }

    /// Orders what is held directly after what it had seen.
    package func restamp(isClockRight: Bool) async -> Result<WriteReceipt, WriteRefusal> {
        await self.answerOnceUnlocked { self.inbox.post(.restamp($0, isClockRight: isClockRight)) }
    }

    /// Asks again as long as another program holds the lock of the database, so that nothing of it was done.
    private func answerOnceUnlocked(_ post: (RequestID) -> Void) async -> Result<WriteReceipt, WriteRefusal> {
        let end = ContinuousClock.now + Self.lockPatience
        while true {
            let answer = await self.answer(to: post)
            guard case .failure(.store(.locked)) = answer, ContinuousClock.now < end,
                (try? await Task.sleep(for: Self.lockInterval)) != nil
            else { return answer }
        }
    }

    private func answer(to post: (RequestID) -> Void) async -> Result<WriteReceipt, WriteRefusal> {
        guard self.node != nil else { return .failure(.store(Self.stopping)) }
        self.lastRequest += 1
        let id = RequestID(rawValue: self.lastRequest)
        return await withCheckedContinuation { continuation in
            self.answers[id] = continuation
            post(id)
        }
    }

    /// Keeps what this database alone holds; it is on the disk when this returns.
    package func keep<Result: Sendable>(
        _ body: @Sendable (inout SQLiteStore.Transaction) throws(StoreError) -> Result
    ) throws -> Result {
        try self.storing { node throws(StoreError) in try node.keep(body) }
    }

    var holdsErasedBytes: Bool { self.node?.holdsErasedBytes ?? false }

    /// Works on the store between two events.
    func storing<Result>(
        _ body: (inout Node<SQLiteStore>) throws(StoreError) -> Result
    ) throws -> Result {
        // What the node noticed is told, too.
        defer {
            self.handle(.timer)
            self.ringEventBell()
        }
        return try self.asking(body)
    }

    /// Calls the node, and says what it means if that is gone or its store fails.
    private func asking<Result>(
        _ body: (inout Node<SQLiteStore>) throws(StoreError) -> Result
    ) throws -> Result {
        do throws(StoreError) {
            let result: Result? = try self.node?.perform(body)
            guard let result else { throw Self.stopping }
            return result
        } catch {
            throw PeerdError(error)
        }
    }

    /// What the node knows of itself and its peers.
    package func status() throws -> NodeStatus {
        // A clock that was set, or a change that is due, shows at once.
        self.handle(.timer)
        return try self.asking { node throws(StoreError) in try node.status(at: SystemClock.now()) }
    }

    /// Whether the last write to the disk failed.
    package var storeFails: Bool { self.node?.storeFailure != nil }

    /// Keeps an address to dial.
    package func add(_ address: NetworkAddress) {
        // At once, so that a status that is asked for next knows that somebody is dialled.
        self.handle(.addAddress(address))
    }

    /// Dials every known machine now, also in a process that was opened for the store alone.
    package func meetEveryone() {
        self.dialsPeers = true
        if self.transport == nil {
            let inbox = self.inbox
            self.transport = TCPTransport(events: { inbox.post(Event($0)) })
        }
        // At once, so that a status that is asked for next knows who has not answered.
        self.handle(.introduce)
        self.handle(.dialAll)
    }

    /// Forgets a device that is gone: nobody waits for it until it comes back by itself.
    ///
    /// Returns false if it is connected.
    package func forget(_ device: DeviceID) throws -> Bool {
        let isForgotten = try self.asking { node throws(StoreError) in try node.forget(device) }
        self.ringEventBell()
        self.inbox.ring()
        return isForgotten
    }

    /// Makes an invite; `endsOldest`: whether another one gave way to it.
    package func makeInvite(
        for guest: Guest = .device,
        addresses: [String],
        port: UInt16
    ) throws -> (invite: Invite, endsOldest: Bool) {
        let made: Result<(Invite, Bool), InviteRefusal> = try self.asking { node throws(StoreError) in
            let now = SystemClock.now()
            let endsOldest = node.hasAllInvitesOpen(at: now)
            do throws(InviteRefusal) {
                let invite = try node.makeInvite(for: guest, addresses: addresses, port: port, at: now)
                return .success((invite, endsOldest))
            } catch {
                return .failure(error)
            }
        }
        do throws(InviteRefusal) {
            return try made.get()
        } catch {
            throw PeerdError(error)
        }
    }
}
