package import CRDTCore

/// A stand-in for real cryptography: any difference in the input changes the output, and nothing is secret.
///
/// It keeps the merge tests fast. That real hashes and signatures bind what they should is tested with libsodium.
package struct TestCryptography: ChangeCryptography {
    package init() {}

    package func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        let personal = domain.personalisation
        return Self.digest(UInt64(personal.utf8CodeUnitCount) << 8 | UInt64(Self.ordinal(of: domain)), message)
    }

    package func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        let base = UInt64(Self.ordinal(of: domain))
        return (Self.digest(base | 1 << 32, message), Self.digest(base | 2 << 32, message))
    }

    package func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        signature == self.sign(message, with: key)
    }

    /// The signature that belongs to a message and a key.
    package func sign(_ message: [UInt8], with key: Bytes32) -> Signature {
        let first = Self.digest(3 << 40, key.array + message)
        let second = Self.digest(4 << 40, key.array + message)
        // Sixty-four bytes always make a signature.
        return Signature(first.array + second.array)!
    }

    private static func ordinal(of domain: HashDomain) -> Int {
        HashDomain.allCases.firstIndex(of: domain) ?? 0
    }

    private static func digest(_ start: UInt64, _ message: [UInt8]) -> Bytes32 {
        var first = SplitMix64.mixed(start &+ 0x1234_5678_9abc_def1)
        var second = SplitMix64.mixed(start ^ 0x0fed_cba9_8765_4321)
        for byte in message {
            first = (first ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
            second = (second &+ UInt64(byte) &+ 1) &* 0x9e37_79b9_7f4a_7c15
        }
        second ^= UInt64(message.count)
        return Bytes32(
            SplitMix64.mixed(first),
            SplitMix64.mixed(second),
            SplitMix64.mixed(first ^ (second << 1)),
            SplitMix64.mixed(second &+ first)
        )
    }
}
