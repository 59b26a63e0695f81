package import CRDTCore

/// A stand-in for real cryptography: any difference in the input changes the output, and nothing is secret.
///
/// It keeps the merge tests fast. That real hashes and signatures bind what they should is tested with libsodium.
package struct TestCryptography: ChangeCryptography {
    package init() {}

    package func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        TestDigest(UInt64(domain.personalisation.utf8CodeUnitCount) << 8 | domain.number).taking(message).bytes
    }

    package func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        let first = TestDigest(domain.number | 1 << 32).taking(message)
        let second = TestDigest(domain.number | 2 << 32).taking(message)
        return (first.bytes, second.bytes)
    }

    package func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        signature == self.sign(message, with: key)
    }

    /// The signature that belongs to a message and a key.
    package func sign(_ message: [UInt8], with key: Bytes32) -> Signature {
        let key = key.array
        let first = TestDigest(3 << 40).taking(key).taking(message)
        let second = TestDigest(4 << 40).taking(key).taking(message)
        return Signature(first: first.bytes, second: second.bytes)
    }
}

/// The state of hashing something.
private struct TestDigest {
    private var first: UInt64
    private var second: UInt64
    private var byteCount = 0

    init(_ start: UInt64) {
        self.first = SplitMix64.mixed(start &+ 0x1234_5678_9abc_def1)
        self.second = SplitMix64.mixed(start ^ 0x0fed_cba9_8765_4321)
    }

    func taking(_ message: [UInt8]) -> TestDigest {
        var result = self
        for byte in message {
            result.first = (result.first ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
            result.second = (result.second &+ UInt64(byte) &+ 1) &* 0x9e37_79b9_7f4a_7c15
        }
        result.byteCount += message.count
        return result
    }

    var bytes: Bytes32 {
        let second = self.second ^ UInt64(self.byteCount)
        return Bytes32(
            SplitMix64.mixed(self.first),
            SplitMix64.mixed(second),
            SplitMix64.mixed(self.first ^ (second << 1)),
            SplitMix64.mixed(second &+ self.first)
        )
    }
}

extension HashDomain {
    /// Its number, so that equal messages of two domains have different hashes.
    fileprivate var number: UInt64 {
        switch self {
        case .change: 0
        case .leaf: 1
        case .contents: 2
        case .salt: 3
        case .replica: 4
        case .workspace: 5
        case .frontier: 6
        case .state: 7
        }
    }
}
