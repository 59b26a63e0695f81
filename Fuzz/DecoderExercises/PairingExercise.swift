internal import CRDTCore
internal import Engine

/// Reads what anyone on the local network may broadcast.
enum BeaconExercise {
    private static let tag = Beacon.tag(of: Samples.workspace, PermissiveCryptography())
    /// Behind the magic.
    private static let tagOffset = 8

    private static var sample: Beacon {
        Beacon(
            tag: self.tag,
            device: Samples.device,
            staticKey: StaticKey(bytes: Bytes32(1, 2, 3, 4)),
            port: 7400,
            time: WallTime(milliseconds: 1_790_000_000_000)
        )
    }

    static func seeds() -> [[UInt8]] {
        guard let signature = Samples.signature else { return [] }
        let bytes = self.sample.signed { _ in signature }
        return [bytes, Array(bytes.dropLast()), bytes + [0]]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        // The tag that is looked for is the one that is there, so that what follows it is reached.
        let found = Bytes16(input.dropFirst(self.tagOffset).prefix(Bytes16.byteCount)) ?? self.tag
        guard let beacon = Beacon(verifying: input, tag: found, PermissiveCryptography()) else { return nil }
        guard input.count <= Beacon.byteCountMax else { return "longer than a datagram may be" }
        guard let signature = Signature(input.suffix(Signature.byteCount)) else { return "believed unsigned" }
        guard beacon.signed({ _ in signature }) == input else { return "a beacon with two encodings" }
        let other = Beacon(verifying: input, tag: Bytes16(high: ~found.high, low: 0), PermissiveCryptography())
        return other == nil ? nil : "a beacon of another workspace is believed"
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
