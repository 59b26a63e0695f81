internal import CRDTCore
internal import Engine
internal import PeerCrypto

/// Reads what anyone on the local network may broadcast.
enum BeaconExercise {
    private static var membershipKey: SecretBytes { SecretBytes([UInt8](repeating: 7, count: 32)) }

    private static var sample: Beacon {
        Beacon(
            device: Samples.device,
            staticKey: StaticKey(bytes: Bytes32(1, 2, 3, 4)),
            port: 7400,
            time: WallTime(milliseconds: 1_790_000_000_000)
        )
    }

    static func seeds() -> [[UInt8]] {
        guard let signature = Samples.signature else { return [] }
        let bytes = self.sample.signed(self.membershipKey) { _ in signature }
        return [bytes, Array(bytes.dropLast()), bytes + [0]]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        // Its tag is made right, so that what follows it is reached.
        let start = Beacon.magic.count + Bytes16.byteCount
        guard input.count > start + Signature.byteCount else { return nil }
        let fields = Array(input[start..<input.count - Signature.byteCount])
        let tag = Beacon.tag(of: fields, self.membershipKey)
        let input = Array(input[..<Beacon.magic.count]) + tag + input[start...]
        let key = self.membershipKey.withBytes { Bytes32(Array($0)) } ?? .zero
        guard let beacon = Beacon(verifying: input, [.zero, key], PermissiveCryptography()) else { return nil }
        guard input.count <= Beacon.byteCountMax else { return "longer than a datagram may be" }
        guard let signature = Signature(input.suffix(Signature.byteCount)) else { return "believed unsigned" }
        guard beacon.signed(self.membershipKey, by: { _ in signature }) == input else {
            return "a beacon with two encodings"
        }
        let isBelieved = Beacon(verifying: input, [Bytes32(8, 8, 8, 8)], PermissiveCryptography()) != nil
        return isBelieved ? "a beacon of another workspace is believed" : nil
    }
}

/// Reads the line that a person pastes to join.
enum InviteExercise {
    private static var samples: [Invite] {
        [[], ["192.168.1.7"], ["192.168.1.7", "fe80::1%eth0", "machine.local"]].map {
            Invite(
                staticKey: StaticKey(bytes: Bytes32(1, 2, 3, 4)),
                secret: Bytes32(5, 6, 7, 8),
                port: 7400,
                addresses: $0
            )
        }
    }

    static func seeds() -> [[UInt8]] {
        self.samples.map { Array($0.text.utf8) } + [Array("  peerd:1:AAAA ".utf8), Array("peerd:2:".utf8)]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let invite = Invite(text: String(decoding: input, as: UTF8.self)) else { return nil }
        guard let again = Invite(text: invite.text) else { return "its own line cannot be read" }
        return again == invite ? nil : "its line says another"
    }
}
