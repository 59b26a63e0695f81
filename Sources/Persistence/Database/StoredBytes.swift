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

    /// How far each segment was seen, in order, with a 0 and their number instead of those that were not.
    static func encode(_ seen: SeenSegments) -> [UInt8] {
        var bytes: [UInt8] = []
        var next: UInt32 = 0
        for (segment, sequence) in seen.all {
            if segment.rawValue > next {
                bytes.append(0)
                bytes.appendVarint(UInt64(segment.rawValue - next))
            }
            bytes.appendVarint(sequence)
            next = segment.rawValue + 1
        }
        return bytes
    }

    static func seenSegments(_ bytes: [UInt8]) throws(WireError) -> SeenSegments {
        var reader = ByteReader(bytes)
        var seen = SeenSegments()
        var next: UInt32 = 0
        while reader.remaining > 0 {
            var sequence = try reader.varint()
            if sequence == 0 {
                next += UInt32(try reader.count(atMost: Int(UInt32.max - 1 - next)))
                sequence = try reader.varint()
            }
            guard (1...Limits.sequenceMax).contains(sequence), next < .max else { throw .badReference }
            _ = seen.raise(SegmentIndex(rawValue: next), to: sequence)
            next += 1
        }
        return seen
    }

    /// One entry of a change's context: 1 above the first segment of its replica, or 0 and the replica's id if there is
    /// no such segment; the sequence; the name, eight bytes.
    static func encode(_ point: Point, firstSegment: SegmentIndex?, to bytes: inout [UInt8]) {
        bytes.appendVarint(firstSegment.map { UInt64($0.rawValue) + 1 } ?? 0)
        if firstSegment == nil { point.replica.bytes.append(to: &bytes) }
        bytes.appendVarint(point.sequence)
        bytes.appendBigEndian(point.name.rawValue)
    }

    /// The entries of a change's context.
    static func points(
        _ bytes: [UInt8],
        segmentCount: Int,
        replica: (SegmentIndex) -> ReplicaID
    ) throws(WireError) -> [Point] {
        var reader = ByteReader(bytes)
        var points: [Point] = []
        while reader.remaining > 0 {
            let number = try reader.count(atMost: segmentCount)
            let segment = SegmentIndex(rawValue: UInt32(max(number, 1) - 1))
            let id = number == 0 ? ReplicaID(bytes: try reader.bytes16()) : replica(segment)
            let sequence = try reader.varint()
            guard sequence <= Limits.sequenceMax else { throw .overLimit }
            points.append(Point(replica: id, sequence: sequence, name: ChangeName(rawValue: try reader.bigEndian())))
        }
        return points
    }

    /// For each segment that touched an object: its number, the last touch, and how far removals cover it.
    static func encode(_ existence: Existence, to bytes: inout [UInt8]) {
        for entry in existence.entries {
            bytes.appendVarint(UInt64(entry.segment.rawValue))
            bytes.appendVarint(entry.touched.rawValue)
            bytes.appendVarint(entry.removed.rawValue)
        }
    }

    /// Moves that others had not seen: segment, sequence and place in the change.
    static func encode(_ moves: [OpenMove]) -> [UInt8] {
        self.encode(moves.flatMap { [UInt64($0.segment.rawValue), $0.ordinal.rawValue] })
    }

    static func openMoves(_ bytes: [UInt8], segmentCount: Int) throws(WireError) -> [OpenMove] {
        var reader = ByteReader(bytes)
        var moves: [OpenMove] = []
        while reader.remaining > 0 {
            let number = try reader.count(atMost: segmentCount)
            guard number < segmentCount else { throw .badReference }
            let ordinal = ChainOrdinal(rawValue: try reader.varint())
            moves.append(OpenMove(segment: SegmentIndex(rawValue: UInt32(number)), ordinal: ordinal))
        }
        return moves
    }

    static func existence(_ bytes: [UInt8], segmentCount: Int) throws(WireError) -> Existence {
        var reader = ByteReader(bytes)
        var existence = Existence()
        while reader.remaining > 0 {
            let number = try reader.count(atMost: segmentCount)
            guard number < segmentCount else { throw .badReference }
            existence.restore(
                Existence.Entry(
                    segment: SegmentIndex(rawValue: UInt32(number)),
                    touched: ChainOrdinal(rawValue: try reader.varint()),
                    removed: ChainOrdinal(rawValue: try reader.varint())
                )
            )
        }
        return existence
    }
}
