internal import PeerCrypto

/// The running secrets of a handshake: chaining key, transcript hash, and the cipher once there is one (section 5.2).
struct NoiseSymmetricState: ~Copyable, Sendable {
    private var chainingKey: SecretBytes
    /// The hash of everything both sides have seen so far.
    private(set) var transcriptHash: [UInt8]
    private var cipher: NoiseCipherState?
}

extension NoiseSymmetricState {
    init(protocolName: String) {
        let name = Array(protocolName.utf8)
        let hash =
            name.count <= SHA512.digestByteCount
            ? name + repeatElement(0, count: SHA512.digestByteCount - name.count) : SHA512.hash(name)
        self.init(chainingKey: SecretBytes(hash), transcriptHash: hash, cipher: nil)
    }

    /// Both ciphers of a finished handshake: what the initiator and what the responder seals with.
    struct Ciphers: ~Copyable {
        var ofInitiator: NoiseCipherState
        var ofResponder: NoiseCipherState
    }

    mutating func mixHash(_ data: RawSpan) {
        var hasher = SHA512()
        hasher.update(self.transcriptHash)
        hasher.update(data)
        self.transcriptHash = hasher.finalize()
    }

    mutating func mixKey(_ secret: borrowing SecretBytes) {
        let outputs = HMACSHA512.noiseHKDF(
            chainingKey: self.chainingKey,
            inputKeyMaterial: secret,
            outputCount: .two
        )
        self.chainingKey = Self.output(0, of: outputs, count: HMACSHA512.codeByteCount)
        self.cipher = NoiseCipherState(key: Self.output(1, of: outputs, count: ChaChaPoly.keyByteCount))
    }

    mutating func mixKeyAndHash(_ secret: borrowing SecretBytes) {
        let outputs = HMACSHA512.noiseHKDF(
            chainingKey: self.chainingKey,
            inputKeyMaterial: secret,
            outputCount: .three
        )
        self.chainingKey = Self.output(0, of: outputs, count: HMACSHA512.codeByteCount)
        Self.output(1, of: outputs, count: HMACSHA512.codeByteCount).withBytes { self.mixHash($0.bytes) }
        self.cipher = NoiseCipherState(key: Self.output(2, of: outputs, count: ChaChaPoly.keyByteCount))
    }

    /// Appends the plaintext to a message: sealed, or as it is while there is no key.
    mutating func encryptAndHash(_ plaintext: [UInt8], appendingTo message: inout [UInt8]) throws(NoiseError) {
        let offset = message.count
        let hash = self.transcriptHash
        message.append(contentsOf: plaintext)
        try self.cipher?.sealInPlace(&message, from: offset, authenticating: hash.span.bytes)
        self.mixHash(message.span.bytes.extracting(offset..<message.count))
    }

    /// The plaintext of a part of a message; a bad tag changes nothing.
    mutating func decryptAndHash(_ sealed: RawSpan) throws(NoiseError) -> [UInt8] {
        var plaintext: [UInt8] = []
        let hash = self.transcriptHash
        let isOpened: Void? = try self.cipher?.open(sealed, appendingTo: &plaintext, authenticating: hash.span.bytes)
        if isOpened == nil {
            sealed.withUnsafeBytes { plaintext.append(contentsOf: $0) }
        }
        self.mixHash(sealed)
        return plaintext
    }

    /// The number of bytes that sealing adds now.
    var sealingByteCount: Int {
        self.cipher == nil ? 0 : ChaChaPoly.tagByteCount
    }

    /// Ends the handshake.
    func split() -> Ciphers {
        let outputs = HMACSHA512.noiseHKDF(
            chainingKey: self.chainingKey,
            inputKeyMaterial: RawSpan(),
            outputCount: .two
        )
        return Ciphers(
            ofInitiator: NoiseCipherState(key: Self.output(0, of: outputs, count: ChaChaPoly.keyByteCount)),
            ofResponder: NoiseCipherState(key: Self.output(1, of: outputs, count: ChaChaPoly.keyByteCount))
        )
    }

    /// A second state that goes on independently, to try a key without spoiling this one.
    func duplicate() -> NoiseSymmetricState {
        NoiseSymmetricState(
            chainingKey: self.chainingKey.duplicate(),
            transcriptHash: self.transcriptHash,
            cipher: self.duplicateCipher()
        )
    }

    private func duplicateCipher() -> NoiseCipherState? {
        switch self.cipher {
        case .none: nil
        case .some(let cipher): cipher.duplicate()
        }
    }

    private static func output(_ index: Int, of outputs: borrowing SecretBytes, count: Int) -> SecretBytes {
        outputs.withBytes { outputs in
            let offset = index * HMACSHA512.codeByteCount
            return SecretBytes(UnsafeRawBufferPointer(rebasing: outputs[offset..<offset + count]))
        }
    }
}
