internal import CSodium

/// BLAKE2b, personalised, at 32 and 64 bytes of output.
///
/// One call hashes without touching the heap; the results are words in little-endian order of the digest's bytes.
package enum Blake2b {
    /// A digest of 32 bytes as four little-endian words.
    package typealias Digest256 = (UInt64, UInt64, UInt64, UInt64)

    /// Hashes a message to 32 bytes.
    ///
    /// - Complexity: O(*n*) in the length of the message; no heap allocation.
    package static func hash256(_ personal: HashPersonal, _ message: UnsafeRawBufferPointer) -> Digest256 {
        Sodium.requireReady()
        var digest: Digest256 = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &digest) { output in
            withUnsafeBytes(of: personal.words) { personal in
                Self.hash(personal, message, into: output)
            }
        }
        return Self.fromLittleEndian(digest)
    }

    /// Hashes a message to 32 bytes.
    package static func hash256(_ personal: HashPersonal, _ message: [UInt8]) -> Digest256 {
        message.withUnsafeBytes { Self.hash256(personal, $0) }
    }

    /// Hashes a message to 64 bytes.
    ///
    /// - Complexity: O(*n*) in the length of the message; no heap allocation.
    package static func hash512(
        _ personal: HashPersonal,
        _ message: UnsafeRawBufferPointer
    ) -> InlineArray<64, UInt8> {
        Sodium.requireReady()
        var digest = InlineArray<64, UInt8>(repeating: 0)
        withUnsafeMutableBytes(of: &digest) { output in
            withUnsafeBytes(of: personal.words) { personal in
                Self.hash(personal, message, into: output)
            }
        }
        return digest
    }

    /// Hashes a message to 64 bytes.
    package static func hash512(_ personal: HashPersonal, _ message: [UInt8]) -> InlineArray<64, UInt8> {
        message.withUnsafeBytes { Self.hash512(personal, $0) }
    }

    /// Hashes a message with no key, salt or personalisation: plain BLAKE2b-256, for digests others can recompute.
    package static func unpersonalised256(_ message: UnsafeRawBufferPointer) -> Digest256 {
        Self.hash256(HashPersonal(""), message)
    }

    /// Hashes a message with no key, salt or personalisation: plain BLAKE2b-512.
    package static func unpersonalised512(_ message: UnsafeRawBufferPointer) -> InlineArray<64, UInt8> {
        Self.hash512(HashPersonal(""), message)
    }

    @inline(__always)
    private static func hash(
        _ personal: UnsafeRawBufferPointer,
        _ message: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        // The lengths are constants of this file, so that the call has no way to fail.
        _ = crypto_generichash_blake2b_salt_personal(
            output.bytePointer!,
            output.count,
            message.bytePointer,
            UInt64(message.count),
            nil,
            0,
            nil,
            personal.bytePointer
        )
    }

    @inline(__always)
    static func fromLittleEndian(_ digest: Digest256) -> Digest256 {
        (
            UInt64(littleEndian: digest.0), UInt64(littleEndian: digest.1),
            UInt64(littleEndian: digest.2), UInt64(littleEndian: digest.3)
        )
    }
}
