internal import CRDTCore

/// What a store shows, in one number: which objects of which type, where they stand, which writes are in force and what
/// they say.
///
/// Much cheaper than the export, and differs where that does, but for the names of devices: those follow from a chain.
struct StateFingerprint: Hashable {
    private(set) var bits: UInt64 = 0
    /// How many writes each property counts, which is the number of its version.
    private(set) var writeCounts: [PropertyName: Int64] = [:]

    struct PropertyName: Hashable, Comparable {
        var object: ObjectID
        var name: String

        static func < (left: PropertyName, right: PropertyName) -> Bool {
            (left.object, left.name) < (right.object, right.name)
        }
    }

    /// - Complexity: O(*n*) in the visible objects, their registers and the bytes of what these hold.
    init(of visible: VisibleObjects, in transaction: inout some StoreTransaction) throws(StoreError) {
        for (object, record) in visible.records {
            let id = StateFingerprint.number(of: record.id.bytes)
            let parent = record.parent.flatMap { visible[$0] }.map { StateFingerprint.number(of: $0.id.bytes) } ?? 0
            let place = StateDigest.mixed(
                parent,
                StateFingerprint.number(of: record.position.bytes),
                record.updated.rawValue &+ UInt64(record.otherOpenMoves.count)
            )
            var creation: UInt64 = 0
            if let found = record.creation {
                let type = StateFingerprint.number(of: try transaction.name(found.type).utf8)
                let kind = StateFingerprint.number(of: try transaction.name(found.kind).utf8)
                creation = StateDigest.mixed(try StateFingerprint.number(of: found.write, &transaction), type, kind)
            }
            self.bits &+= StateDigest.mixed(id, place, creation)
            for (name, register) in try transaction.registers(of: object) {
                let word = try transaction.name(name)
                self.writeCounts[PropertyName(object: record.id, name: word)] = register.writeCount
                let text = StateFingerprint.number(of: word.utf8)
                let counts = UInt64(register.writeCount) << 32 | UInt64(register.conflictCount)
                let flags = counts << 1 | (register.isRemoval ? 1 : 0)
                var said: UInt64 = 0
                if let edit = try transaction.edit(register.winner) {
                    said = StateFingerprint.number(of: edit.payload)
                }
                let write = try StateFingerprint.number(of: register.winner, &transaction)
                let winner = StateDigest.mixed(write, said, flags)
                self.bits &+= StateDigest.mixed(id, text, winner)
            }
        }
    }

    /// Of what is put together from several circles, by all that is exported of it.
    init(ofCirclesIn transaction: some StoreTransaction) throws(StoreError) {
        var state = CombinedState(.present, of: transaction)
        self.bits = StateFingerprint.number(of: try StateExport.json(of: &state))
    }

    private static func number(of bytes: Bytes16) -> UInt64 { StateDigest.mixed(bytes.high, bytes.low, 0) }

    /// As Fowler, Noll and Vo hash (FNV-1a, 64 bits).
    private static func number(of bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// A write, by what every replica calls it.
    private static func number(
        of write: WriteReference,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> UInt64 {
        let line = transaction.segment(write.segment)
        var name = line.id.bytes.low
        // Two forks of a chain may have a change with one sequence each.
        if line.origin != nil || line.next != nil, let hash = try transaction.hash(at: write.point) {
            name ^= hash.bytes.words.0
        }
        return StateDigest.mixed(write.stamp.rawValue, name, write.ordinal.rawValue)
    }
}
