internal import CRDTCore

/// Cryptography that stands in nobody's way: every signature holds, and a replica's id is the front of its device's
/// key, so that a fuzzer reaches what lies behind the checks.
struct PermissiveCryptography: ChangeCryptography {
    func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        if domain == .replica, let device = Bytes32(message.prefix(Bytes32.byteCount)) { return device }
        let digest = Self.digest(message)
        return Bytes32(digest, digest &* 3, ~digest, UInt64(message.count))
    }

    func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        let half = self.hash256(domain, message)
        return (half, half)
    }

    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool { true }

    /// FNV-1a.
    private static func digest(_ message: [UInt8]) -> UInt64 {
        message.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
