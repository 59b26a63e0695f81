package import CRDTCore

/// A stand-in for real cryptography: any difference in the input changes the output, and nothing is secret.
///
/// It keeps the merge tests fast. That real hashes and signatures bind what they should is tested with libsodium.
package struct TestCryptography: ChangeCryptography {
    package init() {}

    package func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        self.digest(domain.number, message)
    }

    package func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        (self.digest(domain.number | 1 << 32, message), self.digest(domain.number | 2 << 32, message))
    }

    package func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        signature == self.sign(message, with: key)
    }

    /// The signature that belongs to a message and a key.
    package func sign(_ message: [UInt8], with key: Bytes32) -> Signature {
        let start = key.words.0 &+ key.words.1 &* 3 &+ key.words.2 &* 5 &+ key.words.3 &* 7
        return Signature(
            first: self.digest(start ^ 3 << 40, message),
            second: self.digest(start ^ 4 << 40, message)
        )
    }

    private func digest(_ start: UInt64, _ message: [UInt8]) -> Bytes32 {
        var first = SplitMix64.mixed(start &+ 0x1234_5678_9abc_def1)
        var second = SplitMix64.mixed(start ^ 0x0fed_cba9_8765_4321)
        message.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                var word: UInt64 = 0
                if bytes.count - offset >= 8 {
                    word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                } else {
                    for place in offset..<bytes.count { word = word << 8 | UInt64(bytes[place]) }
                }
                first = (first ^ word) &* 0x9fb2_1c65_1e98_df25
                first ^= first >> 32
                second = (second &+ word) &* 0x9e37_79b9_7f4a_7c15
                second ^= second >> 29
                offset += 8
            }
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

extension HashDomain {
    /// Its number, so that equal messages of two domains have different hashes.
    fileprivate var number: UInt64 {
        switch self {
        case .change: 1
        case .leaf: 2
        case .root: 3
        case .salt: 4
        case .replica: 5
        case .workspace: 6
        case .frontier: 7
        }
    }
}
