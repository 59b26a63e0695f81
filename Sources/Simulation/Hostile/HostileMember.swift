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
    var chains: [HostileChainName: HostileChain] = [:]
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

    /// The same of one circle.
    private func frontier(within circle: Circle) -> Frontier {
        let found = self.machine.look { transaction throws(StoreError) -> Frontier? in
            guard let index = transaction.circles.index(of: circle) else { return nil }
            return try Frontier(of: &transaction, within: CircleScope([index]))
        }
        return found ?? Frontier()
    }

    /// What that was, as a context of another of its chains names it.
    func heads(besides chain: HostileChainName) -> [Point] {
        let circle = self.circle(of: chain)
        return self.frontier(within: circle).entries
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
    private func chain(_ name: HostileChainName) -> HostileChain {
        if let chain = self.chains[name] { return chain }
        if name == 0, let status = self.machine.observedStatus(at: .zero), let replica = status.replica,
            let (record, stamp) = self.record(of: replica)
        {
            return HostileChain(continuing: record, stampedAt: stamp)
        }
        let nonce = Bytes16(high: self.entropy.nextUInt64(), low: self.entropy.nextUInt64())
        let circle = self.circle(of: name)
        let replica = ReplicaID(device: self.identity.device, nonce: nonce, circle: circle, self.cryptography)
        return HostileChain(replica: replica, nonce: nonce, origin: self.identity.origin)
    }

    /// The circle that a chain is in.
    func circle(of name: HostileChainName) -> Circle {
        guard let number = name.object else { return .home }
        return self.machine.look { transaction throws(StoreError) -> Circle? in
            guard let object = try transaction.existingObjectIndex(of: Workload.object(number)) else { return nil }
            return transaction.circles[try transaction.object(object).circle]
        } ?? .home
    }

    /// What it introduces itself with on a chain: there it names all that it was ever granted.
    private func introduction(_ nonce: Bytes16, on name: HostileChainName) -> Introduction {
        let circle = self.circle(of: name)
        let author = self.machine.author
        let grants = self.machine.look { transaction throws(StoreError) -> [StatementID] in
            guard let index = transaction.circles.index(of: circle) else { return [] }
            let places = transaction.rights.rights(in: index)?.standingGrants(to: author) ?? []
            var grants: [StatementID] = []
            for place in places { if let grant = try transaction.statementID(at: place) { grants.append(grant) } }
            return grants
        }
        return self.identity.introduction(nonce: nonce, circle: circle, under: grants ?? [])
    }

    /// What it says of somebody: that he has a role, or none.
    func statement(_ role: Role?, about user: UserID, on name: HostileChainName) -> Edit {
        guard let role else { return .rights(.removes(.init(of: user, from: Set(Role.allCases)))) }
        let circle = self.circle(of: name)
        let despite = self.machine.look { transaction throws(StoreError) -> [StatementID] in
            guard let index = transaction.circles.index(of: circle) else { return [] }
            var removals: [StatementID] = []
            for place in transaction.rights.rights(in: index)?.standingRemovals(of: user) ?? [] {
                if let removal = try transaction.statementID(at: place) { removals.append(removal) }
            }
            return removals
        }
        return .rights(.grants(.init(to: user, role, despite: despite ?? [])))
    }

    /// The stamp of what is written next if nothing is wrong with it.
    func nextStamp(on name: HostileChainName, at time: VirtualTime) -> Stamp {
        let wall = self.machine.clock.wall(at: time)
        let last = self.chains[name]?.lastStamp ?? self.chain(name).lastStamp
        return max(Stamp(milliseconds: wall.milliseconds), last.successor ?? last)
    }

    /// Signs changes that follow a sequence of a chain; if they begin it, after an introduction stamped `opening`.
    ///
    /// `fork`: a run of that chain, which they follow in its place. The chain itself is as it was; nil if it does not
    /// reach so far back.
    func sign(
        _ drafts: [HostileDraft],
        on name: HostileChainName,
        after sequence: UInt64? = nil,
        fork: VerifiedRun? = nil,
        opening: Stamp
    ) -> VerifiedRun? {
        let chain = self.chain(name)
        self.chains[name] = chain
        let base = fork?.run.lastSequence ?? sequence ?? chain.lastSequence
        guard let previous = fork?.hashes.last ?? chain.hash(at: base) else { return nil }
        var builder = RunBuilder(replica: chain.replica, firstSequence: base + 1)
        if base == 0, let nonce = chain.nonce {
            builder.beginChange(stamp: opening, context: [], blinding: self.entropy.bytes(16))
            builder.append(.introduce(self.introduction(nonce, on: name)))
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
    func extend(_ name: HostileChainName, _ drafts: [HostileDraft], opening: Stamp) {
        guard let run = self.sign(drafts, on: name, opening: opening), let stamp = run.run.changes.last?.stamp else {
            return
        }
        self.chains[name]?.append(run, stamp: stamp)
    }

    /// All of a chain up to a sequence, as it was written.
    func wholeChain(_ name: HostileChainName, upTo last: UInt64 = .max) -> [Run] {
        guard let chain = self.chains[name] else { return [] }
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
