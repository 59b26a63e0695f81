internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import Persistence
internal import SyncProtocol

/// A member that holds valid keys, was paired, and does not keep to the protocol.
///
/// It takes the place of the node on a machine: the node stays as it was when its machine turned, for what it knows.
/// What it says goes through the production handshake, records, messages, runs and signatures.
final class HostileMember {
    unowned let machine: Machine
    let identity: DeviceIdentity
    let cryptography = SodiumCryptography()
    var random: LossGenerator
    private var entropy: EntropyStream
    private(set) var sessions: [ConnectionID: HostileSession] = [:]
    var chains: [Int: HostileChain] = [:]
    /// Whether it goes on when the core is healed.
    var stays = false
    /// What it does to those who come to it.
    var manner = HostileAction.withhold

    init(_ machine: Machine, seed: UInt64) {
        self.machine = machine
        self.identity = machine.identity
        self.random = LossGenerator(seed: seed)
        self.entropy = EntropyStream.from(seed)
    }

    /// What others may call it: by its name, or by its key as long as they have not heard that.
    var names: [String] { [self.identity.name, "device \(self.identity.device.description.prefix(8))"] }

    // MARK: - Sessions

    /// A session that dials a victim; nil if the victim's key is not known here.
    func dial(_ victim: Machine, _ connection: ConnectionID, _ errand: HostileSession.Errand) -> HostileSession? {
        let key = victim.identity.publicStaticKey
        guard let ephemeral = self.ephemeral(),
            let start = PeerLink.dialling(key, own: self.identity.staticKey, ephemeral: ephemeral)
        else { return nil }
        let bytes = start.bytes
        let session = HostileSession(
            connection,
            with: victim.number,
            isDialled: true,
            link: start.takeLink(),
            firstBytes: bytes,
            errand: errand
        )
        self.sessions[connection] = session
        return session
    }

    func answer(_ victim: Int, _ connection: ConnectionID) {
        self.sessions[connection] = HostileSession(
            connection,
            with: victim,
            isDialled: false,
            link: .answering(ownStatic: self.identity.publicStaticKey),
            firstBytes: [],
            errand: .perform(self.manner)
        )
    }

    func forget(_ connection: ConnectionID) { self.sessions[connection] = nil }

    func receive(_ bytes: [UInt8], on session: HostileSession, at time: VirtualTime) -> PeerLink.Output {
        session.link.receive(
            bytes,
            own: self.identity.staticKey,
            authority: Anyone(membershipKey: self.identity.membershipKey.duplicate()),
            now: time.milliseconds
        ) { self.ephemeral() }
    }

    private func ephemeral() -> AgreementKey? { AgreementKey(seed: self.entropy.secret(32)) }

    // MARK: - What it knows

    /// What its store held when it turned.
    func frontier() -> Frontier {
        self.machine.look { transaction throws(StoreError) in try Frontier(of: &transaction) } ?? Frontier()
    }

    /// What that was, as a context of another of its chains names it.
    func heads(besides chain: Int) -> [Point] {
        self.frontier().entries
            .filter { $0.sequence > 0 && $0.replica != self.chains[chain]?.replica }
            .map { Point(replica: $0.replica, sequence: $0.sequence, name: ChangeName($0.hash)) }
    }

