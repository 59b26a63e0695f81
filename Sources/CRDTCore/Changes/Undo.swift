/// Says of its change that it takes back another change of the same user.
///
/// A redo takes back an undo. It is the first operation of its change; the edits behind it do the work. So a device
/// that does not know it merges the same. It tells the next undo what is taken back already, on all of the devices.
package struct Undo: Hashable, Sendable {
    package var replica: ReplicaID
    package var sequence: UInt64
    /// The hash of the change, so that it is of one fork alone.
    package var hash: Hash256
    /// Whether the change is itself an undo, which a redo takes back.
    package var isRedo: Bool

    package init(replica: ReplicaID, sequence: UInt64, hash: Hash256, isRedo: Bool) {
        self.replica = replica
        self.sequence = sequence
        self.hash = hash
        self.isRedo = isRedo
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.sequence)
        self.hash.bytes.append(to: &bytes)
        bytes.append(self.isRedo ? 1 : 0)
    }

    /// Reads an undo that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.replica = ReplicaID(bytes: try reader.bytes16())
        self.sequence = try reader.varint()
        self.hash = Hash256(bytes: try reader.bytes32())
        let direction = try reader.byte()
        guard (1...Limits.sequenceMax).contains(self.sequence) else { throw .overLimit }
        guard direction <= 1 else { throw .notCanonical }
        self.isRedo = direction == 1
        try reader.finish()
    }
}
