internal import CRDTCore
internal import PeerCrypto

/// What a database holds: enough to compare it with others without keeping it open.
struct DeviceSurvey {
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
        for move in try transaction.movesWithoutEffect() {
            self.movesWithoutEffect.insert(try WriteID(move.write, in: &transaction))
        }
    }
}

extension StoreTransaction {
    /// Whether nothing of another's log is missing here.
    mutating func holds(_ frontier: Frontier) throws(StoreError) -> Bool {
        for entry in frontier.entries {
            let place = try self.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
            if place == nil { return false }
        }
        return true
    }

    /// How far another has each line of this log.
    mutating func extent(of frontier: Frontier) throws(StoreError) -> SeenLines {
        var extent = SeenLines()
        for entry in frontier.entries {
            let place = try self.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
            if let place { self.cover(place, in: &extent) }
        }
        return extent
    }
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
        if transaction.lineCount > 0 {
            let end = WriteReference(
                stamp: Stamp(rawValue: .max),
                line: LineIndex(rawValue: 0),
                sequence: Limits.sequenceMax,
                index: .max
            )
            let move = try transaction.lastEffectiveMove(of: index, before: end)
            if let move { self.move = try WriteID(move.write, in: &transaction) }
        }
    }
}
