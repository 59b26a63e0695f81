package import PeerCrypto

/// The secrets a handshake may be protected with: none, one, or several of which the initiator knows one.
package struct PresharedKeys: ~Copyable, Sendable {
    /// The candidates one after another, each with one key for each slot.
    private var storage: SecretBytes
    private let slotCount: Int
    /// The number of candidates.
    package private(set) var count: Int

    /// The length of a preshared key.
    package static let keyByteCount = 32

    /// No secrets so far.
    ///
    /// With one slot a candidate's key is used wherever the pattern asks for one.
    package init(slotCount: Int = 1) {
        self.storage = SecretBytes([])
        self.slotCount = max(slotCount, 1)
        self.count = 0
    }

    /// One secret, used wherever the pattern asks for one; none if it is not 32 bytes long.
    package init(_ key: borrowing SecretBytes) {
        self.init()
        _ = self.append(key)
    }

    /// Adds a candidate: as many keys as there are slots, one after another.
    ///
    /// - Returns: Whether it had the right length.
    package mutating func append(_ keys: borrowing SecretBytes) -> Bool {
        guard keys.count == self.slotCount * Self.keyByteCount else { return false }
        let longer = SecretBytes(count: self.storage.count + keys.count) { bytes in
            self.storage.withBytes { bytes.copyMemory(from: $0) }
            let end = UnsafeMutableRawBufferPointer(rebasing: bytes[self.storage.count...])
            keys.withBytes { end.copyMemory(from: $0) }
        }
        self.storage = longer
        self.count += 1
        return true
    }

    /// The key of a candidate for the pattern's slot with this number, counted from 0.
    func key(ofCandidate candidate: Int, slot: Int) -> SecretBytes? {
        guard candidate < self.count else { return nil }
        let index = candidate * self.slotCount + min(slot, self.slotCount - 1)
        return self.storage.part(offset: index * Self.keyByteCount, count: Self.keyByteCount)
    }
}
