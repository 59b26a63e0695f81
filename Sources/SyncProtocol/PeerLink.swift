package import CRDTCore
package import PeerCrypto

/// What a link asks about a stranger before it answers.
package protocol LinkAuthority: ~Copyable {
    /// Whether a device with this static key may connect.
    func admits(_ key: StaticKey) -> Bool
    /// The secrets of the open invites; none if there is no open invite.
    func inviteSecrets() -> PresharedKeys
    /// The workspace's membership key; none if nobody who has it is to be answered.
    func membershipSecrets() -> PresharedKeys
}

/// One connection from its first byte: greeting, Noise handshake, sealed records, messages.
///
/// Performs no I/O. `now` is monotonic time in milliseconds. Until the handshake is done a stranger gets nothing but
/// the handshake's own messages, and none at all if his first one shows no right to be here.
package struct PeerLink: ~Copyable, Sendable {
    /// What received bytes led to.
    package struct Output: Sendable {
        /// What to send.
        package var bytes: [UInt8] = []
        package var events: [LinkEvent] = []
        /// Whether something was among them that only the peer can have sealed.
        package var isAuthentic = false
    }

    /// Something a link has to tell.
    package enum LinkEvent: Hashable, Sendable {
        /// The handshake is done; messages may be sent. From a responder's first known handshake on its own nothing
        /// may follow: it can be replayed until a message has come.
        case established(StaticKey)
        /// A handshake by invite is done, on the side that invited; which of the invites it was.
        case invited(StaticKey, inviteIndex: Int)
        case message(Message, byteCount: Int)
        case ended(LinkEnd)
    }

    /// Why a link has ended.
    ///
    /// The connection must be dropped.
    package enum LinkEnd: Hashable, Sendable {
        /// The peer said goodbye.
        case closed
        /// The handshake failed, or the peer has no right to be here.
        case refused(String)
        /// The peer broke the protocol.
        case violation(String)
    }

    private var phase: Phase
    private var reader = MessageReader()
    private let ownStatic: StaticKey
    /// What the side that dialled asked for; nil until it is known.
    package private(set) var greeting: HandshakeFraming.Greeting?
    /// The hash of the finished handshake, which no other has; empty until then.
    package private(set) var handshakeHash: [UInt8] = []

    private enum Phase: ~Copyable {
        case awaitingGreeting(HandshakeReader)
        case handshaking(Handshaking)
        case open(SealedChannel)
        case ended
    }

    private struct Handshaking: ~Copyable {
        var noise: NoiseHandshake
        var reader: HandshakeReader
        var greeting: HandshakeFraming.Greeting
    }

    /// The side that was dialled.
    package static func answering(ownStatic: StaticKey) -> PeerLink {
        PeerLink(phase: .awaitingGreeting(HandshakeReader(awaitsGreeting: true)), ownStatic: ownStatic)
    }

    /// The side that dials a peer it knows.
    ///
    /// Returns: the link and what to send first; nil if the keys are unfit.
    package static func dialling(
        _ peer: StaticKey,
        own: borrowing AgreementKey,
        ephemeral: consuming AgreementKey
    ) -> (LinkStart)? {
        self.dialling(.known, peer, PresharedKeys(), own: own, ephemeral: ephemeral)
    }

    /// The side that dials someone with whom it has a secret in common: that of an invite, or the membership key.
    ///
    /// Returns: the link and what to send first; nil if the keys are unfit.
    package static func dialling(
        _ greeting: HandshakeFraming.Greeting,
        secret: borrowing SecretBytes,
        own: borrowing AgreementKey,
        ephemeral: consuming AgreementKey
    ) -> (LinkStart)? {
        self.dialling(greeting, nil, PresharedKeys(secret), own: own, ephemeral: ephemeral)
    }

    private static func dialling(
        _ greeting: HandshakeFraming.Greeting,
        _ peer: StaticKey?,
        _ secrets: consuming PresharedKeys,
        own: borrowing AgreementKey,
        ephemeral: consuming AgreementKey
    ) -> (LinkStart)? {
        do throws(NoiseError) {
            var noise = try NoiseHandshake(
                pattern: greeting.pattern,
                role: .initiator,
                prologue: greeting.bytes,
                ephemeralKey: ephemeral,
                staticKey: own.duplicate(),
                remoteStatic: peer.flatMap { X25519.PublicKey($0.bytes.array) },
                presharedKeys: secrets
            )
            guard let first = HandshakeFraming.framed(try noise.writeMessage([])),
                let ownStatic = Bytes32(own.publicKey.bytes)
            else { return nil }
            let handshaking = Handshaking(
                noise: noise,
                reader: HandshakeReader(awaitsGreeting: false),
                greeting: greeting
            )
            let link = PeerLink(
                phase: .handshaking(handshaking),
                ownStatic: StaticKey(bytes: ownStatic),
                greeting: greeting
            )
            return LinkStart(link: link, bytes: greeting.bytes + first)
        } catch {
            return nil
        }
    }

    /// Whether messages can be sent.
    package var isOpen: Bool {
        switch self.phase {
        case .open(let channel): channel.canSeal
        case .awaitingGreeting: false
        case .handshaking: false
        case .ended: false
        }
    }

    /// Seals a message; empty if the link is not open.
    package mutating func seal(_ message: Message, now: UInt64) -> [UInt8] {
        self.seal(encoded: message.encoded(), now: now)
    }

    /// Seals a message that is encoded already.
    package mutating func seal(encoded message: [UInt8], now: UInt64) -> [UInt8] {
        self.withChannel { channel in channel.seal(message, now: now) } ?? []
    }

    /// Says goodbye: nothing can be sent afterwards.
    package mutating func close(now: UInt64) -> [UInt8] {
        self.withChannel { channel in channel.close(now: now) } ?? []
    }

    /// Takes the phase out to go on from it; until another is put back the link has ended.
    private mutating func takePhase() -> Phase {
        exchange(&self.phase, with: .ended)
    }

    /// Does something with the channel; nil if the link is not open.
    private mutating func withChannel<Result>(_ body: (inout SealedChannel) -> Result) -> Result? {
        guard !self.isShakingHands, case .open(var channel) = self.takePhase() else { return nil }
        let result = body(&channel)
        self.phase = .open(channel)
        return result
    }

    /// Whether keys are still agreed on: only then what arrives is to be taken with an authority.
    package var isShakingHands: Bool {
        switch self.phase {
        case .awaitingGreeting: true
        case .handshaking: true
        case .open: false
        case .ended: false
        }
    }

    /// Takes what has arrived after the handshake.
    package mutating func receive(_ bytes: [UInt8], now: UInt64) -> Output {
        var output = Output()
        self.open(bytes, now: now, &output)
        return output
    }

    /// Takes what has arrived of the handshake, and what follows it.
    ///
    /// `own`: this device's static key.
    /// `ephemeral`: makes a fresh key when the handshake needs one.
    package mutating func receive(
        _ bytes: [UInt8],
        own: borrowing AgreementKey,
        authority: borrowing some LinkAuthority & ~Copyable,
        now: UInt64,
        ephemeral: () -> AgreementKey?
    ) -> Output {
        var output = Output()
        switch self.takePhase() {
        case .awaitingGreeting(var reader):
            reader.append(bytes)
            self.phase = Self.greet(reader, own: own, authority: authority, ephemeral: ephemeral, &output)
            self.advance(authority: authority, now: now, &output)
        case .handshaking(var handshaking):
            handshaking.reader.append(bytes)
            self.phase = .handshaking(handshaking)
            self.advance(authority: authority, now: now, &output)
        case .open(let channel):
            self.phase = .open(channel)
            self.open(bytes, now: now, &output)
        case .ended: break
        }
        return output
    }

    private static func secrets(
        for greeting: HandshakeFraming.Greeting,
        _ authority: borrowing some LinkAuthority & ~Copyable
    ) -> PresharedKeys {
        switch greeting {
        case .pairing: authority.inviteSecrets()
        case .member: authority.membershipSecrets()
        case .known: PresharedKeys()
        }
    }

    private static func greet(
        _ reader: consuming HandshakeReader,
        own: borrowing AgreementKey,
        authority: borrowing some LinkAuthority & ~Copyable,
        ephemeral: () -> AgreementKey?,
        _ output: inout Output
    ) -> Phase {
        var reader = reader
        switch reader.next() {
        case .needsMore: return .awaitingGreeting(reader)
        case .greeting(let greeting):
            let secrets = self.secrets(for: greeting, authority)
            guard greeting == .known || secrets.count > 0, let key = ephemeral() else {
                output.events.append(.ended(.refused("no invite is open")))
                return .ended
            }
            do throws(NoiseError) {
                let noise = try NoiseHandshake(
                    pattern: greeting.pattern,
                    role: .responder,
                    prologue: greeting.bytes,
                    ephemeralKey: key,
                    staticKey: own.duplicate(),
                    presharedKeys: secrets
                )
                return .handshaking(Handshaking(noise: noise, reader: reader, greeting: greeting))
            } catch {
                output.events.append(.ended(.refused("the handshake could not begin")))
                return .ended
            }
        case .message, .violation:
            output.events.append(.ended(.refused("not a greeting")))
            return .ended
        }
    }

    /// Handles whole handshake messages until more is needed or the channel is open.
    private mutating func advance(
        authority: borrowing some LinkAuthority & ~Copyable,
        now: UInt64,
        _ output: inout Output
    ) {
        while true {
            var handshaking: Handshaking
            switch self.takePhase() {
            case .handshaking(let current): handshaking = current
            case .awaitingGreeting(let reader):
                self.phase = .awaitingGreeting(reader)
                return
            case .open(let channel):
                self.phase = .open(channel)
                return
            case .ended: return
            }
            switch handshaking.reader.next() {
            case .needsMore:
                self.phase = .handshaking(handshaking)
                return
            case .greeting, .violation:
                self.end(.refused("not a handshake message"), &output)
                return
            case .message(let message):
                do throws(NoiseError) {
                    // What a handshake message carries besides may be of a later version.
                    _ = try handshaking.noise.readMessage(message)
                    if handshaking.greeting == .known, handshaking.noise.role == .responder {
                        guard let key = handshaking.noise.remoteStaticKey, authority.admits(key) else {
                            self.end(.refused("an unknown device"), &output)
                            return
                        }
                    }
                    if handshaking.noise.isOurTurn {
                        let answer = try handshaking.noise.writeMessage([])
                        output.bytes += HandshakeFraming.framed(answer) ?? []
                    }
                    guard handshaking.noise.isComplete else {
                        self.phase = .handshaking(handshaking)
                        continue
                    }
                    try self.finish(handshaking, now: now, &output)
                } catch {
                    self.end(.refused("the handshake failed"), &output)
                }
                return
            }
        }
    }

    private mutating func finish(
        _ handshaking: consuming Handshaking,
        now: UInt64,
        _ output: inout Output
    ) throws(NoiseError) {
        guard let key = handshaking.noise.remoteStaticKey else { throw .unfitKeys }
        let isInvited = handshaking.greeting == .pairing && handshaking.noise.role == .responder
        let inviteIndex = handshaking.noise.presharedKeyIndex
        let rest = handshaking.reader.takeRemainder()
        self.greeting = handshaking.greeting
        let session = try handshaking.noise.finish()
        self.handshakeHash = session.handshakeHash
        self.phase = .open(SealedChannel(session))
        output.events.append(isInvited ? .invited(key, inviteIndex: inviteIndex) : .established(key))
        if !rest.isEmpty { self.open(rest, now: now, &output) }
    }

    private mutating func open(_ bytes: [UInt8], now: UInt64, _ output: inout Output) {
        guard let opened = self.withChannel({ channel in channel.open(bytes, now: now) }) else { return }
        if !opened.stream.isEmpty { output.isAuthentic = true }
        self.reader.append(opened.stream)
        do throws(WireError) {
            while let received = try self.reader.next() {
                output.events.append(.message(received.message, byteCount: received.byteCount))
            }
        } catch {
            return self.end(.violation("a message could not be decoded: \(error)"), &output)
        }
        switch opened.end {
        case .none: break
        case .closed: self.end(.closed, &output)
        case .violation(let violation): self.end(.violation("\(violation)"), &output)
        }
    }

    private mutating func end(_ end: LinkEnd, _ output: inout Output) {
        self.phase = .ended
        output.events.append(.ended(end))
    }
}

/// A link that dials, and what it says first.
package struct LinkStart: ~Copyable, Sendable {
    package var link: PeerLink
    package var bytes: [UInt8]

    /// The link alone.
    package consuming func takeLink() -> PeerLink { self.link }
}

extension NoiseHandshake {
    /// The peer's static key as the core's type.
    fileprivate var remoteStaticKey: StaticKey? {
        self.remoteStatic.flatMap { Bytes32($0.bytes) }.map { StaticKey(bytes: $0) }
    }
}
