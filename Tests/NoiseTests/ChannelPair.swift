import PeerCrypto
import SyncProtocol

/// Two sealed channels after one handshake, with the same keys each time.
struct ChannelPair: ~Copyable {
    var left: SealedChannel
    var right: SealedChannel

    init(sendingLimits: KeyLimits = .ofSender, receivingLimits: KeyLimits = .ofReceiver) throws {
        var pair = try Pair(.known)
        _ = try pair.exchange(upTo: 2)
        let sessions = try pair.finish()
        let left = SealedChannel(
            sessions.initiator,
            sendingLimits: sendingLimits,
            receivingLimits: receivingLimits
        )
        let right = SealedChannel(
            sessions.responder,
            sendingLimits: sendingLimits,
            receivingLimits: receivingLimits
        )
        self.left = left
        self.right = right
    }
}

extension KeyLimits {
    /// Limits that only the count of records reaches.
    static func records(_ count: UInt64) -> KeyLimits {
        KeyLimits(recordCount: count, byteCount: .max, ageMilliseconds: .max)
    }

    /// Limits that only the bytes reach.
    static func bytes(_ count: UInt64) -> KeyLimits {
        KeyLimits(recordCount: .max, byteCount: count, ageMilliseconds: .max)
    }

    /// Limits that only the time reaches.
    static func age(_ milliseconds: UInt64) -> KeyLimits {
        KeyLimits(recordCount: .max, byteCount: .max, ageMilliseconds: milliseconds)
    }
}

/// The parts of a stream of records, each with its length.
func records(in bytes: [UInt8]) -> [[UInt8]] {
    var records: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 2 {
        let byteCount = 2 + Int(rest[rest.startIndex]) << 8 + Int(rest[rest.startIndex + 1])
        records.append(Array(rest.prefix(byteCount)))
        rest = rest.dropFirst(byteCount)
    }
    return records
}

/// Bytes that differ from their neighbours.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }
}
