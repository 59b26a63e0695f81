internal import CRDTCore
internal import SyncProtocol

/// What was left with carriers for others: of each carrier, and of each device that it is for, how far along each
/// segment of this store, and since when.
struct LeftParcels: Hashable {
    struct Entry: Hashable {
        var seen = SeenSegments()
        var since: WallTime
    }

    private(set) var entries: [DeviceID: [DeviceID: Entry]] = [:]

    init() {}

    /// What was left with a carrier for a device, and is still carried.
    func seen(by device: DeviceID, with carrier: DeviceID, at time: WallTime) -> SeenSegments {
        guard let entry = self.entries[carrier]?[device], !Self.isOver(entry, at: time) else { return SeenSegments() }
        return entry.seen
    }

    /// Takes note of what was left; what is carried no more is forgotten.
    mutating func note(_ seen: SeenSegments, for devices: [DeviceID], with carrier: DeviceID, at time: WallTime) {
        for (carrier, devices) in self.entries {
            self.entries[carrier] = devices.filter { !Self.isOver($0.value, at: time) }
        }
        for device in devices {
            var entry = self.entries[carrier]?[device] ?? Entry(since: time)
            entry.seen.formUnion(seen)
            self.entries[carrier, default: [:]][device] = entry
        }
    }

    private static func isOver(_ entry: Entry, at time: WallTime) -> Bool {
        entry.since.advanced(byMilliseconds: ParcelLimits.lifetimeMilliseconds) <= time
    }

    /// Reads what was stored.
    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        while reader.remaining > 0 {
            let carrier = DeviceID(bytes: try reader.bytes32())
            let device = DeviceID(bytes: try reader.bytes32())
            var entry = Entry(since: WallTime(milliseconds: try reader.varint()))
            entry.seen = try SeenSegments(decoding: &reader)
            self.entries[carrier, default: [:]][device] = entry
        }
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for (carrier, devices) in self.entries.sorted(by: { $0.key < $1.key }) {
            for (device, entry) in devices.sorted(by: { $0.key < $1.key }) {
                carrier.bytes.append(to: &bytes)
                device.bytes.append(to: &bytes)
                bytes.appendVarint(entry.since.milliseconds)
                entry.seen.encode(to: &bytes)
            }
        }
        return bytes
    }
}

extension SeenSegments {
    /// Appends a segment and a sequence for each segment.
    func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.all.count))
        for (segment, sequence) in self.all {
            bytes.appendVarint(UInt64(segment.rawValue))
            bytes.appendVarint(sequence)
        }
    }

    init(decoding reader: inout ByteReader) throws(WireError) {
        self.init()
        for _ in 0..<(try reader.count(atMost: reader.remaining)) {
            let segment = try reader.count(atMost: Int(UInt32.max - 1))
            let sequence = try reader.varint()
            guard (1...Limits.sequenceMax).contains(sequence) else { throw .overLimit }
            _ = self.raise(SegmentIndex(rawValue: UInt32(segment)), to: sequence)
        }
    }
}
