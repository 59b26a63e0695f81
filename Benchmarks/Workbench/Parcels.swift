import CRDTCore
import PeerCrypto
import SyncProtocol

/// What a parcel has beside its content.
enum Parcels {
    /// Packs messages for so many devices; returns the bytes of the messages and those of the parcel.
    static func sizes(of messages: [[UInt8]], for count: Int) throws -> (content: Int, parcel: Int) {
        let seed = SecretBytes([UInt8](repeating: 0x5a, count: EntropyStream.seedByteCount))
        guard var entropy = EntropyStream(seed: seed) else { throw Failure("a seed has 32 bytes") }
        var recipients: [(device: DeviceID, key: StaticKey)] = []
        for number in 0..<count {
            let device = DeviceID(bytes: SigningKey(numbered: UInt64(number + 1)).publicBytes)
            guard let key = AgreementKey(seed: entropy.secret(X25519.keyByteCount)),
                let bytes = Bytes32(key.publicKey.bytes)
            else { throw Failure("a seed has 32 bytes") }
            recipients.append((device, StaticKey(bytes: bytes)))
        }
        let sender = DeviceID(bytes: SigningKey(numbered: 0).publicBytes)
        let time = Workload.now
        guard let parcel = Parcel.sealing(messages, for: recipients, from: sender, at: time, entropy: &entropy)
        else { throw Failure("a key is none") }
        return (messages.reduce(0) { $0 + $1.count }, parcel.encoded().count)
    }
}
