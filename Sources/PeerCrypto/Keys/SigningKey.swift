internal import CSodium

/// An Ed25519 key that signs.
package struct SigningKey: ~Copyable, Sendable {
    /// What others check the signatures with.
    package let publicKey: Ed25519.PublicKey
    /// Seed and public key, in the form libsodium signs with.
    private let expanded: SecretBytes
}

extension SigningKey {
    /// Makes the key that belongs to a seed; nil unless the seed has 32 bytes.
    package init?(seed: borrowing SecretBytes) {
        guard seed.count == Ed25519.seedByteCount else { return nil }
        var publicKey = [UInt8](repeating: 0, count: Ed25519.publicKeyByteCount)
        let expanded = SecretBytes(count: Ed25519.seedByteCount + Ed25519.publicKeyByteCount) { expanded in
            _ = crypto_sign_ed25519_seed_keypair(&publicKey, expanded.bytePointer!, seed.bytePointer)
        }
        guard let publicKey = Ed25519.PublicKey(publicKey) else { return nil }
        self.init(publicKey: publicKey, expanded: expanded)
    }

    /// Signs a message; the same message always gets the same signature.
    package func sign(_ message: [UInt8]) -> Ed25519.Signature {
        let bytes = [UInt8](unsafeUninitializedCapacity: Ed25519.signatureByteCount) { buffer, initializedCount in
            _ = crypto_sign_ed25519_detached(
                buffer.baseAddress!,
                nil,
                message,
                UInt64(message.count),
                self.expanded.bytePointer
            )
            initializedCount = Ed25519.signatureByteCount
        }
        return Ed25519.Signature(bytes)!
    }

    /// The seed, to be stored where secrets are stored.
    package func seed() -> SecretBytes {
        self.expanded.withBytes { SecretBytes(UnsafeRawBufferPointer(rebasing: $0[..<Ed25519.seedByteCount])) }
    }

    /// A second, independent owner of the same key.
    package func duplicate() -> SigningKey {
        SigningKey(publicKey: self.publicKey, expanded: self.expanded.duplicate())
    }
}
