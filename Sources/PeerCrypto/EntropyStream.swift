internal import CSodium

/// A deterministic source of random bytes: a ChaCha20 keystream that replaces its own key as it goes.
///
/// This is how code without access to the system's generator gets entropy. Equal seeds give equal streams; the state
/// at one time says nothing about bytes handed out earlier. It cannot be copied, so that no bytes are handed out twice.
package struct EntropyStream: ~Copyable, Sendable {
    /// One block of keystream: first the next key, then the bytes to hand out.
    private var block: SecretBytes
    /// The position in `block` of the next byte to hand out.
    private var position: Int

    /// The length of a seed.
    package static let seedByteCount = 32

    private static let keyByteCount = Self.seedByteCount
    private static let blockByteCount = 512

    /// Begins a stream; nil unless the seed has 32 bytes.
    package init?(seed: borrowing SecretBytes) {
        guard seed.count == Self.seedByteCount else { return nil }
        self.block = seed.withBytes { seed in
            SecretBytes(count: Self.blockByteCount) { $0.copyMemory(from: seed) }
        }
        self.position = Self.blockByteCount
    }
}

extension EntropyStream {
    /// The next bytes, for values that need not stay secret.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            self.fill(UnsafeMutableRawBufferPointer(buffer))
            initializedCount = count
        }
    }

    /// The next bytes, as a secret.
    package mutating func secret(_ count: Int) -> SecretBytes {
        var secret = SecretBytes(count: max(count, 0)) { _ in }
        secret.withMutableBytes { self.fill($0) }
        return secret
    }

    /// The next eight bytes, as a number.
    package mutating func nextUInt64() -> UInt64 {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { self.fill($0) }
        return UInt64(littleEndian: number)
    }

    /// An independent stream seeded from this one.
    package mutating func child() -> EntropyStream {
        EntropyStream(filling: { self.fill($0) })
    }

    private init(filling fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.block = SecretBytes(count: Self.blockByteCount) {
            fill(UnsafeMutableRawBufferPointer(rebasing: $0[..<Self.keyByteCount]))
        }
        self.position = Self.blockByteCount
    }

    private mutating func fill(_ output: UnsafeMutableRawBufferPointer) {
        var written = 0
        while written < output.count {
            if self.position == Self.blockByteCount { self.ratchet() }
            let count = min(output.count - written, Self.blockByteCount - self.position)
            let position = self.position
            self.block.withMutableBytes { block in
                let given = UnsafeMutableRawBufferPointer(rebasing: block[position..<position + count])
                UnsafeMutableRawBufferPointer(rebasing: output[written..<written + count])
                    .copyMemory(from: UnsafeRawBufferPointer(given))
                sodium_memzero(given.baseAddress!, given.count)
            }
            self.position += count
            written += count
        }
    }

    /// Replaces the key and all bytes to hand out by keystream under the old key.
    private mutating func ratchet() {
        let next = SecretBytes(count: Self.blockByteCount) { next in
            // The key is used for this one block only, so that the nonce can be a constant.
            withUnsafeBytes(of: (UInt32(0), UInt32(0), UInt32(0))) { nonce in
                _ = crypto_stream_chacha20_ietf(
                    next.bytePointer!,
                    UInt64(next.count),
                    nonce.bytePointer!,
                    self.block.bytePointer
                )
            }
        }
        self.block = next
        self.position = Self.keyByteCount
    }
}
