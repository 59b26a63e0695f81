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
    var configuration: NodeConfiguration
    var connections: [ConnectionID: PeerConnection] = [:]
    var book = DeviceBook()
    /// Names this run of the program, for peers that meet copies of this machine too.
    var instance: UInt32 = 0
    /// The lines whose introductions the book has.
    var bookLineCount = 0
    var invites: [OpenInvite] = []
    /// Devices that were paired here and are not in the log yet.
    var pairedDevices: [PairedDevice] = []
    /// What other devices have said that they have stored, and what of that is stored here.
    var acknowledgements = Acknowledgements()
    var storedAcknowledgements = Acknowledgements()
    /// What is stored of devices beside the log.
    var deviceMemory = DeviceMemory()
    var nextConnection: UInt64 = 1
    /// How often everyone was to be dialled.
    var dialAllCount: UInt64 = 0
    var nextBeacon: UInt64 = 0
    /// When a held change is due, in wall time.
    var nextDue: WallTime?
    /// Not before this monotonic time are due changes tried again that the store could not apply.
    var nextDueTry: UInt64 = 0
    /// Erasures under way, and when to go on with them, in monotonic milliseconds.
    var erasing: Erasing?
    var nextErasing: UInt64 = 0
    /// Whether the files of the store may still hold the bytes of what was erased, in places that nothing uses.
    package internal(set) var holdsErasedBytes = false
    /// Rises whenever a dropped write comes, or the content of one, or the clock is set back: then all peers are asked
    /// anew.
    var contentAge: Int { self.author.lackCount + self.fillCount }
    /// How often content of dropped writes has come.
    var fillCount = 0
    /// When to go on looking for what is needed of dropped writes, in monotonic milliseconds.
    var nextCompletion: UInt64 = 0
    /// What is known of the time beside what our clock shows.
    var clock: ClockEvidence
    /// Whether changes of this device are held here.
    var isOwnHeld = false
    var storeFailure: StoreError?
    var counters = NodeCounters()
    /// Devices on whose mere word that they hold more of our chain we have gone on under a new replica id.
    var doubters: Set<DeviceID> = []
    var pastTraffic = Traffic()
    var effects: [Effect] = []
    /// Held chains that were already told to the user.
    var toldHeld: Set<ReplicaID> = []
    /// The time of the event being handled.
    var now: ClockReading

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
        self.store = store
        self.author = Author(
            identity: identity.remembering(in: memo),
            entropy: entropy,
            cryptography: SodiumCryptography(memo: memo),
            limits: configuration.lateWork,
            at: now.wall
        )
        self.configuration = configuration
        self.now = now
        self.clock = ClockEvidence(latestShown: now.wall)
        try self.open()
        for address in configuration.staticAddresses {
            self.addAddress(address)
        }
        self.nextBeacon = now.monotonicMilliseconds
    }

    /// Handles one event.
    ///
    /// - Returns: What must be done, in this order.
    package mutating func handle(_ event: Event, at now: ClockReading) -> [Effect] {
        let before = self.now
        self.now = now
        self.author.now = now.wall
        self.author.advancePaces(to: now.monotonicMilliseconds)
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
        case .timer: self.settleWhatWasPutOff()
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

    /// Keeps what this database alone holds, beside the log; no other device hears of it.
    package mutating func keep<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) {
            let result = try self.store.write(body)
            self.storeFailure = nil
            return result
        } catch {
            self.note(error)
            throw error
        }
    }

    // MARK: - Starting

    private mutating func open() throws(StoreError) {
        let configuration = self.configuration
        let founder = self.author.membership.founder
        let era = self.author.entropy.nextUInt64()
        self.instance = UInt32(truncatingIfNeeded: era)
        let start = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) -> Start in
            var start = Start()
            // What was applied by then shows what the clock showed, too.
            let applied = WallTime(milliseconds: transaction.latestAppliedStamp().milliseconds)
            start.latestShown = max(self.now.wall, applied, try transaction.latestShown())
            try transaction.setLatestShown(start.latestShown)
            var merge = Merge(now: self.now.wall, founder: founder)
            merge.hasDueRestamps = !transaction.restamps.unsettled.isEmpty
            try merge.finish(in: &transaction)
            if let bytes = try transaction.fact(NodeFact.activeReplica), let id = Bytes16(bytes) {
                start.active = transaction.firstLine(of: ReplicaID(bytes: id))
            }
            // The token of a database that was put back or copied is an old one, or the other's.
            let token = try transaction.fact(NodeFact.storeToken)
            let isCopy = token.map { !configuration.acceptedTokens.contains($0) } ?? false
            var history = try transaction.fact(NodeFact.history).flatMap { DatabaseHistory(decoding: $0) }
            history = history ?? DatabaseHistory()
            history?.begin(era, after: transaction.lastCommit)
            try transaction.setFact(NodeFact.history, history?.encoded)
            if let active = start.active {
                // It must never write under the id its original may still be writing under.
                if isCopy { start.left = .copiedOrRestored }
                if transaction.progress(of: active).next != nil { start.left = start.left ?? .forked }
            }
            if start.left != nil {
                start.active = nil
                try transaction.setFact(NodeFact.activeReplica, nil)
                try transaction.setFact(NodeFact.branchReplicas, nil)
            }
            try transaction.setFact(NodeFact.storeToken, configuration.nextToken)
            start.paired = try PairedDevice.all(in: &transaction, at: self.now)
            start.addresses = try transaction.addresses()
            start.devices = try transaction.fact(NodeFact.devices).flatMap { DeviceMemory(decoding: $0) }
            start.acknowledgements = try transaction.fact(NodeFact.acknowledgements)
                .flatMap { Acknowledgements(decoding: $0) }
            start.invites = try OpenInvite.all(in: &transaction, at: self.now)
            start.hasErasures = try !transaction.erasures(after: nil).isEmpty
            start.holdsErasedBytes = try transaction.fact(NodeFact.erasedBytes) != nil
            start.mayLackContent = try transaction.fact(NodeFact.mayLackContent) != nil
            return start
        }
        self.clock = ClockEvidence(latestShown: start.latestShown)
        self.author.activeLine = start.active
        self.author.hasErasures = start.hasErasures
        self.author.mayLackContent = start.mayLackContent
        self.holdsErasedBytes = start.holdsErasedBytes
        if let reason = start.left { self.author.newReplicaReason = reason }
        self.pairedDevices = start.paired
        self.invites = start.invites
        try self.refreshBook()
        self.restoreAddresses(start.addresses)
        self.restoreDeviceMemory(start.devices ?? DeviceMemory())
        self.acknowledgements = start.acknowledgements ?? Acknowledgements()
        self.storedAcknowledgements = self.acknowledgements
        self.confirmClock()
        self.noteWhetherTimeIsKnown()
        try self.refreshWaits()
    }

    /// What opening a store finds.
    private struct Start {
        var active: LineIndex?
        /// Why the replica written under before is left.
        var left: NewReplicaReason?
        var latestShown = WallTime(milliseconds: 0)
        var paired: [PairedDevice] = []
        var addresses: [AddressRecord] = []
        var invites: [OpenInvite] = []
        var devices: DeviceMemory?
        var acknowledgements: Acknowledgements?
        var hasErasures = false
        var holdsErasedBytes = false
        var mayLackContent = false
    }
}

extension Node {
    /// A copy of the store, where it is a value that can be copied: what a backup of the database would hold.
    package var storeCopy: Store { self.store }
}

/// The names under which a node keeps facts in its store.
package enum NodeFact {
    /// Another value for each database that goes its own way: since it was made, copied or put back.
    package static let history = "history"
    static let activeReplica = "active-replica"
    /// The replicas that this device writes branches under.
    static let branchReplicas = "branch-replicas"
    package static let storeToken = "store-token"
    static let latestShown = "latest-shown-time"
    /// When other devices were last seen, and which are forgotten.
    static let devices = "devices"
    /// What other devices have said that they have stored.
    static let acknowledgements = "acknowledgements"
    /// Something was erased since the files of the store were last written anew.
    static let erasedBytes = "erased-bytes"
    /// Writes came that had been dropped, and nobody has looked since whether they are needed.
    static let mayLackContent = "may-lack-content"
}
