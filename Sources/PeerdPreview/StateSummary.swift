internal import CRDTCore
internal import PeerCrypto
internal import PeerdKit

/// A summary of a database: enough to compare it with others without keeping it open.
struct StateSummary {
    /// The changes that the database would tell a peer of.
    let frontier: Frontier
    /// The names of the moves that would close a cycle.
    let movesWithoutEffect: Set<String>
    let visibleObjectCount: Int
    /// A hash of everything that shows.
    let stateHash: Bytes32
    /// Whether content is missing that another device may have, although both hold the same changes.
    let missesContent: Bool

    init(of transaction: inout some StoreTransaction) throws(StoreError) {
        var hasher = Blake2b.Hasher256(HashPersonal("peerd/preview"))
        let export = try StateExport.json(of: &transaction)
        hasher.update(export)
        let digest = hasher.finalize()
        self.stateHash = Bytes32(digest.0, digest.1, digest.2, digest.3)
        self.missesContent = try !transaction.isComplete()
        self.frontier = try Frontier(of: &transaction)
        self.visibleObjectCount = try transaction.visibleObjects().count
        var moves: Set<String> = []
        for move in try transaction.movesWithoutEffect() { moves.insert(try transaction.name(of: move.write)) }
        self.movesWithoutEffect = moves
    }
}

/// The life of an object in one database.
struct ObjectPresence {
    private(set) var isAlive = false
    private(set) var isVisible = false
    /// True if an operation has touched the object there.
    private(set) var isKnown = false

    /// True if the object was deleted there.
    var isDeleted: Bool { self.isKnown && !self.isAlive && !self.isVisible }

    init(of id: ObjectID, in transaction: inout some StoreTransaction) throws(StoreError) {
        guard let index = try transaction.existingObjectIndex(of: id) else { return }
        let record = try transaction.object(index)
        self.isAlive = record.existence.isAlive
        self.isVisible = record.isVisible
        self.isKnown = !record.existence.entries.isEmpty
    }
}

extension StoreTransaction {
    /// Returns the name of a write on all machines.
    mutating func name(of write: WriteReference) throws(StoreError) -> String {
        write.name(in: self.replicaID(write.segment), ChangeName(try self.hash(at: write.point) ?? .zero))
    }

    /// Returns true if this log has everything that another log has.
    mutating func holds(_ frontier: Frontier) throws(StoreError) -> Bool {
        for entry in frontier.entries {
            let place = try self.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
            if place == nil { return false }
        }
        return true
    }

    /// Returns the part of each segment of this log that another log has.
    mutating func extent(of frontier: Frontier) throws(StoreError) -> SeenSegments {
        var extent = SeenSegments()
        for entry in frontier.entries {
            let place = try self.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
            if let place { self.cover(place, in: &extent) }
        }
        return extent
    }

    /// Returns true if the author of the second operation had seen the first one.
    mutating func had(_ first: WriteReference, seenBy second: WriteReference) throws(StoreError) -> Bool {
        let seen = try self.context(at: second.point)
        return CausalContext(seen: seen, author: second.segment, ordinal: second.ordinal).covers(first)
    }
}
