internal import CRDTCore
internal import PeerCrypto

/// A hash over everything that happened, in order: two runs of one seed must end with the same.
package struct EventHash {
    private var hasher = Blake2b.Hasher256(HashPersonal("peerd/simulator"))
    /// What has not been hashed yet: events are short, and many.
    private var pending: [UInt8] = []
    package private(set) var eventCount = 0

    private static let pendingByteCountMax = 4_096

    init() { self.pending.reserveCapacity(EventHash.pendingByteCountMax + 512) }

    /// Takes note of an event: what kind, whose, when, and what else tells it from others.
    package mutating func note(_ kind: StaticString, machine: Int, at time: VirtualTime, _ details: UInt64...) {
        self.eventCount += 1
        kind.withUTF8Buffer { self.pending.append(contentsOf: $0) }
        self.append(UInt64(machine))
        self.append(time.microseconds)
        for number in details { self.append(number) }
        if self.pending.count >= EventHash.pendingByteCountMax { self.flush() }
    }

    package mutating func note(_ bytes: [UInt8]) {
        self.pending.append(contentsOf: bytes)
        if self.pending.count >= EventHash.pendingByteCountMax { self.flush() }
    }

    /// The hash so far, as hexadecimal text.
    package var text: String {
        mutating get {
            self.flush()
            let digest = self.hasher.finalize()
            return Hexadecimal.text(Bytes32(digest.0, digest.1, digest.2, digest.3).array)
        }
    }

    private mutating func append(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { self.pending.append(contentsOf: $0) }
    }

    private mutating func flush() {
        guard !self.pending.isEmpty else { return }
        self.hasher.update(self.pending)
        self.pending.removeAll(keepingCapacity: true)
    }
}
