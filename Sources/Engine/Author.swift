internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What writes changes of this device: its keys, its clock, its entropy, and the replica it writes under.
///
/// Apart from the node so that it can be used inside a transaction of the node's store.
struct Author: ~Copyable {
    let identity: DeviceIdentity
    let membership: Membership
    let cryptography: SodiumCryptography
    var entropy: EntropyStream
    var clock = HybridClock()
    /// The replica written under; nil until the next write makes one.
    var activeReplica: ReplicaIndex?
    /// Why the next write makes a new replica.
    var newReplicaReason = NewReplicaReason.first
    var reauthoredChangeCount = 0
    /// The wall time of the event being handled.
    var now: WallTime

    init(
        identity: consuming DeviceIdentity,
        entropy: consuming EntropyStream,
        cryptography: SodiumCryptography,
        at now: WallTime
    ) {
        self.cryptography = cryptography
        self.membership = identity.membership
        self.identity = identity
        self.entropy = entropy
        self.now = now
    }

    /// What changes as transactions are made, and must be as it was if nothing of them is kept.
    struct Standing {
        fileprivate var clock: HybridClock
        fileprivate(set) var activeReplica: ReplicaIndex?
        fileprivate var newReplicaReason: NewReplicaReason
        fileprivate var reauthoredChangeCount: Int
    }

    var standing: Standing {
        get {
            Standing(
                clock: self.clock,
                activeReplica: self.activeReplica,
                newReplicaReason: self.newReplicaReason,
                reauthoredChangeCount: self.reauthoredChangeCount
            )
        }
        set {
            self.clock = newValue.clock
            self.activeReplica = newValue.activeReplica
            self.newReplicaReason = newValue.newReplicaReason
            self.reauthoredChangeCount = newValue.reauthoredChangeCount
        }
    }

