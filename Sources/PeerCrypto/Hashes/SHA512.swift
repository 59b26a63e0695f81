internal import CSodium

/// SHA-512 over a message that comes in pieces.
package struct SHA512: Sendable {
    /// The length of a digest.
    package static let digestByteCount = 64

    private var state = crypto_hash_sha512_state()

    /// Begins a message.
    package init() {
        Sodium.requireReady()
        _ = crypto_hash_sha512_init(&self.state)
    }

    /// Takes the next piece of the message.
    package mutating func update(_ piece: UnsafeRawBufferPointer) {
        _ = crypto_hash_sha512_update(&self.state, piece.bytePointer, UInt64(piece.count))
    }

    /// Takes the next piece of the message.
    package mutating func update(_ piece: [UInt8]) {
        piece.withUnsafeBytes { self.update($0) }
    }

    /// Takes the next piece of the message.
    package mutating func update(_ piece: RawSpan) {
        piece.withUnsafeBytes { self.update($0) }
    }

    /// The digest of all pieces so far; the hasher is used up.
    package consuming func finalize() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.digestByteCount) { buffer, initializedCount in
            _ = crypto_hash_sha512_final(&self.state, buffer.baseAddress!)
            initializedCount = Self.digestByteCount
        }
    }

    /// The digest of a whole message.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        var hasher = SHA512()
        hasher.update(message)
        return hasher.finalize()
    }
}
