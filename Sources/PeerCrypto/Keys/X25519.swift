internal import CSodium

/// X25519 key agreement (RFC 7748).
package enum X25519 {
    /// The length of a public key, of a seed, and of a shared secret.
    package static let keyByteCount = 32

    /// A public key of the right length.
    package struct PublicKey: Hashable, Sendable {
        /// The 32 bytes.
        package let bytes: [UInt8]

        /// Takes the bytes; nil unless there are 32.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == X25519.keyByteCount else { return nil }
            self.bytes = bytes
        }
    }
}

/// Remembers what keys have agreed on, so that a process that simulates both sides computes each secret once.
///
/// It may keep secrets where anybody can read them: for keys that protect nothing.
package protocol AgreementMemo: AnyObject, Sendable {
    /// What `agree` gives for these two public keys, or gave when it was last asked, from either side.
    func sharedSecret(
        of ours: X25519.PublicKey,
        and theirs: X25519.PublicKey,
        agree: () -> SecretBytes?
    ) -> SecretBytes?
}

/// An X25519 key that can agree on secrets with others.
package struct AgreementKey: ~Copyable, Sendable {
    /// What others agree with.
    package let publicKey: X25519.PublicKey
    private let secret: SecretBytes
    private let memo: (any AgreementMemo)?
}

extension AgreementKey {
    /// Makes the key that belongs to a seed; nil unless the seed has 32 bytes.
    ///
    /// `memo`: where what it agrees on is remembered; nil outside simulations.
    package init?(seed: borrowing SecretBytes, memo: (any AgreementMemo)? = nil) {
        guard seed.count == X25519.keyByteCount else { return nil }
        var publicKey = [UInt8](repeating: 0, count: X25519.keyByteCount)
        guard
            crypto_scalarmult_curve25519_base(&publicKey, seed.bytePointer) == 0,
            let publicKey = X25519.PublicKey(publicKey)
        else { return nil }
        self.init(publicKey: publicKey, secret: seed.duplicate(), memo: memo)
    }

    /// The secret shared with the owner of a public key.
    ///
    /// Nil where the result would be all zeros, which a dishonest peer can bring about whatever our key is.
    package func sharedSecret(with publicKey: X25519.PublicKey) -> SecretBytes? {
        guard let memo = self.memo else { return self.agree(with: publicKey) }
        return memo.sharedSecret(of: self.publicKey, and: publicKey) { self.agree(with: publicKey) }
    }

    private func agree(with publicKey: X25519.PublicKey) -> SecretBytes? {
        var isUsable = false
        let shared = SecretBytes(count: X25519.keyByteCount) { shared in
            isUsable = crypto_scalarmult_curve25519(shared.bytePointer!, self.secret.bytePointer, publicKey.bytes) == 0
        }
        guard isUsable else { return nil }
        return shared
    }

    /// The seed, to be stored where secrets are stored.
    package func seed() -> SecretBytes {
        self.secret.duplicate()
    }

    /// A second, independent owner of the same key.
    package func duplicate() -> AgreementKey {
        AgreementKey(publicKey: self.publicKey, secret: self.secret.duplicate(), memo: self.memo)
    }

    /// The same key, which looks into a memo before it computes what it agrees on.
    package func remembering(in memo: any AgreementMemo) -> AgreementKey {
        AgreementKey(publicKey: self.publicKey, secret: self.secret.duplicate(), memo: memo)
    }
}
