internal import CRDTCore
internal import PeerCrypto

/// A hash over everything that happened, in order: two runs of one seed must end with the same.
struct EventHash {
    private var hasher = Blake2b.Hasher256(HashPersonal("peerd/simulator"))
    private(set) var eventCount = 0

    /// Takes note of an event: what kind, whose, when, and what else tells it from others.
    mutating func note(_ kind: StaticString, machine: Int, at time: VirtualTime, _ details: UInt64...) {
        self.eventCount += 1
        kind.withUTF8Buffer { self.hasher.update(UnsafeRawBufferPointer($0)) }
        for number in [UInt64(machine), time.microseconds] + details {
            withUnsafeBytes(of: number.littleEndian) { self.hasher.update($0) }
        }
    }

    mutating func note(_ bytes: [UInt8]) { self.hasher.update(bytes) }

    /// The hash so far, as hexadecimal text.
    var text: String {
        let digest = self.hasher.finalize()
        return Hexadecimal.text(Bytes32(digest.0, digest.1, digest.2, digest.3).array)
    }
}
