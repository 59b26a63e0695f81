package import CRDTCore
internal import PeerCrypto

/// Remembers which signatures hold, so that one process that runs many nodes checks each only once.
package protocol SignatureMemo: AnyObject, Sendable {
    /// What `check` says, or said when it was last asked of the same signature, message and key.
    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32, check: () -> Bool) -> Bool
}

/// The cryptography of changes, done by libsodium.
package struct SodiumCryptography: ChangeCryptography {
    private let memo: (any SignatureMemo)?

    package init(memo: (any SignatureMemo)? = nil) { self.memo = memo }

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

    private static func check(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        Ed25519.isValid(signature: signature.array, message: message, publicKey: key.array)
    }
}

extension HashDomain {
    fileprivate var hashPersonal: HashPersonal { HashPersonal(self.personalisation) }
}
