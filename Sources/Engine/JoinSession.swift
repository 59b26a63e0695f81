package import CRDTCore
package import PeerCrypto
package import SyncProtocol

/// The side of pairing that holds an invite: from the first byte to an identity of its own.
///
/// Sans-I/O: feed it what arrives and send what it returns. Time limits are the caller's.
package struct JoinSession: ~Copyable {
    private var link: PeerLink?
    private var signingKey: SigningKey?
    private let staticKey: AgreementKey
    private let deviceName: String
    private let firstBytes: [UInt8]
    private let inviter: StaticKey
    private let cryptography: SodiumCryptography

    /// What received bytes led to.
    package enum Outcome: ~Copyable {
        /// Send these (perhaps none) and wait for more.
        case send([UInt8])
        /// The device is a member now; these bytes say goodbye.
        case joined(DeviceIdentity, inviter: StaticKey, goodbye: [UInt8])
        case failed(String)
    }

    /// Begins; nil only if the entropy cannot make keys.
    ///
    /// `memo`: as for a node.
    package init?(
        invite: Invite,
        deviceName: String,
        memo: (any CryptographyMemo)? = nil,
        entropy: consuming EntropyStream
    ) {
        guard let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32), memo: memo),
            let ephemeral = AgreementKey(seed: entropy.secret(32), memo: memo)
        else { return nil }
        let request = JoinRequest(device: DeviceID(bytes: signingKey.publicKey.bytes32), deviceName: deviceName)
        let start = PeerLink.dialling(
            invite.staticKey,
            own: staticKey,
            ephemeral: ephemeral,
            invite: SecretBytes(invite.secret.array),
            request: request.encoded
        )
        guard let start else { return nil }
        self.firstBytes = start.bytes
        self.link = start.takeLink()
        self.signingKey = signingKey.duplicate()
        self.staticKey = staticKey
        self.deviceName = deviceName
        self.inviter = invite.staticKey
        self.cryptography = SodiumCryptography(memo: memo)
    }

    /// What to send first.
    package func start() -> [UInt8] { self.firstBytes }

    /// Takes what has arrived.
    ///
    /// `now`: monotonic time in milliseconds.
    package mutating func received(_ bytes: [UInt8], now: UInt64) -> Outcome {
        guard var link = self.link.take() else { return .failed("the pairing is over") }
        let output = link.receive(bytes, own: self.staticKey, authority: Nobody(), now: now) { nil }
        for event in output.events {
            switch event {
            case .established(let key):
                guard key == self.inviter else { return .failed("the other side is not the one who invited") }
            case .message(.welcome(let welcome), _):
                guard let signingKey = self.signingKey.take() else { return .failed("the pairing is over") }
                let identity = DeviceIdentity.joining(
                    name: self.deviceName,
                    welcome: welcome,
                    signingKey: signingKey,
                    staticKey: self.staticKey.duplicate(),
                    self.cryptography
                )
                guard let identity else { return .failed("the certificate that was sent does not hold") }
                return .joined(identity, inviter: self.inviter, goodbye: output.bytes + link.close(now: now))
            case .message: break
            case .paired: return .failed("the other side answered out of turn")
            case .ended(.refused):
                return .failed("the invite was refused; it may have been used or be older than ten minutes")
            case .ended: return .failed("the other side ended the pairing")
            }
        }
        self.link = consume link
        return .send(output.bytes)
    }

    private struct Nobody: LinkAuthority {
        func admits(_ key: StaticKey) -> Bool { false }
        func inviteSecrets() -> PresharedKeys { PresharedKeys() }
    }
}
