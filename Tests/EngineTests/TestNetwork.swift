import CRDTCore
import Engine
import PeerCrypto
import SyncProtocol

/// Nodes with memory stores, joined by a network in virtual time that delivers every byte in order, at once or not at
/// all.
///
/// The production node, sessions and handshakes run in it unchanged.
final class TestNetwork {
    /// One device.
    ///
    /// A class, since a node cannot be copied.
    final class Machine {
        var node: Node<MemoryStore>
        fileprivate(set) var host: String
        var isUp = true
        var notices: [Notice] = []
        var answers: [RequestID: Result<WriteReceipt, WriteRefusal>] = [:]
        var clockOffsetMilliseconds: Int64 = 0

        init(node: consuming Node<MemoryStore>, host: String) {
            self.node = node
            self.host = host
        }
    }

    /// Two ends of one connection.
    private struct Wire {
        var dialler: Int
        var diallerID: ConnectionID
        var acceptor: Int
        var acceptorID: ConnectionID
    }

    private(set) var machines: [Machine] = []
    /// Who hears what is sent over connections that are not the network's, as time passes.
    var listeners: [ConnectionID: ([UInt8]) -> Void] = [:]
    /// Whether machines that are added take note of beacons.
    var discovers = false
    /// Little, so that a few operations are deferred.
    var lateWork = {
        var limits = LateWorkLimits()
        limits.restamps = CatchUpLimits(costMax: 30, costPerMillisecond: 4)
        limits.lateMoves = limits.restamps
        limits.climbedCountMax = 3
        return limits
    }()
    /// Whether beacons reach the other machines.
    var carriesBeacons = false
    /// Hosts from which nobody answers a dial, not even to refuse it.
    var silentHosts: Set<String> = []
    /// Who uses each machine that was added, and in which workspace.
    private(set) var users: [(user: UserID, founder: UserID, workspaceNonce: Bytes16)] = []
    /// The key file of each machine.
    private(set) var keys: [[UInt8]] = []
    var time: UInt64 = 1_000_000
    private var wires: [Wire] = []
    private var queue: [(to: Int, event: Event)] = []
    private var nextAccepted: UInt64 = 1 << 63
    private var nextRequest: UInt64 = 1
    private var cuts: Set<Set<Int>> = []
    /// Bytes delivered in all.
    private(set) var deliveredByteCount = 0
    /// How often an event was answered with more than one piece to one peer.
    private(set) var splitAnswerCount = 0
    /// Where anyone dialled, in order.
    private(set) var dialled: [NetworkAddress] = []
    static let port: UInt16 = 7000
    private static let epoch: UInt64 = 1_700_000_000_000

    func moment(of machine: Int) -> ClockReading {
        let wall = Int64(Self.epoch + self.time) + self.machines[machine].clockOffsetMilliseconds
        return ClockReading(wall: WallTime(milliseconds: UInt64(max(0, wall))), monotonicMilliseconds: self.time)
    }

    static func entropy(_ seed: UInt64) -> EntropyStream {
        var bytes: [UInt8] = []
        for shift in 0..<32 { bytes.append(UInt8(truncatingIfNeeded: seed >> UInt64(shift % 8 * 8)) &+ UInt8(shift)) }
        guard let stream = EntropyStream(seed: SecretBytes(bytes)) else { preconditionFailure("32 bytes") }
        return stream
    }

    /// The root key that follows from a seed of words.
    static func rootKey(_ words: UInt8) -> SigningKey? {
        RecoveryKey(bits: SecretBytes(Array(repeating: words, count: RecoveryKey.byteCount)))?.rootKey()
    }

    /// The founder's first machine.
    func found(words: UInt8, seed: UInt64) throws -> Int {
        var entropy = Self.entropy(seed)
        guard let root = Self.rootKey(words),
            let identity = DeviceIdentity.founding(name: "first", root: root, entropy: &entropy)
        else { throw TestFailure("no identity") }
        return try self.add(identity, seed: seed &+ 1)
    }

    /// Certifies a machine anew with the root key of its user, and starts it again.
    func recover(_ machine: Int, words: UInt8, generation: UInt32, seed: UInt64) throws {
        guard let root = Self.rootKey(words), let identity = DeviceIdentity.decode(SecretBytes(self.keys[machine])),
            let recovered = identity.recovered(by: root, generation: generation)
        else { throw TestFailure("not recovered") }
        self.keys[machine] = recovered.encoded().withBytes { Array($0) }
        try self.restart(machine, with: self.copyStore(of: machine), seed: seed)
        self.handle(machine, .introduce)
    }

