import CRDTCore
import PeerCrypto
import SyncProtocol

@testable import Engine

/// A member that says whatever a test wants: a real device with a real handshake, but no node behind it.
final class RawPeer {
    let network: TestNetwork
    let target: Int
    let id: ConnectionID
    let identity: IdentityBox
    private var link: LinkBox
    private(set) var received: [Message] = []
    private(set) var rawBytes: [UInt8] = []
    private(set) var isClosed = false

    final class IdentityBox {
        let value: DeviceIdentity
        init(_ value: consuming DeviceIdentity) { self.value = value }
    }

    private final class LinkBox {
        var value: PeerLink
        init(_ value: consuming PeerLink) { self.value = value }
    }

    private struct NobodyElse: LinkAuthority {
        func admits(_ key: StaticKey) -> Bool { false }
        func inviteSecrets() -> PresharedKeys { PresharedKeys() }
        func membershipSecrets() -> PresharedKeys { PresharedKeys() }
    }

    /// Dials a node as a device; the handshake is done when this returns.
    init(_ identity: IdentityBox, to target: Int, of network: TestNetwork, connection: UInt64) throws {
        self.network = network
        self.target = target
        self.identity = identity
        self.id = ConnectionID(rawValue: 1 << 63 | 1 << 40 | connection)
        var entropy = TestNetwork.entropy(connection &+ 500)
        let key = network.machines[target].node.replica.author.identity.publicStaticKey
        guard let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(key, own: identity.value.staticKey, ephemeral: ephemeral)
        else { throw TestFailure("no handshake") }
        let first = start.bytes
        self.link = LinkBox(start.takeLink())
        self.deliver(.accepted(self.id, from: NetworkAddress(host: "10.9.9.\(connection % 200)", port: 9)))
        self.deliver(.received(self.id, first))
    }

    /// Dials a node as a member that it may not know; the handshake is done when this returns.
    init(_ identity: IdentityBox, asMemberTo target: Int, of network: TestNetwork, connection: UInt64) throws {
        self.network = network
        self.target = target
        self.identity = identity
        self.id = ConnectionID(rawValue: 1 << 63 | 1 << 40 | connection)
        var entropy = TestNetwork.entropy(connection &+ 500)
        guard let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(
                .member,
                secret: identity.value.membershipKey,
                own: identity.value.staticKey,
                ephemeral: ephemeral
            )
        else { throw TestFailure("no handshake") }
        let first = start.bytes
        self.link = LinkBox(start.takeLink())
        self.deliver(.accepted(self.id, from: NetworkAddress(host: "10.9.9.\(connection % 200)", port: 9)))
        self.deliver(.received(self.id, first))
    }

    /// A device that a member has made up and vouches for.
    static func invented(by member: IdentityBox, seed: UInt64) throws -> IdentityBox {
        var entropy = TestNetwork.entropy(seed &+ 9_000)
        guard let signing = SigningKey(seed: entropy.secret(32)),
            let agreement = AgreementKey(seed: entropy.secret(32))
        else { throw TestFailure("no keys") }
        let device = DeviceID(bytes: signing.publicKey.bytes32)
        let staticKey = StaticKey(bytes: agreement.publicKey.bytes32)
        let welcome = Welcome(
            founder: member.value.founder,
            workspaceNonce: member.value.workspaceNonce,
            user: member.value.user,
            membershipKey: member.value.membershipKeyBytes,
            inviter: member.value.device,
            certificates: member.value.certify(device, staticKey: staticKey)
        )
        let identity = DeviceIdentity.joining(
            name: "invented \(seed)",
            welcome: welcome,
            signingKey: signing,
            staticKey: agreement,
            SodiumCryptography()
        )
        guard let identity else { throw TestFailure("not certified") }
        return IdentityBox(identity)
    }

    /// A machine of the network, whose owner has written a program of his own.
    static func machine(_ number: Int, of network: TestNetwork) throws -> IdentityBox {
        guard let identity = DeviceIdentity.decode(SecretBytes(network.keys[number])) else {
            throw TestFailure("no keys")
        }
        return IdentityBox(identity)
    }

