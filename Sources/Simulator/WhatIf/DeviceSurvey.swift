internal import CRDTCore
internal import PeerCrypto

/// What a database holds: enough to compare it with others without keeping it open.
struct DeviceSurvey {
    /// How far each replica's chain is stored.
    private(set) var stored: [ReplicaID: UInt64] = [:]
    private(set) var heads: [ReplicaID: Hash256] = [:]
    /// How much of it is applied and counts.
    private(set) var counted: [ReplicaID: UInt64] = [:]
    /// What it would tell a peer that it holds.
    private(set) var frontier: Frontier
    private(set) var movesWithoutEffect: Set<WriteID> = []
    private(set) var visibleObjectCount = 0
    /// A hash over everything that shows.
    private(set) var stateHash: Bytes32

    init(of transaction: inout some StoreTransaction) throws(StoreError) {
        var hasher = Blake2b.Hasher256(HashPersonal("peerd/whatif"))
        let export = try StateExport.json(of: &transaction)
        hasher.update(export)
        let digest = hasher.finalize()
        self.stateHash = Bytes32(digest.0, digest.1, digest.2, digest.3)
        self.frontier = try Frontier(of: &transaction)
        self.visibleObjectCount = try transaction.visibleObjects().count
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            guard record.storedSequence > 0 else { continue }
            self.stored[record.id] = record.storedSequence
            self.heads[record.id] = record.storedHash
            self.counted[record.id] = min(record.appliedSequence, record.exclusion?.lastSequence ?? .max)
        }
        for move in try transaction.movesWithoutEffect() {
            self.movesWithoutEffect.insert(WriteID(move.write, in: transaction))
        }
    }

    /// Whether nothing of the other's log is missing here.
    func covers(_ other: DeviceSurvey) -> Bool {
        other.stored.allSatisfy { replica, sequence in
            let own = self.stored[replica] ?? 0
            return own > sequence || own == sequence && self.heads[replica] == other.heads[replica]
        }
    }

    /// Whether the operation is in this device's log.
    func holds(_ write: WriteID) -> Bool { write.sequence <= self.stored[write.replica] ?? 0 }
}

/// Where an object stands in one database.
struct ObjectStanding: Hashable {
    var isAlive = false
    var isVisible = false
    /// Whether anything ever touched it there.
    var isKnown = false
    var parent: ObjectID?
    /// The move that put it where it is.
    var move: WriteID?

    init(of id: ObjectID, in transaction: inout some StoreTransaction) throws(StoreError) {
        guard let index = try transaction.existingObjectIndex(of: id) else { return }
        let record = try transaction.object(index)
        self.isAlive = record.existence.isAlive
        self.isVisible = record.isVisible
        self.isKnown = !record.existence.entries.isEmpty
        self.parent = try record.parent.map { parent throws(StoreError) in try transaction.object(parent).id }
        if transaction.replicaCount > 0 {
            let end = WriteReference(
                stamp: Stamp(rawValue: .max),
                replica: ReplicaIndex(rawValue: 0),
                sequence: Limits.sequenceMax,
                index: .max
            )
            let move = try transaction.lastEffectiveMove(of: index, before: end)
            self.move = move.map { WriteID($0.write, in: transaction) }
        }
    }
}
