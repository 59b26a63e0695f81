import CRDTCore
import PeerCrypto
import SyncProtocol

/// One side of a connection, with keys named by a byte, so that a conversation is the same each time.
final class Endpoint {
    private var link: PeerLink
    private let own: AgreementKey
    private let authority: Authority
    private let ephemeralName: UInt8
    private(set) var events: [PeerLink.LinkEvent] = []

    struct Unfit: Error {}

    struct Authority: LinkAuthority {
        var admitted: Set<StaticKey>
        var invites: [UInt8]
        var membership: UInt8?

        func admits(_ key: StaticKey) -> Bool { self.admitted.contains(key) }

        func membershipSecrets() -> PresharedKeys {
            var secrets = PresharedKeys()
            if let membership { _ = secrets.append(Endpoint.secret(membership)) }
            return secrets
        }

        func inviteSecrets() -> PresharedKeys {
            var secrets = PresharedKeys()
            for invite in self.invites { _ = secrets.append(Endpoint.secret(invite)) }
            return secrets
        }
    }

    private init(_ link: consuming PeerLink, own: consuming AgreementKey, _ authority: Authority, ephemeral: UInt8) {
        self.link = link
        self.own = own
        self.authority = authority
        self.ephemeralName = ephemeral
    }

    static func secret(_ name: UInt8) -> SecretBytes { SecretBytes([UInt8](repeating: name, count: 32)) }

    static func key(_ name: UInt8) throws -> AgreementKey {
        guard let key = AgreementKey(seed: self.secret(name)) else { throw Unfit() }
        return key
    }

    static func staticKey(_ name: UInt8) throws -> StaticKey {
        guard let bytes = Bytes32(try self.key(name).publicKey.bytes) else { throw Unfit() }
        return StaticKey(bytes: bytes)
    }

    /// The side that is dialled; its key is 2 where nothing else is said, and it knows key 1.
    static func answering(
        _ name: UInt8 = 2,
        admits: [UInt8] = [1],
        invites: [UInt8] = [],
        membership: UInt8? = nil,
        ephemeral: UInt8 = 0xe2
    ) throws -> Endpoint {
        let admitted = Set(try admits.map { try self.staticKey($0) })
        let authority = Authority(admitted: admitted, invites: invites, membership: membership)
        let link = PeerLink.answering(ownStatic: try self.staticKey(name))
        return Endpoint(link, own: try self.key(name), authority, ephemeral: ephemeral)
    }

    /// The side that dials, and what it says first.
    static func dialling(
        _ name: UInt8 = 1,
        to peer: UInt8 = 2,
        invite: UInt8? = nil,
        membership: UInt8? = nil
    ) throws -> (endpoint: Endpoint, bytes: [UInt8]) {
        let own = try self.key(name)
        let ephemeral = try self.key(0xe1)
        let start: LinkStart?
        if let invite {
            start = PeerLink.dialling(.pairing, secret: self.secret(invite), own: own, ephemeral: ephemeral)
        } else if let membership {
            start = PeerLink.dialling(.member, secret: self.secret(membership), own: own, ephemeral: ephemeral)
        } else {
            start = PeerLink.dialling(try self.staticKey(peer), own: own, ephemeral: ephemeral)
        }
        guard let start else { throw Unfit() }
        let bytes = start.bytes
        let authority = Authority(admitted: [], invites: [])
        return (Endpoint(start.takeLink(), own: own, authority, ephemeral: 0xe3), bytes)
    }

    /// Two sides after a handshake between known peers.
    static func connected() throws -> (dialler: Endpoint, answerer: Endpoint) {
        let (dialler, first) = try self.dialling()
        let answerer = try self.answering()
        self.converse(dialler, answerer, first)
        guard dialler.isOpen, answerer.isOpen else { throw Unfit() }
        return (dialler, answerer)
    }

    /// Carries bytes back and forth until nobody has anything to say; returns what was said, in turn.
    @discardableResult
    static func converse(_ dialler: Endpoint, _ answerer: Endpoint, _ first: [UInt8]) -> [[UInt8]] {
        var said = [first]
        var listener = answerer
        while let bytes = said.last, !bytes.isEmpty {
            said.append(listener.receive(bytes))
            listener = listener === answerer ? dialler : answerer
        }
        return said.dropLast()
    }

    var isOpen: Bool { self.link.isOpen }

    var handshakeHash: [UInt8] { self.link.handshakeHash }

    @discardableResult
    func receive(_ bytes: [UInt8]) -> [UInt8] {
        let output = self.link.receive(bytes, own: self.own, authority: self.authority, now: 1) {
            try? Self.key(self.ephemeralName)
        }
        self.events += output.events
        return output.bytes
    }

    func seal(_ message: Message) -> [UInt8] { self.link.seal(message, now: 1) }

    /// Seals bytes that need be no message.
    func seal(encoded bytes: [UInt8]) -> [UInt8] { self.link.seal(encoded: bytes, now: 1) }

    func close() -> [UInt8] { self.link.close(now: 1) }

    var messages: [Message] {
        self.events.compactMap { if case .message(let message, _) = $0 { message } else { nil } }
    }

    var end: PeerLink.LinkEnd? {
        self.events.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
    }

    /// Whether the link ended because the peer broke the protocol.
    var sawViolation: Bool {
        if case .violation = self.end { true } else { false }
    }

    var wasRefused: Bool {
        if case .refused = self.end { true } else { false }
    }

    /// Whether a handshake was done.
    var isEstablished: Bool {
        self.events.contains { event in
            switch event {
            case .established, .invited: true
            case .message, .ended: false
            }
        }
    }
}
