package import CRDTCore
package import PeerCrypto
package import SyncProtocol

/// One device of a workspace: its store, its conversations with other devices, and its own writes.
///
/// A synchronous value: it gets events and the time, and returns what must be done. It reads no clock, draws no
/// randomness but from the seed it was given, and does no I/O but through its store.
package struct Node<Store: NodeStore & ~Copyable>: ~Copyable {
    var replica: Replica<Store>
    var configuration: NodeConfiguration
    var connections: [ConnectionID: PeerConnection] = [:]
    var nextConnection: UInt64 = 1
    var book = DeviceBook()
    var admissions = Admissions()
    /// What is stored of devices beside the log.
    var memory = PeerMemory()
    /// Names this run of the program, for peers that meet copies of this machine too.
    var instance: UInt32 = 0
    /// How often everyone was to be dialled.
    var dialAllCount: UInt64 = 0
    /// What is known of the time beside what our clock shows.
    var clock: ClockEvidence
    /// What the settled state comes to, beside that of others.
    var own = OwnState()
    var held = HeldChanges()
    var carrying = CarryingOver()
    var parcels = ParcelExchange()
    /// What was said about rights when removals were last said again where they were missing.
    var repeatedAge: RightsAge?
    /// How many beacons were sent since the start.
    var beaconCount = 0
    var timers = TimerTable()
    package internal(set) var storeFailure: StoreError?
    var counters = NodeCounters()
    var pastTraffic = Traffic()
    var effects: [Effect] = []
    /// The time of the event being handled.
    var now: ClockReading

    /// Who this device is.
    var identity: DeviceIdentity { _read { yield self.replica.author.identity } }

    var cryptography: SodiumCryptography { self.replica.author.cryptography }

    /// What the replica knows beside its store.
    var state: ReplicaState { self.replica.author.state }

    /// Whether the files of the store may still hold the bytes of what was erased, in places that nothing uses.
    package var holdsErasedBytes: Bool { self.state.holdsErasedBytes }

    /// Starts a node on a store.
    ///
    /// `entropy`: where all of the node's randomness comes from; never to be used again. `memo`: where
    /// many nodes of one process keep which signatures hold and what keys agree on; only for keys that protect nothing.
    package init(
        store: consuming Store,
        identity: consuming DeviceIdentity,
        configuration: NodeConfiguration,
        memo: (any CryptographyMemo)? = nil,
        entropy: consuming EntropyStream,
        at now: ClockReading
    ) throws(StoreError) {
        let author = ReplicaAuthor(
            identity: identity.remembering(in: memo),
            entropy: entropy,
            cryptography: SodiumCryptography(memo: memo),
            limits: configuration.lateWork,
            at: now.wall
        )
        self.replica = Replica(store: store, author: author)
        self.configuration = configuration
        self.now = now
        self.clock = ClockEvidence(latestShown: now.wall)
        try self.open()
        for address in configuration.staticAddresses {
            self.addAddress(address)
        }
        self.timers.beacon = now.monotonicMilliseconds
    }

    /// Handles one event.
    ///
    /// - Returns: What must be done, in this order.
    package mutating func handle(_ event: Event, at now: ClockReading) -> [Effect] {
        let before = self.now
        self.now = now
        self.replica.author.now = now.wall
        self.replica.author.pace.advance(to: now.monotonicMilliseconds)
        if now.wall.isSet(since: before, at: now) { self.clockWasSet(from: before.wall) }
        switch event {
        case .accepted(let id, let address): self.accepted(id, from: address)
        case .connected(let id): self.connected(id)
        case .dialFailed(let id): self.dialFailed(id)
        case .received(let id, let bytes): self.received(id, bytes)
        case .flushed(let id, let byteCount): self.flushed(id, byteCount)
        case .closed(let id): self.closed(id)
        case .write(let requests): self.write(requests)
        case .restamp(let request, let isClockRight): self.restamp(request, isClockRight: isClockRight)
        case .introduce: self.introduce()
        case .beacon(let bytes, let host): self.heardBeacon(bytes, fromHost: host)
        case .addAddress(let address): self.addAddress(address)
        case .dialAll: self.dialAll()
        case .takePart(let participation): self.takePart(participation)
        case .withdraw: self.withdraw()
        case .databaseChanged: self.own.restart()
        case .timer: self.handleTimer(.catchUp)
        }
        self.handleTimers()
        var effects: [Effect] = []
        swap(&effects, &self.effects)
        return effects
    }

    /// When `handle(.timer)` is wanted next, in monotonic milliseconds.
    package var nextDeadline: UInt64? { self.earliestDeadline }

    /// Reads one consistent state.
    package mutating func read<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.replica.read(body)
    }

    /// Keeps what this database alone holds, beside the log; no other device hears of it.
    package mutating func keep<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) {
            let result = try self.replica.store.write(body)
            self.storeFailure = nil
            return result
        } catch {
            self.note(error)
            throw error
        }
    }

    // MARK: - Starting

    private mutating func open() throws(StoreError) {
        let (configuration, now) = (self.configuration, self.now)
        let epoch = self.replica.author.entropy.nextUInt64()
        self.instance = UInt32(truncatingIfNeeded: epoch)
        let start = try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Start in
            var start = Start()
            // What was applied by then shows what the clock showed, too.
            let applied = WallTime(milliseconds: transaction.latestAppliedStamp.milliseconds)
            start.latestShown = max(now.wall, applied, try transaction.latestShown())
            try transaction.setLatestShown(start.latestShown)
            let reader = CircleReader(user: author.identity.user, founder: author.membership.founder)
            try transaction.setReader(reader)
            try author.open(configuration, epoch: epoch, in: &transaction)
            start.admissions.paired = try PairedDevice.all(in: &transaction, at: now)
            start.admissions.invites = try OpenInvite.all(in: &transaction, at: now)
            start.addresses = try transaction.addresses()
            start.devices = try transaction.fact(NodeFact.devices).flatMap { try? DeviceMemory(decoding: $0) }
            start.acknowledgements = try transaction.fact(NodeFact.acknowledgements)
                .flatMap { try? Acknowledgements(decoding: $0) }
            start.left = try transaction.fact(NodeFact.left).flatMap { try? LeftParcels(decoding: $0) }
            try transaction.removeParcels(expiredAt: now.wall)
            return start
        }
        self.clock = ClockEvidence(latestShown: start.latestShown)
        self.admissions = start.admissions
        try self.refreshBook()
        self.restoreAddresses(start.addresses)
        self.restoreDeviceMemory(start.devices ?? DeviceMemory())
        self.memory.acknowledgements = start.acknowledgements ?? Acknowledgements()
        self.memory.storedAcknowledgements = self.memory.acknowledgements
        self.memory.left = start.left ?? LeftParcels()
        self.confirmClock()
        self.noteWhetherTimeIsKnown()
        try self.refreshWaits()
    }

    /// What opening a store finds of the device and of others.
    private struct Start {
        var latestShown = WallTime(milliseconds: 0)
        var admissions = Admissions()
        var addresses: [AddressRecord] = []
        var devices: DeviceMemory?
        var acknowledgements: Acknowledgements?
        var left: LeftParcels?
    }
}

extension Node {
    /// A copy of the store, where it is a value that can be copied: what a backup of the database would hold.
    package var storeCopy: Store { self.replica.store }
}

/// The names under which a node keeps facts in its store.
package enum NodeFact {
    /// Another value for each database that goes its own way: since it was made, copied or put back.
    package static let history = "history"
    static let activeReplica = "active-replica"
    /// The replicas that this device writes other timelines than the main one under.
    static let timelineReplicas = "timeline-replicas"
    package static let storeToken = "store-token"
    static let latestShown = "latest-shown-time"
    /// When other devices were last seen, and which are forgotten.
    static let devices = "devices"
    /// How much others have erased, and whose erasures are stopped.
    static let erasures = "erasures"
    /// What other devices have said that they have stored.
    static let acknowledgements = "acknowledgements"
    /// What was left with carriers for others (`LeftParcels`).
    static let left = "left-parcels"
    /// The circles that their owners' machines say this user does not read any more.
    static let ended = "ended"
    /// Who says that this device is removed from the workspace.
    static let removal = "removal"
    /// Something was erased since the files of the store were last written anew.
    static let erasedBytes = "erased-bytes"
}
