internal import CSodium

/// HMAC with SHA-512 (RFC 2104, RFC 4231), and the key derivation that Noise builds on it.
package enum HMACSHA512 {
    /// The length of a code.
    package static let codeByteCount = 64

    /// How many outputs a key derivation has.
    package enum OutputCount: Int, Sendable {
        /// A chaining key and a cipher key, or two cipher keys.
        case two = 2
        /// A chaining key, something to hash, and a cipher key.
        case three = 3
    }

    /// The authentication code of a message made of two parts.
    package static func code(
        key: UnsafeRawBufferPointer,
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> SecretBytes {
        SecretBytes(count: Self.codeByteCount) { Self.write(key: key, first, second, into: $0) }
    }

    /// HKDF as section 4.3 of the Noise specification defines it: two or three outputs of 64 bytes, one after another.
    package static func noiseHKDF(
        chainingKey: borrowing SecretBytes,
        inputKeyMaterial: RawSpan,
        outputCount: OutputCount
    ) -> SecretBytes {
        let temporaryKey = chainingKey.withBytes { chainingKey in
            inputKeyMaterial.withUnsafeBytes { Self.code(key: chainingKey, $0) }
        }
        return SecretBytes(count: outputCount.rawValue * Self.codeByteCount) { outputs in
            temporaryKey.withBytes { temporaryKey in
                var previous = UnsafeRawBufferPointer(start: nil, count: 0)
                for index in 0..<outputCount.rawValue {
                    let range = index * Self.codeByteCount..<(index + 1) * Self.codeByteCount
                    let output = UnsafeMutableRawBufferPointer(rebasing: outputs[range])
                    withUnsafeBytes(of: UInt8(truncatingIfNeeded: index + 1)) { number in
                        Self.write(key: temporaryKey, previous, number, into: output)
                    }
                    previous = UnsafeRawBufferPointer(output)
                }
            }
        }
    }

    /// HKDF of a secret; the same as with the bytes of that secret.
    package static func noiseHKDF(
        chainingKey: borrowing SecretBytes,
        inputKeyMaterial: borrowing SecretBytes,
        outputCount: OutputCount
    ) -> SecretBytes {
        inputKeyMaterial.withBytes { inputKeyMaterial in
            Self.noiseHKDF(
                chainingKey: chainingKey,
                inputKeyMaterial: inputKeyMaterial.bytes,
                outputCount: outputCount
            )
        }
    }

    private static func write(
        key: UnsafeRawBufferPointer,
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        Sodium.requireReady()
        var state = crypto_auth_hmacsha512_state()
        withUnsafeBytes(of: UInt8(0)) { nowhere in
            _ = crypto_auth_hmacsha512_init(&state, key.bytePointer ?? nowhere.bytePointer!, key.count)
        }
        _ = crypto_auth_hmacsha512_update(&state, first.bytePointer, UInt64(first.count))
        _ = crypto_auth_hmacsha512_update(&state, second.bytePointer, UInt64(second.count))
        _ = crypto_auth_hmacsha512_final(&state, output.bytePointer!)
        withUnsafeMutableBytes(of: &state) { sodium_memzero($0.baseAddress!, $0.count) }
    }
}
