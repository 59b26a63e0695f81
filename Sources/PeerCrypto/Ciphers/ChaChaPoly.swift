internal import CSodium

/// ChaCha20-Poly1305 (RFC 8439) with nonces as Noise makes them: four zero bytes and a little-endian counter.
///
/// Input and output may be the same memory (from the same start); nothing is copied and nothing is allocated.
package enum ChaChaPoly {
    /// The length of a key.
    package static let keyByteCount = 32
    /// The length of the tag that follows a ciphertext.
    package static let tagByteCount = 16

    /// Encrypts into `output`, which gets the ciphertext and then the tag.
    ///
    /// - Returns: Whether it was done: false where the key or `output` has the wrong length.
    package static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        authenticating associatedData: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        counter: UInt64,
        key: borrowing SecretBytes
    ) -> Bool {
        guard
            key.count == Self.keyByteCount,
            output.count == plaintext.count + Self.tagByteCount,
            let ciphertext = output.bytePointer
        else { return false }
        return Self.withNonce(counter) { nonce in
            crypto_aead_chacha20poly1305_ietf_encrypt_detached(
                ciphertext,
                ciphertext + plaintext.count,
                nil,
                plaintext.bytePointer,
                UInt64(plaintext.count),
                associatedData.bytePointer,
                UInt64(associatedData.count),
                nil,
                nonce,
                key.bytePointer
            ) == 0
        }
    }

    /// Decrypts a ciphertext with its tag into `output`.
    ///
    /// - Returns: Whether the tag was good. Otherwise `output` holds nothing of the plaintext.
    package static func open(
        _ sealed: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        authenticating associatedData: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        counter: UInt64,
        key: borrowing SecretBytes
    ) -> Bool {
        guard
            key.count == Self.keyByteCount,
            sealed.count >= Self.tagByteCount,
            output.count == sealed.count - Self.tagByteCount,
            let ciphertext = sealed.bytePointer
        else { return false }
        return Self.withNonce(counter) { nonce in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1) { nowhere in
                // With nothing to decrypt libsodium would only check, if told so by a null pointer.
                crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                    output.bytePointer ?? nowhere.baseAddress!,
                    nil,
                    ciphertext,
                    UInt64(output.count),
                    ciphertext + output.count,
                    associatedData.bytePointer,
                    UInt64(associatedData.count),
                    nonce,
                    key.bytePointer
                ) == 0
            }
        }
    }

    @inline(__always)
    private static func withNonce(_ counter: UInt64, _ body: (UnsafePointer<UInt8>) -> Bool) -> Bool {
        let low = UInt32(truncatingIfNeeded: counter).littleEndian
        let high = UInt32(truncatingIfNeeded: counter >> 32).littleEndian
        return withUnsafeBytes(of: (UInt32(0), low, high)) { body($0.bytePointer!) }
    }
}
