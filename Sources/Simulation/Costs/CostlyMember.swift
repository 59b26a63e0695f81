package import CRDTCore
internal import Engine
package import MergeModel
internal import PeerCrypto
package import SyncProtocol

/// A member that wants to cost others as much as it can for what it sends.
package final class CostlyMember {
    private let identity: DeviceIdentity
    private let cryptography = SodiumCryptography()
    private let device: MeasuredDevice
    private var link: PeerLink?
    private var connection: ConnectionID
    private var entropy: EntropyStream
    package var random = SplitMix64(seed: 4)
    private var chains: [Int: Chain] = [:]
    private var nextMillisecond: UInt64 = 0
    /// Bytes sent over all connections.
    package private(set) var sentByteCount = 0

    /// The end of a chain that it writes.
    private struct Chain {
        var replica: ReplicaID
        var nonce: Bytes16
        var lastSequence: UInt64 = 0
        var lastHash: Hash256
        /// Of all its changes, forks aside.
        var hashes: [Hash256] = []
        var isForked = false
    }

    /// One change before it is signed.
    package struct Draft {
        package var edits: [Edit]
        var context: [Point] = []
        /// The stamp's milliseconds after the start; nil for later than the change before.
        var millisecond: UInt64?
    }

    /// Becomes a member through a real invite.
    ///
    /// `number`: tells it from the other members of a device.
    package init(of device: MeasuredDevice, number: UInt64 = 0) throws {
        let failure = MeasuredDevice.Failure(description: "the pairing failed")
        let invite = try device.invite()
        let entropy = EntropyStream.from(2 + 2 * number)
        guard var session = JoinSession(invite: invite, deviceName: "costly", entropy: entropy) else { throw failure }
        let id = ConnectionID(rawValue: 1 << 62 + number)
        device.handle(.accepted(id, from: NetworkAddress(host: "10.0.0.9", port: 1)))
        let outcome = session.converse(now: 1) { bytes in
            device.handle(.received(id, bytes))
            return device.takeSaid(on: id)
        }
        guard case .joined(let identity, _, let goodbye) = consume outcome else { throw failure }
        device.handle(.received(id, goodbye))
        self.identity = identity
        self.device = device
        self.entropy = EntropyStream.from(3 + 2 * number)
        self.connection = ConnectionID(rawValue: 1 << 63 + number << 32)
    }

    // MARK: - Speaking

    /// Dials the device; says hello, and that it holds nothing.
    package func connect() throws {
        self.connection = ConnectionID(rawValue: self.connection.rawValue + 1)
        guard let ephemeral = AgreementKey(seed: self.entropy.secret(32)),
            let start = PeerLink.dialling(
                self.device.staticKey,
                own: self.identity.staticKey,
                ephemeral: ephemeral
            )
        else { throw MeasuredDevice.Failure(description: "no handshake") }
        let first = start.bytes
        self.link = start.takeLink()
        self.device.handle(.accepted(self.connection, from: NetworkAddress(host: "10.0.0.9", port: 9)))
        self.deliver(first)
        guard let handshakeHash = self.link?.handshakeHash else { return }
        let message = HandshakeProof.message(handshakeHash: handshakeHash, isDialler: true)
        let hello = Hello(
            deviceStart: self.identity.device.start,
            instance: 0,
            wallTime: self.device.now.wall,
            port: 0,
            fingerprint: Frontier.fingerprint([], self.cryptography),
            proof: self.identity.signingKey.signature(of: message)
        )
        self.send([.hello(hello), .ranges([FrontierRange(end: nil, claim: .entries([]))])])
    }

    /// Sends messages in chunks as a socket hands them over: many in one, or each in one of its own.
    package func send(_ messages: [Message], oneByOne: Bool = false) {
        var bytes: [UInt8] = []
        for message in messages {
            bytes += self.link?.seal(message, now: self.device.now.monotonicMilliseconds) ?? []
            if oneByOne || bytes.count >= 64 << 10 {
                self.deliver(bytes)
                bytes = []
            }
        }
        if !bytes.isEmpty { self.deliver(bytes) }
    }

    private func deliver(_ bytes: [UInt8]) {
        guard !self.device.closed.contains(self.connection) else { return }
        self.sentByteCount += bytes.count
        self.device.handle(.received(self.connection, bytes))
        let answer = self.device.takeSaid(on: self.connection)
        guard !answer.isEmpty else { return }
        let output = self.link?.receive(
            answer,
            own: self.identity.staticKey,
            authority: NobodyElse(),
            now: self.device.now.monotonicMilliseconds
        ) { nil }
        if let bytes = output?.bytes, !bytes.isEmpty { self.deliver(bytes) }
    }

    private struct NobodyElse: LinkAuthority {
        func admits(_ key: StaticKey) -> Bool { false }
        func inviteSecrets() -> PresharedKeys { PresharedKeys() }
        func membershipSecrets() -> PresharedKeys { PresharedKeys() }
    }

    /// Why it is heard no more, if it is not.
    package var refusal: String? { self.device.closed.contains(self.connection) ? self.device.lastViolation : nil }

    // MARK: - Writing

    /// A chain's next changes, after an introduction if they are its first.
    ///
    /// `branch`: what a chain belongs to that begins; nil for the main timeline. `forking`: the changes are not the
    /// chain's end, so that the next ones fork it.
    package func run(
        _ drafts: [Draft],
        on number: Int = 0,
        of branch: BranchID? = nil,
        forking: Bool = false
    ) -> Message {
        let nonce = Bytes16(high: 7, low: UInt64(number))
        var chain =
            self.chains[number]
            ?? Chain(
                replica: ReplicaID(device: self.identity.device, nonce: nonce, self.cryptography),
                nonce: nonce,
                lastHash: self.identity.origin
            )
        let previous = chain.isForked ? ChangeName(chain.lastHash) : nil
        var builder = RunBuilder(
            replica: chain.replica,
            firstSequence: chain.lastSequence + 1,
            previous: previous
        )
        chain.isForked = chain.isForked || forking
        if chain.lastSequence == 0 {
            builder.beginChange(stamp: self.stamp(nil), context: [], blinding: self.entropy.bytes(16))
            builder.append(.introduce(self.identity.introduction(nonce: nonce, branch: branch)))
        }
        for draft in drafts {
            builder.beginChange(
                stamp: self.stamp(draft.millisecond),
                context: draft.context.sorted(),
                blinding: self.entropy.bytes(16)
            )
            for edit in draft.edits { builder.append(edit) }
        }
        let sealed = VerifiedRun.sealUnchecked(builder, previous: chain.lastHash, self.cryptography) { message in
            self.identity.signingKey.signature(of: message)
        }
        if !forking {
            chain.lastSequence = sealed.run.lastSequence
            chain.lastHash = sealed.hashes.last ?? chain.lastHash
            chain.hashes += sealed.hashes
        }
        self.chains[number] = chain
        return .run(sealed.run)
    }

    private func stamp(_ millisecond: UInt64?) -> Stamp {
        if let millisecond { return Stamp(milliseconds: MeasuredDevice.start.milliseconds + millisecond) }
        self.nextMillisecond += 1
        // Many in one millisecond, so that none of very many is ahead of the clock by minutes.
        let milliseconds = MeasuredDevice.start.milliseconds + 1_000 + self.nextMillisecond / 100
        return Stamp(rawValue: Stamp(milliseconds: milliseconds).rawValue + self.nextMillisecond % 100)
    }

    /// The end of a chain as a restamp, or a context, names it.
    func head(of number: Int = 0) -> FrontierEntry {
        let chain = self.chains[number]
        return FrontierEntry(
            replica: chain?.replica ?? self.unknownReplica(),
            sequence: chain?.lastSequence ?? 0,
            hash: chain?.lastHash ?? .zero
        )
    }

    /// The hash of a change of a chain, which is as a fork leaves it.
    package func hash(of sequence: UInt64, on number: Int) -> Hash256 {
        self.chains[number].map { $0.hashes[Int(sequence) - 1] } ?? .zero
    }

    /// Parcels for devices that nobody knows, each of another time: to the carrier they are different ones.
    func parcels(_ count: Int, forEach recipientCount: Int) throws -> [Message] {
        let recipients = (0..<recipientCount).map { number in
            (device: DeviceID(bytes: Bytes32(0, 0, 7, UInt64(number))), key: self.device.staticKey)
        }
        let sealed = Parcel.sealing(
            [],
            for: recipients,
            from: self.identity.device,
            at: MeasuredDevice.start,
            entropy: &self.entropy
        )
        guard var parcel = sealed else { throw MeasuredDevice.Failure(description: "no parcel") }
        return (0..<count).map { _ in
            parcel.time = parcel.time.advanced(byMilliseconds: 1)
            return .parcel(parcel)
        }
    }

    func unknownReplica() -> ReplicaID { ReplicaID(bytes: Bytes16(high: self.random.next(), low: 7)) }

    var user: UserID { self.identity.user }

    /// What shows whose device it is.
    var introduction: Introduction { self.identity.introduction(nonce: Bytes16(high: 0, low: 0)) }

    /// Under which the device that is measured writes.
    var deviceReplica: ReplicaID { self.device.replica ?? self.unknownReplica() }

    func randomBytes(_ count: Int) -> [UInt8] { self.entropy.bytes(count) }
}