    mutating func perform(
        _ wanted: Transaction,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Result<WriteReceipt, WriteRefusal> {
        var plan = TransactionPlan(namespace: self.namespace)
        do throws(WriteRefusal) {
            for step in wanted.steps {
                try plan.add(step, entropy: &self.entropy, in: &transaction)
            }
        } catch {
            if case .store(let error) = error { throw error }
            return .failure(error)
        }
        guard !plan.edits.isEmpty else {
            return .success(WriteReceipt(dot: nil, created: plan.created, operationCount: 0))
        }
        guard let dot = try self.commit(plan.edits, in: &transaction) else { return .failure(.clockExhausted) }
        return .success(WriteReceipt(dot: dot, created: plan.created, operationCount: plan.edits.count))
    }

    /// The namespace of ids derived from keys: the workspace's own.
    private var namespace: ObjectID {
        ObjectID(bytes: Bytes16(self.membership.workspace.bytes.array.prefix(16)) ?? Bytes16(high: 0, low: 0))
    }

    /// Writes edits as one change of the active replica, stamped now.
    ///
    /// Nil if the clock has run out.
    private mutating func commit(
        _ edits: [Edit],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Dot? {
        if self.activeReplica == nil {
            guard let first = self.clock.next(at: self.now) else { return nil }
            try self.openReplica(stamp: first, in: &transaction)
        }
        guard let index = self.activeReplica else { return nil }
        // Our own last change may be held, with the clock set back, and so not be among what is applied.
        var last = transaction.replica(index).storedStamp
        #if PLANTED_BUGS
        if PlantedBug.ownHeldChangeNotObserved.isPlanted { last = .zero }
        #endif
        self.clock.observe(last)
        guard let stamp = self.clock.next(at: self.now) else { return nil }
        var merge = Merge(now: max(self.now, WallTime(milliseconds: stamp.milliseconds)))
        let context = OwnChange.currentContext(of: index, in: transaction)
        let change = OwnChange(stamp: stamp, context: context, edits: edits)
        try self.append([change], to: index, &merge, in: &transaction)
        try merge.finish(in: &transaction)
        self.clock.observe(merge.summary.appliedStamp)
        let record = transaction.replica(index)
        return Dot(replica: record.id, sequence: record.storedSequence)
    }

    /// Opens a new replica of this device: a fresh id, and a first change that introduces the device.
    mutating func openReplica(
        stamp: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let nonce = Bytes16(high: self.entropy.nextUInt64(), low: self.entropy.nextUInt64())
        let id = ReplicaID(device: self.identity.device, nonce: nonce, self.cryptography)
        let index = try transaction.replicaIndex(of: id)
        var merge = Merge(now: max(self.now, WallTime(milliseconds: stamp.milliseconds)))
        let introduction = OwnChange(
            stamp: stamp,
            context: [],
            edits: [.introduce(self.identity.introduction(nonce: nonce))]
        )
        try self.append([introduction], to: index, &merge, in: &transaction)
        try merge.finish(in: &transaction)
        // With a clock that is behind, this may have applied what was held: what is written next has seen it.
        self.clock.observe(merge.summary.appliedStamp)
        try transaction.setFact(NodeFact.activeReplica, id.bytes.array)
        #if PLANTED_BUGS
        if PlantedBug.replicaForgotten.isPlanted { try transaction.setFact(NodeFact.activeReplica, nil) }
        #endif
        self.activeReplica = index
    }

    /// Appends changes of our own to a replica's chain, with as many signatures as runs of them need.
    mutating func append(
        _ changes: [OwnChange],
        to index: ReplicaIndex,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var rest = changes[...]
        while !rest.isEmpty {
            let count = OwnChange.countSignedTogether(rest)
            try self.appendSigned(rest.prefix(count), to: index, &merge, in: &transaction)
            rest = rest.dropFirst(count)
        }
    }

    /// Signs as this device.
    func signature(of message: [UInt8]) -> Signature {
        self.cryptography.signature(of: message, by: self.identity.signingKey)
    }

    /// Appends changes with one signature.
    private mutating func appendSigned(
        _ changes: ArraySlice<OwnChange>,
        to index: ReplicaIndex,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.replica(index)
        var known: [ReplicaID: UInt64] = [:]
        for (position, sequence) in record.context.enumerated() where sequence > 0 {
            known[transaction.replica(ReplicaIndex(rawValue: UInt32(position))).id] = sequence
        }
        var builder = RunBuilder(replica: record.id, firstSequence: record.storedSequence + 1)
        for change in changes {
            let news = change.context.filter { $0.replica != record.id && $0.sequence > known[$0.replica] ?? 0 }
            for entry in news { known[entry.replica] = entry.sequence }
            builder.beginChange(stamp: change.stamp, context: news.sorted(), blinding: self.entropy.bytes(16))
            for edit in change.edits { builder.append(edit) }
        }
        let verified = VerifiedRun.seal(builder, previous: record.storedHash, self.cryptography) { message in
            self.signature(of: message)
        }
        guard try merge.receive(verified, in: &transaction) == .stored else {
            throw .damaged("the chain of this replica is not as it was left")
        }
    }
}

/// A change of our own before it is signed.
struct OwnChange {
    var stamp: Stamp
    /// What it was made on: all of it, not the difference.
    var context: [Dot]
    var edits: [Edit]

    /// Changes and bytes of edits that one signature covers: a run is sent whole, and is limited.
    private static let signedCountMax = 256
    private static let signedByteCountMax = 256 << 10

    /// How many of these changes, at least one, go under one signature.
    static func countSignedTogether(_ changes: ArraySlice<OwnChange>) -> Int {
        var byteCount = 0
        for (count, change) in changes.prefix(self.signedCountMax).enumerated() {
            byteCount += change.edits.reduce(0) { $0 + $1.payload.count } + change.context.count * 24
            if byteCount > self.signedByteCountMax { return max(1, count) }
        }
        return min(changes.count, self.signedCountMax)
    }

    /// Everything that is applied and counts, but for the replica's own chain.
    static func currentContext(
        of own: ReplicaIndex,
        in transaction: borrowing some StoreTransaction
    ) -> [Dot] {
        var context: [Dot] = []
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            guard index != own else { continue }
            let record = transaction.replica(index)
            let sequence = min(record.appliedSequence, record.exclusion?.lastSequence ?? .max)
            if sequence > 0 { context.append(Dot(replica: record.id, sequence: sequence)) }
        }
        return context
    }
}
