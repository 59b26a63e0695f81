internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Handshakes with fixed keys, so that an input always has the same effect.
enum Handshakes {
    static let answerer = Box(seed: 2)
    static let dialler = Box(seed: 1)
    private static let answererEphemeral = Box(seed: 4)
    private static let diallerEphemeral = Box(seed: 3)

    /// Makes a key once for all inputs.
    final class Box: Sendable {
        private let key: AgreementKey?

        init(seed: UInt8) {
            self.key = AgreementKey(seed: SecretBytes([UInt8](repeating: seed, count: 32)))
        }

        var duplicate: AgreementKey? {
            switch self.key {
            case .none: nil
            case .some(let key): key.duplicate()
            }
        }

        var publicKey: X25519.PublicKey? {
            switch self.key {
            case .none: nil
            case .some(let key): key.publicKey
            }
        }

        var staticKey: StaticKey {
            StaticKey(bytes: self.publicKey.flatMap { Bytes32($0.bytes) } ?? .zero)
        }
    }

    /// A fresh key for the answering side.
    static func ephemeral() -> AgreementKey? { self.answererEphemeral.duplicate }

    /// The dialling side of a handshake between known peers.
    static func dialling() -> NoiseHandshake? {
        guard let own = self.dialler.duplicate, let ephemeral = self.diallerEphemeral.duplicate else { return nil }
        return try? NoiseHandshake(
            pattern: .ik,
            role: .initiator,
            prologue: HandshakeFraming.Greeting.known.bytes,
            ephemeralKey: ephemeral,
            staticKey: own,
            remoteStatic: self.answerer.publicKey
        )
    }

    /// The other side of it.
    static func answering() -> NoiseHandshake? {
        guard let own = self.answerer.duplicate, let ephemeral = self.answererEphemeral.duplicate else { return nil }
        return try? NoiseHandshake(
            pattern: .ik,
            role: .responder,
            prologue: HandshakeFraming.Greeting.known.bytes,
            ephemeralKey: ephemeral,
            staticKey: own
        )
    }

    /// Seals one record of any plaintext, its kind included.
    static func record(_ plaintext: [UInt8], _ cipher: inout NoiseCipherState) -> [UInt8] {
        let byteCount = plaintext.count + ChaChaPoly.tagByteCount
        var record = [UInt8(truncatingIfNeeded: byteCount >> 8), UInt8(truncatingIfNeeded: byteCount)] + plaintext
        try? cipher.sealInPlace(&record, from: 2, authenticating: RawSpan())
        return record
    }
}
