import SyncProtocol

/// The patterns of the published vectors that the product itself does not use.
extension NoisePattern {
    static let ofVectors: [NoisePattern] = [
        .ik,
        .xxPsk0Psk3,
        .xxPsk0,
        NoisePattern("NN", messages: [[.e], [.e, .ee]]),
        NoisePattern("NK", responderKnown: true, messages: [[.e, .es], [.e, .ee]]),
        NoisePattern(
            "KK",
            initiatorKnown: true,
            responderKnown: true,
            messages: [[.e, .es, .ss], [.e, .ee, .se]]
        ),
        NoisePattern("XK", responderKnown: true, messages: [[.e, .es], [.e, .ee], [.s, .se]]),
        NoisePattern("XX", messages: [[.e], [.e, .ee, .s, .es], [.s, .se]]),
        NoisePattern("IX", messages: [[.e, .s], [.e, .ee, .se, .s, .es]]),
        NoisePattern("NNpsk0", messages: [[.psk, .e], [.e, .ee]]),
        NoisePattern("NNpsk2", messages: [[.e], [.e, .ee, .psk]]),
        NoisePattern("NKpsk2", responderKnown: true, messages: [[.e, .es], [.e, .ee, .psk]]),
        NoisePattern("XKpsk3", responderKnown: true, messages: [[.e, .es], [.e, .ee], [.s, .se, .psk]]),
        NoisePattern("XXpsk3", messages: [[.e], [.e, .ee, .s, .es], [.s, .se, .psk]]),
        NoisePattern(
            "KKpsk0",
            initiatorKnown: true,
            responderKnown: true,
            messages: [[.psk, .e, .es, .ss], [.e, .ee, .se]]
        ),
        NoisePattern(
            "KKpsk2",
            initiatorKnown: true,
            responderKnown: true,
            messages: [[.e, .es, .ss], [.e, .ee, .se, .psk]]
        ),
        NoisePattern("IKpsk1", responderKnown: true, messages: [[.e, .es, .s, .ss, .psk], [.e, .ee, .se]]),
        NoisePattern("IKpsk2", responderKnown: true, messages: [[.e, .es, .s, .ss], [.e, .ee, .se, .psk]]),
    ]
}
