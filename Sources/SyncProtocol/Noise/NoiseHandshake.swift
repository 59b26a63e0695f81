package import PeerCrypto

/// One side of one Noise handshake.
///
/// Performs no I/O and draws no randomness: the fresh key is an argument. Messages are written and read in turn, as the
/// pattern says; after any error the handshake is dead, and its secrets are overwritten.
package struct NoiseHandshake: ~Copyable, Sendable {
    let pattern: NoisePattern
    let role: NoiseRole
    let ephemeralKey: AgreementKey
    let staticKey: AgreementKey?
    let staticPublicKey: X25519.PublicKey?
    let presharedKeys: PresharedKeys
    var symmetric: NoiseSymmetricState
    var remoteEphemeral: X25519.PublicKey?
    /// The peer's static key, as soon as it is known; it is proven only when the handshake is complete.
    package internal(set) var remoteStatic: X25519.PublicKey?
    /// Which of several preshared keys the peer used, once its first message has been read.
    package internal(set) var presharedKeyIndex = 0
    var presharedKeySlot = 0
    var messageIndex = 0
    var isDead = false

    /// The longest message the specification allows.
    package static let messageByteCountMax = 65535
    /// The most preshared keys a responder tries on a first message.
    package static let presharedKeyCandidatesMax = 64

    /// Begins a handshake.
    ///
    /// - Parameters:
    ///   - pattern: What is exchanged; both sides must agree on it beforehand.
    ///   - role: Which side this is.
    ///   - prologue: What both sides have already said; a difference makes the handshake fail.
    ///   - ephemeralKey: A key that was never used and never will be again.
    ///   - staticKey: This side's lasting key, where the pattern has one.
    ///   - remoteStatic: The peer's lasting key, where the pattern says it is known.
    ///   - presharedKeys: Secrets for the pattern's slots. More than one only for a responder whose first message
    ///     shows which of them the peer has.
    /// - Throws: ``NoiseError/unfitKeys`` where keys are missing, or too many.
    package init(
        pattern: NoisePattern,
        role: NoiseRole,
        prologue: [UInt8],
        ephemeralKey: consuming AgreementKey,
        staticKey: consuming AgreementKey? = nil,
        remoteStatic: X25519.PublicKey? = nil,
        presharedKeys: consuming PresharedKeys = PresharedKeys()
    ) throws(NoiseError) {
        let localStatic = Self.publicKey(of: staticKey)
        let isPeerKnown = role == .initiator ? pattern.isResponderKnown : pattern.isInitiatorKnown
        let isFit =
            (localStatic != nil) == pattern.usesStaticKey(of: role)
            && (remoteStatic != nil) == isPeerKnown
            && Self.fits(pattern, role, presharedKeyCount: presharedKeys.count)
        guard isFit else { throw .unfitKeys }

        self.pattern = pattern
        self.role = role
        self.ephemeralKey = ephemeralKey
        self.staticKey = staticKey
        self.staticPublicKey = localStatic
        self.presharedKeys = presharedKeys
        self.remoteStatic = remoteStatic
        self.symmetric = NoiseSymmetricState(protocolName: pattern.protocolName)
        self.symmetric.mixHash(prologue.span.bytes)
        let (ofInitiator, ofResponder) =
            role == .initiator ? (localStatic, remoteStatic) : (remoteStatic, localStatic)
        if pattern.isInitiatorKnown, let ofInitiator { self.symmetric.mixHash(ofInitiator.bytes.span.bytes) }
        if pattern.isResponderKnown, let ofResponder { self.symmetric.mixHash(ofResponder.bytes.span.bytes) }
    }
}

extension NoiseHandshake {
    /// Whether all messages have been exchanged.
    package var isComplete: Bool {
        !self.isDead && self.messageIndex == self.pattern.messages.count
    }

    /// Whether the next message is ours to write.
    package var isOurTurn: Bool {
        !self.isDead && !self.isComplete && NoiseRole.writer(ofMessage: self.messageIndex) == self.role
    }

    /// The ciphers and the proven identities that the finished handshake has led to.
    package consuming func finish() throws(NoiseError) -> NoiseSession {
        guard !self.isDead else { throw .dead }
        guard self.isComplete else { throw .incomplete }
        let ciphers = self.symmetric.split()
        let hash = self.symmetric.transcriptHash
        let remoteStatic = self.remoteStatic
        switch self.role {
        case .initiator:
            return NoiseSession(
                handshakeHash: hash,
                remoteStatic: remoteStatic,
                sending: ciphers.ofInitiator,
                receiving: ciphers.ofResponder
            )
        case .responder:
            return NoiseSession(
                handshakeHash: hash,
                remoteStatic: remoteStatic,
                sending: ciphers.ofResponder,
                receiving: ciphers.ofInitiator
            )
        }
    }

    mutating func die() {
        self.isDead = true
        self.symmetric = NoiseSymmetricState(protocolName: self.pattern.protocolName)
    }

    private static func publicKey(of key: borrowing AgreementKey?) -> X25519.PublicKey? {
        switch key {
        case .none: nil
        case .some(let key): key.publicKey
        }
    }

    private static func fits(_ pattern: NoisePattern, _ role: NoiseRole, presharedKeyCount count: Int) -> Bool {
        guard pattern.presharedKeySlotCount > 0 else { return count == 0 }
        guard role == .responder, pattern.startsWithPresharedKey else { return count == 1 }
        return (1...Self.presharedKeyCandidatesMax).contains(count)
    }
}

/// What a finished handshake leaves.
package struct NoiseSession: ~Copyable, Sendable {
    /// The hash of the whole handshake: equal on both sides, and different from that of any other session.
    package let handshakeHash: [UInt8]
    /// The peer's static key, which the peer has proven to own.
    package let remoteStatic: X25519.PublicKey?
    /// The cipher for what this side sends.
    package var sending: NoiseCipherState
    /// The cipher for what the peer sends.
    package var receiving: NoiseCipherState
}