    /// The stored runs of a replica: of all its forks, or of the first segment up to a sequence.
    func storedRuns(of replica: ReplicaID, upTo last: UInt64? = nil) -> [Run] {
        self.machine.look { transaction throws(StoreError) -> [Run] in
            var runs: [Run] = []
            for index in transaction.segments(of: replica).prefix(last == nil ? .max : 1) {
                var next = transaction.segment(index).firstSequence
                while next <= last ?? .max,
                    let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: true)
                {
                    runs.append(run)
                    next = run.lastSequence + 1
                }
            }
            return runs
        } ?? []
    }

    /// The first segment of a replica, and its last stamp; nil if it is not there or has forked.
    private func record(of replica: ReplicaID) -> (SegmentRecord, Stamp)? {
        self.machine.look { transaction throws(StoreError) -> (SegmentRecord, Stamp)? in
            guard let index = transaction.firstSegment(of: replica) else { return nil }
            let record = transaction.segment(index)
            let last = SegmentPoint(segment: index, sequence: record.storedSequence)
            guard record.next == nil, let header = try transaction.header(at: last) else { return nil }
            return (record, header.stamp)
        }
    }

    // MARK: - Writing

    /// The chain with a number: number 0 is the one it wrote when it turned.
    private func chain(_ number: Int) -> HostileChain {
        if let chain = self.chains[number] { return chain }
        if number == 0, let status = self.machine.observedStatus(at: .zero), let replica = status.replica,
            let (record, stamp) = self.record(of: replica)
        {
            return HostileChain(continuing: record, stampedAt: stamp)
        }
        let nonce = Bytes16(high: self.entropy.nextUInt64(), low: self.entropy.nextUInt64())
        let replica = ReplicaID(device: self.identity.device, nonce: nonce, self.cryptography)
        return HostileChain(replica: replica, nonce: nonce, origin: self.identity.origin)
    }

    /// The stamp of what is written next if nothing is wrong with it.
    func nextStamp(on number: Int, at time: VirtualTime) -> Stamp {
        let wall = self.machine.clock.wall(at: time)
        let last = self.chains[number]?.lastStamp ?? self.chain(number).lastStamp
        return max(Stamp(milliseconds: wall.milliseconds), last.successor ?? last)
    }

    /// Signs changes that follow a sequence of a chain; if they begin it, after an introduction stamped `opening`.
    ///
    /// `fork`: a run of that chain, which they follow in its place. The chain itself is as it was; nil if it does not
    /// reach so far back.
    func sign(
        _ drafts: [HostileDraft],
        on number: Int,
        after sequence: UInt64? = nil,
        fork: VerifiedRun? = nil,
        opening: Stamp
    ) -> VerifiedRun? {
        let chain = self.chain(number)
        self.chains[number] = chain
        let base = fork?.run.lastSequence ?? sequence ?? chain.lastSequence
        guard let previous = fork?.hashes.last ?? chain.hash(at: base) else { return nil }
        var builder = RunBuilder(replica: chain.replica, firstSequence: base + 1)
        if base == 0, let nonce = chain.nonce {
            builder.beginChange(stamp: opening, context: [], blinding: self.entropy.bytes(16))
            builder.append(.introduce(self.identity.introduction(nonce: nonce)))
        }
        var last = base == 0 ? opening : nil
        for draft in drafts {
            // Two changes with one stamp would be back-dated.
            let stamp = draft.stamp == last ? draft.stamp.successor ?? draft.stamp : draft.stamp
            builder.beginChange(stamp: stamp, context: draft.context.sorted(), blinding: self.entropy.bytes(16))
            for edit in draft.edits { builder.append(edit) }
            last = stamp
        }
        return VerifiedRun.sealUnchecked(builder, previous: previous, self.cryptography) { message in
            self.identity.signingKey.signature(of: message)
        }
    }

    /// Signs changes and keeps them as the end of a chain.
    func extend(_ number: Int, _ drafts: [HostileDraft], opening: Stamp) {
        guard let run = self.sign(drafts, on: number, opening: opening), let stamp = run.run.changes.last?.stamp else {
            return
        }
        self.chains[number]?.append(run, stamp: stamp)
    }

    /// All of a chain up to a sequence, as it was written.
    func wholeChain(_ number: Int, upTo last: UInt64 = .max) -> [Run] {
        guard let chain = self.chains[number] else { return [] }
        let stored = self.storedRuns(of: chain.replica, upTo: min(last, chain.firstOwnSequence - 1))
        return stored + chain.runs.map(\.run).filter { $0.firstSequence <= last }
    }

    /// A replica that does not exist.
    func inventedReplica() -> ReplicaID {
        ReplicaID(bytes: Bytes16(high: self.entropy.nextUInt64(), low: self.entropy.nextUInt64()))
    }

    func inventedHash() -> Hash256 {
        Hash256(bytes: Bytes32(self.entropy.bytes(32)) ?? Bytes32(1, 2, 3, 4))
    }

    func randomBytes(_ count: Int) -> [UInt8] { self.entropy.bytes(count) }
}