    /// Makes a device a member through a real invite, without ever running a node on it.
    static func member(of network: TestNetwork, invitedBy inviter: Int, seed: UInt64) throws -> IdentityBox {
        let invite = try network.machines[inviter].node.makeInvite(
            addresses: [],
            port: 1,
            at: network.moment(of: inviter)
        )
        guard
            var session = JoinSession(invite: invite, deviceName: "raw", entropy: TestNetwork.entropy(seed))
        else { throw TestFailure("no session") }
        let id = ConnectionID(rawValue: 1 << 63 | 1 << 41 | seed)
        network.handle(inviter, .accepted(id, from: NetworkAddress(host: "10.8.8.8", port: 1)))
        switch session.converse(now: network.time, { network.answer(of: inviter, to: $0, on: id) }) {
        case .send: throw TestFailure("the pairing stalled")
        case .failed(let reason): throw TestFailure(reason)
        case .joined(let identity, _, let goodbye):
            network.handle(inviter, .received(id, goodbye))
            return IdentityBox(identity)
        }
    }

    /// Gives the node an event and takes what it says to this peer.
    func deliver(_ event: Event) {
        let effects = self.network.machines[self.target].node.handle(event, at: self.network.moment(of: self.target))
        for effect in effects {
            switch effect {
            case .send(let id, let bytes) where id == self.id: self.take(bytes)
            case .close(let id, _) where id == self.id: self.isClosed = true
            case .notice(let notice): self.network.machines[self.target].notices.append(notice)
            default: break
            }
        }
    }

    private func take(_ bytes: [UInt8]) {
        self.rawBytes += bytes
        let output = self.link.value.receive(
            bytes,
            own: self.identity.value.staticKey,
            authority: NobodyElse(),
            now: self.network.time
        ) { nil }
        for case .message(let message, _) in output.events { self.received.append(message) }
        if !output.bytes.isEmpty { self.deliver(.received(self.id, output.bytes)) }
    }

    /// Hears what the node says as time passes, too: a link that misses a record understands no later one.
    func listen() { self.network.listeners[self.id] = { [weak self] in self?.take($0) } }

    func send(_ message: Message) {
        let bytes = self.link.value.seal(message, now: self.network.time)
        self.deliver(.received(self.id, bytes))
    }

    /// The hello an honest device would send, with an empty frontier.
    var hello: Message { self.hello(of: 0) }

    /// The hello of one of several copies of the device.
    func hello(of instance: UInt32) -> Message {
        .hello(
            Hello(
                deviceStart: self.identity.value.device.start,
                instance: instance,
                wallTime: self.network.moment(of: self.target).wall,
                port: 0,
                fingerprint: Frontier.fingerprint([], SodiumCryptography()),
                proof: self.proof
            )
        )
    }

    /// Shows that this is the device.
    var proof: Signature {
        let hash = self.link.value.handshakeHash
        return self.identity.value.signingKey.signature(
            of: HandshakeProof.message(handshakeHash: hash, isDialler: true)
        )
    }

    /// A chain of this device: an introduction and one change for each list of edits.
    func chain(
        _ edits: [[Edit]],
        nonce: UInt64,
        from first: UInt64 = 1,
        previous: Hash256? = nil,
        context: [Point] = [],
        at claimed: Stamp? = nil,
        in circle: Circle = .home,
        under grants: [StatementID] = []
    ) -> VerifiedRun {
        let nonce = Bytes16(high: nonce, low: nonce)
        let cryptography = SodiumCryptography()
        let replica = ReplicaID(device: self.identity.value.device, nonce: nonce, circle: circle, cryptography)
        var builder = RunBuilder(replica: replica, firstSequence: first)
        var stamp = claimed ?? Stamp(milliseconds: self.network.moment(of: self.target).wall.milliseconds)
        if first == 1 {
            builder.beginChange(stamp: stamp, context: context, blinding: [UInt8](repeating: 1, count: 16))
            let introduction = self.identity.value.introduction(nonce: nonce, circle: circle, under: grants)
            builder.append(.introduce(introduction))
        }
        for edits in edits {
            stamp = stamp.successor ?? stamp
            builder.beginChange(stamp: stamp, context: [], blinding: [UInt8](repeating: 2, count: 16))
            for edit in edits { builder.append(edit) }
        }
        return VerifiedRun.sealUnchecked(
            builder,
            previous: previous ?? self.identity.value.origin,
            cryptography
        ) { self.identity.value.signingKey.signature(of: $0) }
    }
}
