/// Orders a stretch of a chain directly after what its changes had seen: the way out for a clock that was wrong.
///
/// It counts if its author is a device of the same user as the chain's, or of the workspace's founder. Of its stretch
/// it orders what comes after the last change that is stamped no later than its own: a clock that was ahead is put
/// right by one that is not, and what nobody holds stays where it is. Both stamps are those that the authors claim.
package struct Restamp: Hashable, Sendable {
    package var replica: ReplicaID
    package var firstSequence: UInt64
    package var lastSequence: UInt64
    /// The hash of the last change, so that it is of one fork alone.
    package var lastHash: Hash256

    package init(replica: ReplicaID, firstSequence: UInt64, lastSequence: UInt64, lastHash: Hash256) {
        self.replica = replica
        self.firstSequence = firstSequence
        self.lastSequence = lastSequence
        self.lastHash = lastHash
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.firstSequence)
        bytes.appendVarint(self.lastSequence)
        self.lastHash.bytes.append(to: &bytes)
    }

    /// Reads a restamp that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.replica = ReplicaID(bytes: try reader.bytes16())
        self.firstSequence = try reader.varint()
        self.lastSequence = try reader.varint()
        self.lastHash = Hash256(bytes: try reader.bytes32())
        guard self.firstSequence >= 1, self.firstSequence <= self.lastSequence,
            self.lastSequence <= Limits.sequenceMax
        else { throw .overLimit }
        try reader.finish()
    }
}
