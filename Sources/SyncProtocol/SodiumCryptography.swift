package import CRDTCore
package import PeerCrypto

/// Remembers which signatures hold and what keys have agreed on, so that one process that runs many nodes computes each
/// only once.
package protocol CryptographyMemo: AgreementMemo {
    /// What `check` says, or said when it was last asked of the same signature, message and key.
    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32, check: () -> Bool) -> Bool
    /// A signature has just been made, so that it holds.
    func noteMade(_ signature: Signature, of message: [UInt8], by key: Bytes32)
}

/// The cryptography of changes, done by libsodium.
package struct SodiumCryptography: ChangeCryptography {
    /// What nodes of one process remember together; nil for a node that is alone.
    package let memo: (any CryptographyMemo)?

    package init(memo: (any CryptographyMemo)? = nil) { self.memo = memo }

    package func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        let digest = Blake2b.hash256(domain.hashPersonal, message)
        return Bytes32(digest.0.byteSwapped, digest.1.byteSwapped, digest.2.byteSwapped, digest.3.byteSwapped)
    }

    package func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        let digest = Blake2b.hash512(domain.hashPersonal, message)
        func word(_ position: Int) -> UInt64 {
            var word: UInt64 = 0
            for offset in position * 8..<position * 8 + 8 { word = word << 8 | UInt64(digest[offset]) }
            return word
        }
        return (Bytes32(word(0), word(1), word(2), word(3)), Bytes32(word(4), word(5), word(6), word(7)))
    }

    package func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        guard let memo = self.memo else { return Self.check(signature, of: message, by: key) }
        return memo.isValid(signature, of: message, by: key) { Self.check(signature, of: message, by: key) }
    }

    /// Signs a message.
    package func signature(of message: [UInt8], by key: borrowing SigningKey) -> Signature {
        let signature = key.signature(of: message)
        self.memo?.noteMade(signature, of: message, by: key.publicKey.bytes32)
        return signature
    }

    private static func check(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        Ed25519.isValid(signature: signature.array, message: message, publicKey: key.array)
    }
}

extension HashDomain {
    fileprivate var hashPersonal: HashPersonal { HashPersonal(self.personalisation) }
}
