/// A handshake pattern of the Noise specification (revision 34, section 7), as data.
package struct NoisePattern: Sendable {
    /// One step of writing or reading a handshake message.
    package enum Token: Sendable {
        /// A fresh key, sent in the clear.
        case e
        /// A static key, sent sealed as soon as there is a key to seal it with.
        case s
        /// Agreement between both fresh keys.
        case ee
        /// Agreement between the initiator's fresh and the responder's static key.
        case es
        /// Agreement between the initiator's static and the responder's fresh key.
        case se
        /// Agreement between both static keys.
        case ss
        /// A secret that both sides have from elsewhere.
        case psk
    }

    /// The pattern's name with its modifiers, such as `XXpsk0+psk3`.
    package let name: String
    /// Whether the responder knows the initiator's static key beforehand.
    package let isInitiatorKnown: Bool
    /// Whether the initiator knows the responder's static key beforehand.
    package let isResponderKnown: Bool
    /// The tokens of each message; the initiator writes the first, and they take turns.
    package let messages: [[Token]]

    /// Describes a pattern.
    package init(_ name: String, initiatorKnown: Bool = false, responderKnown: Bool = false, messages: [[Token]]) {
        self.name = name
        self.isInitiatorKnown = initiatorKnown
        self.isResponderKnown = responderKnown
        self.messages = messages
    }
}

extension NoisePattern {
    /// Between paired devices: the initiator knows whom it dials, and shows itself in its first message.
    package static let ik = NoisePattern(
        "IK",
        responderKnown: true,
        messages: [[.e, .es, .s, .ss], [.e, .ee, .se]]
    )

    /// For pairing: nobody without the invite's secret gets an answer, and no static key is seen by an outsider.
    package static let xxPsk0Psk3 = NoisePattern(
        "XXpsk0+psk3",
        messages: [[.psk, .e], [.e, .ee, .s, .es], [.s, .se, .psk]]
    )

    /// Between members of one workspace that do not know each other yet: nobody without its membership key gets an
    /// answer, and no static key is seen by an outsider.
    package static let xxPsk0 = NoisePattern(
        "XXpsk0",
        messages: [[.psk, .e], [.e, .ee, .s, .es], [.s, .se]]
    )

    /// The full protocol name, which both sides hash first.
    package var protocolName: String {
        "Noise_\(self.name)_25519_ChaChaPoly_SHA512"
    }

    /// The number of places that take a secret from elsewhere.
    package var presharedKeySlotCount: Int {
        self.messages.joined().count { $0 == .psk }
    }

    var startsWithPresharedKey: Bool {
        self.messages.first?.contains(.psk) ?? false
    }

    /// Whether the given side needs a static key of its own.
    func usesStaticKey(of role: NoiseRole) -> Bool {
        if role == .initiator ? self.isInitiatorKnown : self.isResponderKnown { return true }
        return self.messages.enumerated().contains { index, tokens in
            tokens.contains(.s) && NoiseRole.writer(ofMessage: index) == role
        }
    }
}

/// Which side of a handshake this is.
package enum NoiseRole: Sendable {
    /// The side that dialled, and that writes the first message.
    case initiator
    /// The side that was dialled.
    case responder

    static func writer(ofMessage index: Int) -> NoiseRole {
        index.isMultiple(of: 2) ? .initiator : .responder
    }
}
