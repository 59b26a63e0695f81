internal import CRDTCore

/// Branches of other devices' forked chains that do not stand in the log here, kept for the device that wrote them.
///
/// Of a forked chain a log holds one branch. What stands in another can be written again by the device it is of and by
/// nobody else, and that device may never meet the machine that has it: so whoever meets that machine keeps the branch
/// and passes it on. It is kept in the parts in which it came, each with the signature it came with.
enum KeptBranches {
    /// Bytes of all that is kept.
    ///
    /// A branch for which there is no room is left where it is.
    static let byteCountMax = 64 << 20
    /// Forked chains of others whose branches are asked for in one session.
    static let requestCountMax = 64

    /// Where a kept branch goes on.
    struct End {
        /// Of the change that comes next.
        var sequence: UInt64
        /// The hash of the change before.
        var previous: Hash256
    }

    /// How far another branch than ours is kept of a chain that forks here; nil if none is.
    static func end(
        of replica: ReplicaID,
        fork: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> End? {
        guard let bytes = try transaction.fact(NodeFact.branchEnd(replica, fork: fork)) else { return nil }
        var reader = ByteReader(bytes)
        do throws(WireError) {
            return End(sequence: try reader.varint(), previous: Hash256(bytes: try reader.bytes32()))
        } catch {
            // What a disk has spoiled is as if it had never been kept: it is asked for again.
            return nil
        }
    }

    /// The part that begins with a change; nil if it is not kept, or cannot be read any more.
    static func part(
        of replica: ReplicaID,
        fork: UInt64,
        from sequence: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Run? {
        let name = NodeFact.branchPart(replica, fork: fork, from: sequence)
        guard let bytes = try transaction.fact(name) else { return nil }
        return try? Run(decoding: bytes)
    }

    /// Keeps one more part, which goes on from what is kept.
    ///
    /// - Returns: False if there is no room.
    static func add(
        _ part: VerifiedRun,
        fork: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let last = part.hashes.last else { return false }
        let bytes = part.run.encoded()
        let held = try self.byteCount(in: &transaction)
        guard held + bytes.count <= self.byteCountMax else { return false }
        let replica = part.run.replica
        try transaction.setFact(NodeFact.branchPart(replica, fork: fork, from: part.run.firstSequence), bytes)
        var end: [UInt8] = []
        end.appendVarint(part.run.lastSequence + 1)
        last.bytes.append(to: &end)
        try transaction.setFact(NodeFact.branchEnd(replica, fork: fork), end)
        var total: [UInt8] = []
        total.appendVarint(UInt64(held + bytes.count))
        try transaction.setFact(NodeFact.branchByteCount, total)
        return true
    }

    private static func byteCount(in transaction: inout some StoreTransaction) throws(StoreError) -> Int {
        guard let bytes = try transaction.fact(NodeFact.branchByteCount) else { return 0 }
        var reader = ByteReader(bytes)
        return (try? reader.count(atMost: self.byteCountMax)) ?? self.byteCountMax
    }
}
