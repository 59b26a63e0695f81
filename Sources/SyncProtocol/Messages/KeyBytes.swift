package import CRDTCore
package import PeerCrypto

// Keys and signatures of libsodium as the types of the core.

extension SigningKey {
    /// The signature as the core's type.
    package func signature(of message: [UInt8]) -> Signature {
        let bytes = self.sign(message).bytes
        guard let signature = Signature(bytes) else { preconditionFailure("a signature has 64 bytes") }
        return signature
    }
}

extension Ed25519.PublicKey {
    package var bytes32: Bytes32 { Bytes32(self.bytes) ?? .zero }
}

extension X25519.PublicKey {
    package var bytes32: Bytes32 { Bytes32(self.bytes) ?? .zero }
}
