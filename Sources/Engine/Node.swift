package import CRDTCore
package import PeerCrypto
package import SyncProtocol

/// One device of a workspace: its store, its conversations with other devices, and its own writes.
///
/// A synchronous value: it gets events and the time, and returns what must be done. It reads no clock, draws no
/// randomness but from the seed it was given, and does no I/O but through its store.
package struct Node<Store: ReplicaStore & ~Copyable>: ~Copyable {
    var store: Store
    var author: Author
    let configuration: NodeConfiguration
    var connections: [ConnectionID: PeerConnection] = [:]
    var book = DeviceBook()
    var invites: [OpenInvite] = []
    /// Devices that were paired here and are not in the log yet.
    var pairedDevices: [PairedDevice] = []
    var nextConnection: UInt64 = 1
    var nextBeacon: UInt64 = 0
    /// When a held change is due, in wall time.
    var nextDue: WallTime?
    /// Not before this monotonic time are due changes tried again that the store could not apply.
    var nextDueTry: UInt64 = 0
    var clockAheadMilliseconds: UInt64?
    /// When it was last tried, by our clock, to write again what a peer holds of ours; nil if no peer holds any.
    var clockRepairTried: WallTime?
    /// What the clock of the peer showed that last held our changes.
    var clockWitness: ClockWitness?
    var storeFailure: StoreError?
    var counters = NodeCounters()
    /// Devices on whose mere word that they hold more of our chain we have gone on under a new replica id.
    var doubters: Set<DeviceID> = []
    var pastTraffic = Traffic()
    var effects: [Effect] = []
    /// Held chains that were already told to the user.
    var toldHeld: Set<ReplicaID> = []
    /// The time of the event being handled.
    var now: Moment

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
        at now: Moment
    ) throws(StoreError) {
        self.store = store
        self.author = Author(
            identity: identity.remembering(in: memo),
            entropy: entropy,
            cryptography: SodiumCryptography(memo: memo),
            at: now.wall
        )
        self.configuration = configuration
        self.now = now
        try self.open()
        for address in configuration.staticAddresses {
            self.book.unknownAddresses[address] = DeviceBook.UnknownAddress(nextDial: now.monotonicMilliseconds)
        }
        self.nextBeacon = now.monotonicMilliseconds
    }

    /// Handles one event.
    ///
    /// - Returns: What must be done, in this order.
    package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
        self.now = now
        self.author.now = now.wall
        switch event {
        case .accepted(let id, let address): self.accepted(id, from: address)
        case .connected(let id): self.connected(id)
        case .dialFailed(let id): self.dialFailed(id)
        case .received(let id, let bytes): self.received(id, bytes)
        case .flushed(let id, let byteCount): self.flushed(id, byteCount)
        case .closed(let id): self.closed(id)
        case .write(let requests): self.write(requests)
        case .introduce: self.introduce()
        case .beacon(let bytes, let host): self.heardBeacon(bytes, fromHost: host)
        case .addAddress(let address): self.addAddress(address)
        case .dialAll: self.dialAll()
        case .timer: break
        }
        self.handleDeadlines()
        var effects: [Effect] = []
        swap(&effects, &self.effects)
        return effects
    }

    /// When `handle(.timer)` is wanted next, in monotonic milliseconds.
    package var nextDeadline: UInt64? { self.earliestDeadline() }

    /// Reads one consistent state.
    package mutating func read<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.store.read(body)
    }

    // MARK: - Starting

    private mutating func open() throws(StoreError) {
        let identityBytes = self.configuration.storeIdentity
        let start = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) -> Start in
            var start = Start()
            var merge = Merge(now: self.now.wall)
            try merge.finish(in: &transaction)
            for position in 0..<transaction.replicaCount {
                start.clock.observe(try transaction.lastCountingStamp(of: ReplicaIndex(rawValue: UInt32(position))))
            }
            if let bytes = try transaction.fact(NodeFact.activeReplica), let id = Bytes16(bytes) {
                start.active = try transaction.replicaIndex(of: ReplicaID(bytes: id))
            }
            let remembered = try transaction.fact(NodeFact.storeIdentity)
            if remembered != identityBytes {
                // A copied or restored file must never write under the id its original may still be writing under.
                start.isCopy = remembered != nil && start.active != nil
                #if PLANTED_BUGS
                if PlantedBug.copyUnnoticed.isPlanted { start.isCopy = false }
                #endif
                if start.isCopy {
                    start.active = nil
                    try transaction.setFact(NodeFact.activeReplica, nil)
                    try FormerReplicas.forget(in: &transaction)
                }
                try transaction.setFact(NodeFact.storeIdentity, identityBytes)
            }
            start.paired = try PairedDevice.all(in: &transaction, at: self.now)
            start.addresses = try transaction.fact(NodeFact.addresses) ?? []
            start.invites = try OpenInvite.all(in: &transaction, at: self.now)
            return start
        }
        self.author.clock = start.clock
        self.author.activeReplica = start.active
        if start.isCopy { self.author.newReplicaReason = .copiedOrRestored }
        self.pairedDevices = start.paired
        self.invites = start.invites
        try self.refreshBook()
        self.restoreAddresses(start.addresses)
        try self.refreshWaits()
    }

    /// What opening a store finds.
    private struct Start {
        var clock = HybridClock()
        var active: ReplicaIndex?
        var isCopy = false
        var paired: [PairedDevice] = []
        var addresses: [UInt8] = []
        var invites: [OpenInvite] = []
    }
}

extension Node {
    /// A copy of the store, where it is a value that can be copied: what a backup of the database would hold.
    package var storeCopy: Store { self.store }
}

/// The names under which a node keeps facts in its store.
enum NodeFact {
    static let activeReplica = "active-replica"
    static let storeIdentity = "store-identity"
    static let formerReplicas = "former-replicas"
    static let paired = "paired-devices"
    static let lapses = "paired-devices-lapse"
    static let addresses = "addresses"
    static let invites = "invites"
    static func fork(_ replica: ReplicaID) -> String { "fork/\(replica)" }
    static let branchByteCount = "branch-bytes"
    static func branches(_ replica: ReplicaID) -> String { "branches/\(replica)" }
    static func branchHashes(_ replica: ReplicaID, part: Int) -> String { "branch/\(replica)/\(part)/hashes" }
    static func branchRun(_ replica: ReplicaID, part: Int) -> String { "branch/\(replica)/\(part)/run" }
}
