import CRDTCore

/// The small byte strings that some columns hold.
enum StoredBytes {
    /// Numbers one after the other.
    static func encode(_ numbers: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in numbers { bytes.appendVarint(number) }
        return bytes
    }

    static func numbers(_ bytes: [UInt8]) throws(WireError) -> [UInt64] {
        var reader = ByteReader(bytes)
        var numbers: [UInt64] = []
        while reader.remaining > 0 { numbers.append(try reader.varint()) }
        return numbers
    }

    /// For each replica that touched an object: its number, the last touch, and how far removals cover it.
    static func encode(_ existence: Existence, to bytes: inout [UInt8]) {
        for entry in existence.entries {
            bytes.appendVarint(UInt64(entry.replica.rawValue))
            bytes.appendVarint(entry.touched.rawValue)
            bytes.appendVarint(entry.removed.rawValue)
        }
    }

    static func existence(_ bytes: [UInt8], replicaCount: Int) throws(WireError) -> Existence {
        var reader = ByteReader(bytes)
        var existence = Existence()
        while reader.remaining > 0 {
            existence.restore(
                Existence.Entry(
                    replica: ReplicaIndex(rawValue: UInt32(try reader.count(atMost: replicaCount - 1))),
                    touched: ChainOrdinal(rawValue: try reader.varint()),
                    removed: ChainOrdinal(rawValue: try reader.varint())
                )
            )
        }
        return existence
    }
}
