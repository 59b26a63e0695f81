internal import CRDTCore

/// What a store shows, in one number: which objects, where they stand, and which writes are in force.
///
/// Much cheaper than the export, which holds what those writes say as well. That follows from them: a write is named by
/// its stamp, its replica and its place in a chain that is checked by hashes.
struct StateFingerprint: Hashable {
    private(set) var bits: UInt64 = 0

    /// - Complexity: O(*n*) in the visible objects and their registers.
    init(of visible: VisibleObjects, in transaction: inout some StoreTransaction) throws(StoreError) {
        for (object, record) in visible.records {
            let id = StateFingerprint.number(of: record.id.bytes)
            let parent = record.parent.flatMap { visible[$0] }.map { StateFingerprint.number(of: $0.id.bytes) } ?? 0
            var position: UInt64 = 0
            for byte in record.position.bytes { position = position &* 257 &+ UInt64(byte) &+ 1 }
            var creation: UInt64 = 0
            if let write = record.creation?.write { creation = StateFingerprint.number(of: write, transaction) }
            let place = StateDigest.mixed(parent, position, record.updated.rawValue)
            self.bits &+= StateDigest.mixed(id, place, creation)
            for (name, register) in try transaction.registers(of: object) {
                var text: UInt64 = 0
                for byte in try transaction.name(name).utf8 { text = text &* 257 &+ UInt64(byte) &+ 1 }
                let flags = UInt64(register.conflictCount) << 1 | (register.isRemoval ? 1 : 0)
                let winner = StateFingerprint.number(of: register.winner, transaction)
                self.bits &+= StateDigest.mixed(id ^ text, winner, flags)
            }
        }
    }

    private static func number(of bytes: Bytes16) -> UInt64 { StateDigest.mixed(bytes.high, bytes.low, 0) }

    /// A write, by what every replica calls it.
    private static func number(of write: WriteReference, _ transaction: borrowing some StoreTransaction) -> UInt64 {
        let replica = transaction.replica(write.replica).id.bytes
        return StateDigest.mixed(write.stamp.rawValue, replica.low, write.ordinal.rawValue)
    }
}
