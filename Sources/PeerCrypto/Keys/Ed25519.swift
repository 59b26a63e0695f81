internal import CSodium

/// Ed25519 signatures (RFC 8032).
package enum Ed25519 {
    /// The length of a public key.
    package static let publicKeyByteCount = 32
    /// The length of a signature.
    package static let signatureByteCount = 64
    /// The length of the seed a signing key is made from.
    package static let seedByteCount = 32

    /// A public key of the right length; whether it is a point of the curve shows when a signature is checked.
    package struct PublicKey: Hashable, Sendable {
        /// The 32 bytes.
        package let bytes: [UInt8]

        /// Takes the bytes; nil unless there are 32.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == Ed25519.publicKeyByteCount else { return nil }
            self.bytes = bytes
        }
    }

    /// A signature of the right length.
    package struct Signature: Hashable, Sendable {
        /// The 64 bytes.
        package let bytes: [UInt8]

        /// Takes the bytes; nil unless there are 64.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == Ed25519.signatureByteCount else { return nil }
            self.bytes = bytes
        }
    }

    /// Whether the signature over the message was made with the key that belongs to `publicKey`.
    ///
    /// Keys of small order and signatures in other than the canonical form are refused.
    package static func isValid(
        signature: Signature,
        message: UnsafeRawBufferPointer,
        publicKey: PublicKey
    ) -> Bool {
        Sodium.requireReady()
        return crypto_sign_ed25519_verify_detached(
            signature.bytes,
            message.bytePointer,
            UInt64(message.count),
            publicKey.bytes
        ) == 0
    }

    /// Whether the signature over the message was made with the key that belongs to `publicKey`.
    ///
    /// A signature or key of the wrong length is not valid.
    package static func isValid(signature: [UInt8], message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard let signature = Signature(signature), let publicKey = PublicKey(publicKey) else { return false }
        return message.withUnsafeBytes { Self.isValid(signature: signature, message: $0, publicKey: publicKey) }
    }
}