    /// Starts a node on a store.
    ///
    /// `token`: what is kept beside the store.
    func add(
        _ identity: consuming DeviceIdentity,
        store: consuming MemoryStore? = nil,
        token: UInt8 = 1,
        seed: UInt64
    ) throws -> Int {
        let host = "10.0.0.\(self.machines.count + 1)"
        let wall = WallTime(milliseconds: Self.epoch + self.time)
        let origin = identity.origin
        self.users.append((identity.user, identity.founder, identity.workspaceNonce))
        self.keys.append(identity.encoded().withBytes { Array($0) })
        let node = try Node(
            store: store ?? MemoryStore(origin: origin),
            identity: identity,
            configuration: self.configuration(token: token),
            entropy: Self.entropy(seed),
            at: ClockReading(wall: wall, monotonicMilliseconds: self.time)
        )
        self.machines.append(Machine(node: node, host: host))
        return self.machines.count - 1
    }

    /// A device that is paired with a machine by invite, through the real handshake.
    ///
    /// `person`: what its user is called, if he is another one. `isBack`: whether he is in the workspace already.
    /// `words`: the seed of his root key; nil for one that nobody keeps.
    func join(
        _ inviter: Int,
        name: String,
        person: String? = nil,
        isBack: Bool = false,
        words: UInt8? = nil,
        seed: UInt64
    ) throws -> Int {
        let invite = try self.machines[inviter].node.makeInvite(
            for: person.map { .person($0) } ?? (isBack ? .returning : .device),
            addresses: [self.machines[inviter].host],
            port: Self.port,
            at: self.moment(of: inviter)
        )
        let joining = JoinSession(
            invite: invite,
            deviceName: name,
            root: words.flatMap { Self.rootKey($0) },
            entropy: Self.entropy(seed)
        )
        guard var session = joining else { throw TestFailure("no session") }
        let id = ConnectionID(rawValue: self.nextAccepted)
        self.nextAccepted += 1
        self.handle(inviter, .accepted(id, from: NetworkAddress(host: "10.0.1.\(seed)", port: 1)))
        switch session.converse(now: self.time, { self.answer(of: inviter, to: $0, on: id) }) {
        case .send: throw TestFailure("the pairing stalled")
        case .failed(let reason): throw TestFailure(reason)
        case .joined(let identity, let inviterKey, let goodbye):
            self.handle(inviter, .received(id, goodbye))
            let machine = try self.add(identity, seed: seed &+ 1000)
            let address = NetworkAddress(host: self.machines[inviter].host, port: Self.port)
            self.machines[machine].node.noteInviter(inviterKey, addresses: [address])
            // Of another person's device it does not know yet which it is.
            if person != nil || isBack { self.handle(machine, .addAddress(address)) }
            return machine
        }
    }

    /// What a machine says to bytes on a connection that is not one of the network's.
    func answer(of machine: Int, to bytes: [UInt8], on id: ConnectionID) -> [UInt8] {
        var answer: [UInt8] = []
        let effects = self.machines[machine].node.handle(.received(id, bytes), at: self.moment(of: machine))
        for effect in effects {
            if case .send(id, let bytes) = effect { answer += bytes } else { self.perform(effect, of: machine) }
        }
        return answer
    }

    /// What a newcomer says up to the message for which he is welcomed; the welcome does not reach him.
    func pairInVain(_ inviter: Int, invite: Invite, name: String, seed: UInt64) throws {
        guard var session = JoinSession(invite: invite, deviceName: name, entropy: Self.entropy(seed)) else {
            throw TestFailure("no session")
        }
        let id = ConnectionID(rawValue: self.nextAccepted)
        self.nextAccepted += 1
        self.handle(inviter, .accepted(id, from: NetworkAddress(host: "10.0.1.\(seed)", port: 1)))
        let toSession = self.answer(of: inviter, to: session.start(), on: id)
        if case .send(let bytes) = session.received(toSession, now: self.time), !bytes.isEmpty {
            self.handle(inviter, .received(id, bytes))
        }
        self.handle(inviter, .closed(id))
    }

