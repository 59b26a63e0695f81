package import PeerCrypto

/// A key with a counter of the messages sealed or opened with it (the specification's `CipherState` that has a key).
package struct NoiseCipherState: ~Copyable, Sendable {
    private var key: SecretBytes
    /// The counter the next message is sealed or opened with; it moves only when that has succeeded.
    package private(set) var nonce: UInt64

    /// The largest value is not for messages: rekeying uses it.
    private static let nonceReserved = UInt64.max

    package init(key: consuming SecretBytes, nonce: UInt64 = 0) {
        self.key = key
        self.nonce = nonce
    }
}

extension NoiseCipherState {
    /// Seals the end of `message`, from `offset` on, where it lies, and appends the tag.
    package mutating func sealInPlace(
        _ message: inout [UInt8],
        from offset: Int,
        authenticating associatedData: RawSpan
    ) throws(NoiseError) {
        guard self.nonce != Self.nonceReserved else { throw .nonceExhausted }
        let isSealed = ChaChaPoly.sealInPlace(
            &message,
            from: offset,
            authenticating: associatedData,
            counter: self.nonce,
            key: self.key
        )
        guard isSealed else { throw .unfitKeys }
        self.nonce += 1
    }

    /// Opens a message and appends its plaintext to `output`; with a bad tag nothing changes.
    package mutating func open(
        _ sealed: RawSpan,
        appendingTo output: inout [UInt8],
        authenticating associatedData: RawSpan
    ) throws(NoiseError) {
        guard self.nonce != Self.nonceReserved else { throw .nonceExhausted }
        let isGood = ChaChaPoly.open(
            sealed,
            appendingTo: &output,
            authenticating: associatedData,
            counter: self.nonce,
            key: self.key
        )
        guard isGood else { throw .badTag }
        self.nonce += 1
    }

    /// Replaces the key by one derived from it (section 4.2); the old one cannot be found from the new one.
    package mutating func rekey() {
        let next = SecretBytes(count: ChaChaPoly.keyByteCount + ChaChaPoly.tagByteCount) { output in
            // The plaintext is as many zeros as a key has bytes, and the memory is handed out zeroed.
            let zeros = UnsafeRawBufferPointer(rebasing: output[..<ChaChaPoly.keyByteCount])
            _ = ChaChaPoly.seal(zeros, into: output, counter: Self.nonceReserved, key: self.key)
        }
        if let next = next.part(offset: 0, count: ChaChaPoly.keyByteCount) { self.key = next }
    }

    func duplicate() -> NoiseCipherState {
        NoiseCipherState(key: self.key.duplicate(), nonce: self.nonce)
    }
}
