internal import CRDTCore

/// The replicas that this database wrote under until a repair of its clock ended them, or a peer that held, or claimed
/// to hold, more of them.
///
/// Kept apart from other replicas of the device: a copy of the database may still be writing under those.
enum FormerReplicas {
    /// Those that are known, in the order in which they were ended.
    static func indexes(in transaction: inout some StoreTransaction) throws(StoreError) -> [ReplicaIndex] {
        guard let bytes = try transaction.fact(NodeFact.formerReplicas) else { return [] }
        var indexes: [ReplicaIndex] = []
        for start in stride(from: 0, to: bytes.count, by: Bytes16.byteCount) {
            guard start + Bytes16.byteCount <= bytes.count, let id = Bytes16(bytes[start..<start + Bytes16.byteCount])
            else { throw .damaged("the list of former replicas cannot be read") }
            if let index = transaction.existingReplicaIndex(of: ReplicaID(bytes: id)) { indexes.append(index) }
        }
        return indexes
    }

    static func add(_ replica: ReplicaID, in transaction: inout some StoreTransaction) throws(StoreError) {
        let known = try transaction.fact(NodeFact.formerReplicas) ?? []
        let isKnown = stride(from: 0, to: known.count, by: Bytes16.byteCount).contains { start in
            Bytes16(known[start..<min(known.count, start + Bytes16.byteCount)]) == replica.bytes
        }
        guard !isKnown else { return }
        try transaction.setFact(NodeFact.formerReplicas, known + replica.bytes.array)
    }

    /// The database turned out to be a copy: its original may have gone on.
    static func forget(in transaction: inout some StoreTransaction) throws(StoreError) {
        try transaction.setFact(NodeFact.formerReplicas, nil)
    }
}