    /// The titles of all that a user sees, by ids.
    func titles(_ machine: Int) throws -> [ObjectID: String] {
        try self.machines[machine].node.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            var titles: [ObjectID: String] = [:]
            for object in try state.visibleObjects() {
                for case ("title", .string(let title)) in try state.properties(of: object) {
                    titles[try state.object(object).id] = title
                }
            }
            return titles
        }
    }

    /// Lets time pass in which nothing happens.
    func sleep(seconds: UInt64) { self.sleep(milliseconds: seconds * 1_000) }

    func sleep(milliseconds: UInt64) {
        self.time += milliseconds
        for machine in self.machines.indices where self.machines[machine].isUp { self.handle(machine, .timer) }
    }

    // MARK: - Stores that are copied

    /// A copy of a machine's database as it is now.
    func copyStore(of machine: Int) -> MemoryStore { self.machines[machine].node.storeCopy }

    /// What a machine has stored, as a relay hands it on that redacts all that is written.
    func redactedRuns(of machine: Int) throws -> [Run] {
        var store = self.copyStore(of: machine)
        let runs = try store.read { transaction throws(StoreError) in
            var runs: [Run] = []
            for segment in transaction.segmentIndices {
                let run = transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)
                if let run { runs.append(run) }
            }
            return runs
        }
        return runs.map { $0.erasing(Set($0.operations.indices), SodiumCryptography())?.run ?? $0 }
    }

    /// Ends a machine's process and starts it again on another database, with the same keys.
    ///
    /// `token`: what is kept beside the database; the same as ever if all of the machine was put back.
    /// `isHeard`: whether the machines that it was connected to learn that its connections have ended.
    func restart(
        _ machine: Int,
        with store: MemoryStore,
        token: UInt8 = 1,
        seed: UInt64,
        isHeard: Bool = true
    ) throws {
        for wire in self.wires where wire.dialler == machine || wire.acceptor == machine {
            if isHeard { self.close(wire) } else { self.lose(wire) }
        }
        self.queue.removeAll { $0.to == machine }
        self.machines[machine].node = try self.node(machine, store: store, token: token, seed: seed)
    }

    /// A second machine that runs a copy of the first one's database and keys.
    ///
    /// `token`: what is kept beside the database; the same as ever if all of the machine was copied.
    func clone(_ machine: Int, token: UInt8 = 1, seed: UInt64) throws -> Int {
        let node = try self.node(machine, store: self.copyStore(of: machine), token: token, seed: seed)
        self.machines.append(Machine(node: node, host: "10.0.0.\(self.machines.count + 1)"))
        self.keys.append(self.keys[machine])
        return self.machines.count - 1
    }

    private func node(
        _ machine: Int,
        store: MemoryStore,
        token: UInt8 = 1,
        seed: UInt64
    ) throws -> Node<MemoryStore> {
        guard let identity = DeviceIdentity.decode(SecretBytes(self.keys[machine])) else {
            throw TestFailure("the key file cannot be read")
        }
        return try Node(
            store: store,
            identity: identity,
            configuration: self.configuration(token: token),
            entropy: Self.entropy(seed),
            at: self.moment(of: machine)
        )
    }

    private func configuration(token: UInt8 = 1) -> NodeConfiguration {
        NodeConfiguration(
            listenPort: Self.port,
            discovers: self.discovers,
            acceptedTokens: [[token]],
            nextToken: [token],
            lateWork: self.lateWork
        )
    }

    // MARK: - What tests do

    /// Writes one transaction and demands that it is done.
    @discardableResult
    func write(_ machine: Int, _ steps: Transaction.Step...) throws -> WriteReceipt {
        let id = RequestID(rawValue: self.nextRequest)
        self.nextRequest += 1
        self.handle(machine, .write([WriteRequest(id: id, transaction: Transaction(steps))]))
        guard let answer = self.machines[machine].answers[id] else { throw TestFailure("no answer") }
        return try answer.get()
    }

    /// The same for what a caller's own code wants.
    @discardableResult
    func write(
        _ machine: Int,
        on branch: BranchID? = nil,
        _ body: @escaping @Sendable (inout LocalTransaction) throws(WriteRefusal) -> Void
    ) throws -> WriteReceipt {
        let id = RequestID(rawValue: self.nextRequest)
        self.nextRequest += 1
        self.handle(machine, .write([WriteRequest(id: id, name: nil, branch: branch, body: body)]))
        guard let answer = self.machines[machine].answers[id] else { throw TestFailure("no answer") }
        return try answer.get()
    }

    /// Makes a note with a title.
    func create(_ machine: Int, _ title: String, below parent: ObjectID? = nil) throws -> ObjectID {
        let properties = [ExactText("title"): Value.string(title)]
        return try self.write(machine, .create(.init(type: "note", parent: parent, properties: properties))).created[0]
    }

    func cut(_ left: Int, _ right: Int) {
        self.cuts.insert([left, right])
        for wire in self.wires where Set([wire.dialler, wire.acceptor]) == [left, right] { self.close(wire) }
    }

    /// Switches a machine off for good.
    func stop(_ machine: Int) {
        for wire in self.wires where wire.dialler == machine || wire.acceptor == machine { self.lose(wire) }
        self.machines[machine].isUp = false
    }

    func healAll() { self.cuts = [] }

    /// Gives a machine another address: it ends its connections and looks for everyone, and nobody else hears of it.
    func move(_ machine: Int, to host: String) {
        for wire in self.wires where wire.dialler == machine || wire.acceptor == machine {
            self.wires.removeAll { $0.diallerID == wire.diallerID && $0.dialler == wire.dialler }
            let own = wire.dialler == machine ? wire.diallerID : wire.acceptorID
            self.queue.append((machine, .closed(own)))
        }
        self.machines[machine].host = host
        self.queue.append((machine, .dialAll))
    }

    /// Lets time pass until nothing happens any more for a while.
    func settle(seconds: UInt64 = 120) { self.settle(milliseconds: seconds * 1000) }

    func settle(milliseconds: UInt64) {
        let end = self.time + milliseconds
        self.drain()
        while self.time < end {
            let deadlines = self.machines.filter(\.isUp).compactMap { $0.node.nextDeadline }
            self.time = min(end, max(self.time + 1, deadlines.min() ?? end))
            for machine in self.machines.indices where self.machines[machine].isUp { self.handle(machine, .timer) }
            self.drain()
        }
    }

    /// How many connections each machine has.
    var connectionCounts: [Int] { self.machines.map { $0.node.footprint.connectionCount } }

    func export(_ machine: Int) throws -> String {
        let bytes = try self.machines[machine].node.read { transaction throws(StoreError) in
            try StateExport.json(of: &transaction)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func frontier(_ machine: Int) throws -> Frontier {
        try self.machines[machine].node.read { transaction throws(StoreError) in try Frontier(of: &transaction) }
    }

    // MARK: - Carrying

    func handle(_ machine: Int, _ event: Event) {
        let effects = self.machines[machine].node.handle(event, at: self.moment(of: machine))
        let receivers = effects.compactMap { if case .send(let id, _) = $0 { id } else { nil } }
        if Set(receivers).count < receivers.count { self.splitAnswerCount += 1 }
        for effect in effects { self.perform(effect, of: machine) }
    }

    private func drain() {
        while !self.queue.isEmpty {
            let (machine, event) = self.queue.removeFirst()
            guard self.machines[machine].isUp else { continue }
            self.handle(machine, event)
        }
    }

    private func perform(_ effect: Effect, of machine: Int) {
        switch effect {
        case .dial(let id, let address): self.dial(id, address, from: machine)
        case .send(let id, let bytes):
            self.queue.append((machine, .flushed(id, byteCount: bytes.count)))
            guard let (peer, peerID) = self.other(end: id, of: machine) else {
                self.listeners[id]?(bytes)
                return
            }
            self.deliveredByteCount += bytes.count
            self.queue.append((peer, .received(peerID, bytes)))
        case .resumeReading: break
        case .close(let id, _):
            if let wire = self.wires.first(where: { self.isEnd(id, of: machine, $0) }) { self.close(wire) }
        case .answer(let id, let result): self.machines[machine].answers[id] = result
        case .broadcast(let bytes):
            guard self.carriesBeacons else { return }
            for other in self.machines.indices where other != machine {
                self.queue.append((other, .beacon(bytes, fromHost: self.machines[machine].host)))
            }
        case .notice(let notice): self.machines[machine].notices.append(notice)
        }
    }

    private func dial(_ id: ConnectionID, _ address: NetworkAddress, from machine: Int) {
        self.dialled.append(address)
        guard !self.silentHosts.contains(address.host) else { return }
        let target = self.machines.indices.first { self.machines[$0].host == address.host && self.machines[$0].isUp }
        guard let target, target != machine, !self.cuts.contains([machine, target]) else {
            self.queue.append((machine, .dialFailed(id)))
            return
        }
        let accepted = ConnectionID(rawValue: self.nextAccepted)
        self.nextAccepted += 1
        self.wires.append(Wire(dialler: machine, diallerID: id, acceptor: target, acceptorID: accepted))
        self.queue.append(
            (target, .accepted(accepted, from: NetworkAddress(host: self.machines[machine].host, port: 40_000)))
        )
        self.queue.append((machine, .connected(id)))
    }

    private func isEnd(_ id: ConnectionID, of machine: Int, _ wire: Wire) -> Bool {
        (wire.dialler == machine && wire.diallerID == id) || (wire.acceptor == machine && wire.acceptorID == id)
    }

    private func other(end id: ConnectionID, of machine: Int) -> (Int, ConnectionID)? {
        guard let wire = self.wires.first(where: { self.isEnd(id, of: machine, $0) }) else { return nil }
        return wire.dialler == machine ? (wire.acceptor, wire.acceptorID) : (wire.dialler, wire.diallerID)
    }

    private func lose(_ wire: Wire) {
        self.wires.removeAll { $0.diallerID == wire.diallerID && $0.dialler == wire.dialler }
    }

    private func close(_ wire: Wire) {
        self.lose(wire)
        self.queue.append((wire.dialler, .closed(wire.diallerID)))
        self.queue.append((wire.acceptor, .closed(wire.acceptorID)))
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
