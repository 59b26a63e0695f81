package import CRDTCore
package import PeerCrypto
package import SyncProtocol

/// The side of pairing that holds an invite: from the first byte to an identity of its own.
///
/// Sans-I/O: feed it what arrives and send what it returns. Time limits are the caller's.
package struct JoinSession: ~Copyable {
    private var link: PeerLink?
    private var signingKey: SigningKey?
    /// The root key of who joins, if it is another person than whoever invites.
    private var root: SigningKey?
    private let workspace: Invite.Workspace?
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
    /// `root`: the root key of who joins, if the invite is for another person; nil for that of a new user. `memo`: as
    /// for a node.
    package init?(
        invite: Invite,
        deviceName: String,
        root: consuming SigningKey? = nil,
        memo: (any CryptographyMemo)? = nil,
        entropy: consuming EntropyStream
    ) {
        guard let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32), memo: memo),
            let ephemeral = AgreementKey(seed: entropy.secret(32), memo: memo)
        else { return nil }
        let start = PeerLink.dialling(
            .pairing,
            secret: SecretBytes(invite.secret.array),
            own: staticKey,
            ephemeral: ephemeral
        )
        guard let start else { return nil }
        self.workspace = invite.workspace
        if invite.workspace != nil {
            let seed = entropy.secret(32)
            self.root = root ?? SigningKey(seed: seed)
        }
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
        var bytes = output.bytes
        for event in output.events {
            switch event {
            case .established(let key):
                guard key == self.inviter else { return .failed("the other side is not the one who invited") }
                bytes += self.request(over: &link, now: now)
            case .message(.welcome(let welcome), _):
                guard let signingKey = self.signingKey.take() else { return .failed("the pairing is over") }
                if let workspace {
                    guard welcome.founder == workspace.founder, welcome.workspaceNonce == workspace.nonce,
                        welcome.user == self.user
                    else { return .failed("the other side welcomes somebody else") }
                }
                let identity = DeviceIdentity.joining(
                    name: self.deviceName,
                    welcome: welcome,
                    signingKey: signingKey,
                    staticKey: self.staticKey.duplicate(),
                    self.cryptography
                )
                guard let identity else { return .failed("the certificate that was sent does not hold") }
                return .joined(identity, inviter: self.inviter, goodbye: bytes + link.close(now: now))
            case .message: break
            case .invited: return .failed("the other side answered out of turn")
            case .ended(.refused):
                return .failed("the invite was refused; it may have been used or be older than ten minutes")
            case .ended: return .failed("the other side ended the pairing")
            }
        }
        self.link = consume link
        return .send(bytes)
    }

    /// Holds the whole conversation with an inviter that answers at once, as one in the same process does.
    ///
    /// `exchange`: hands bytes to the inviter, and returns what it says to them.
    /// Returns anything but `.send`: a conversation in which nobody says anything more has failed.
    package mutating func converse(now: UInt64, _ exchange: ([UInt8]) throws -> [UInt8]) rethrows -> Outcome {
        var bytes = self.start()
        while true {
            switch self.received(try exchange(bytes), now: now) {
            case .send(let more):
                guard !more.isEmpty else { return .failed("the pairing stalled") }
                bytes = more
            case .failed(let reason): return .failed(reason)
            case .joined(let identity, let inviter, let goodbye):
                return .joined(identity, inviter: inviter, goodbye: goodbye)
            }
        }
    }

    /// What we ask for, with the proof that we have the key of the device that is to join.
    private borrowing func request(over link: inout PeerLink, now: UInt64) -> [UInt8] {
        let message = HandshakeProof.message(handshakeHash: link.handshakeHash, isDialler: true)
        let (device, proof): (DeviceID, Signature)
        switch self.signingKey {
        case .none: return []
        case .some(let key):
            device = DeviceID(bytes: key.publicKey.bytes32)
            proof = self.cryptography.signature(of: message, by: key)
        }
        var request = JoinRequest(device: device, deviceName: self.deviceName, proof: proof)
        request.person = self.introduction(of: device)
        return link.seal(.join(request), now: now)
    }

    /// The user who joins, if he is another person than whoever invites.
    private var user: UserID? {
        switch self.root {
        case .none: nil
        case .some(let key): UserID(key)
        }
    }

    /// Who asks, if it is another person than whoever invites.
    private borrowing func introduction(of device: DeviceID) -> Introduction? {
        guard let workspace else { return nil }
        switch self.root {
        case .none: return nil
        case .some(let key):
            let certificate = DeviceIdentity.rootCertificate(
                by: key,
                device: device,
                staticKey: StaticKey(bytes: self.staticKey.publicKey.bytes32),
                in: WorkspaceID(founder: workspace.founder, nonce: workspace.nonce, self.cryptography)
            )
            return Introduction(
                user: UserID(key),
                deviceName: self.deviceName,
                nonce: Bytes16(high: 0, low: 0),
                certificates: [certificate]
            )
        }
    }

    private struct Nobody: LinkAuthority {
        func admits(_ key: StaticKey) -> Bool { false }
        func inviteSecrets() -> PresharedKeys { PresharedKeys() }
        func membershipSecrets() -> PresharedKeys { PresharedKeys() }
    }
}
