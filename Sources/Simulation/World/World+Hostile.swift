internal import CRDTCore
internal import Engine
internal import SyncProtocol

/// Members that do not keep to the protocol.
extension World {
    /// Between two bytes of someone who sends one at a time.
    private static let dawdlingPause = VirtualTime.milliseconds(400)
    /// Between two visits of a hostile member that goes on after the core was healed.
    private static let visitInterval = VirtualTime.seconds(7)
    /// How many false probes a session answers.
    private static let probeCountMax = 300

    /// Whether a machine, or another with its keys, has turned: what it wrote is not answered for.
    func isHostile(_ machine: Machine) -> Bool {
        self.machines.contains { $0.hostile != nil && $0.device == machine.device }
    }

    package func perform(_ action: HostileAction, of machine: Machine, to victim: Machine) {
        guard let member = self.turn(machine) else { return }
        self.record.count(action.fault)
        let change: HostileChange
        switch action {
        case .stay:
            member.stays = true
            return
        case .replay, .withhold, .claim, .garble, .dawdle, .flood, .spoil:
            member.manner = action
            self.visit(victim, member, .perform(action))
            return
        case .declare(let chain, let peer, let role):
            guard let user = self.machine(peer)?.user else { return }
            let stamp = member.nextStamp(on: chain, at: self.time)
            let statement = member.statement(role, about: user, on: chain)
            member.extend(chain, [HostileDraft(stamp: stamp, edits: [statement])], opening: stamp)
            self.visit(victim, member, .perform(action))
            return
        case .fork, .restamp, .reverse:
            self.visit(victim, member, .perform(action))
            return
        case .write(let plain), .name(let plain), .orphan(let plain), .stampAhead(let plain, _), .backdate(let plain),
            .equivocate(let plain, _, _, _):
            change = plain
        }
        let stamp = member.nextStamp(on: change.chain, at: self.time)
        var draft = HostileDraft(stamp: stamp, edits: change.step.hostileEdits)
        switch action {
        case .orphan:
            let name = ChangeName(member.inventedHash())
            draft.context = [Point(replica: member.inventedReplica(), sequence: 1, name: name)]
        case .stampAhead(_, let milliseconds): draft.stamp = self.stamp(ahead: milliseconds)
        case .backdate:
            draft.stamp = Stamp(milliseconds: stamp.milliseconds - min(stamp.milliseconds, 60_000))
            draft.context = member.heads(besides: change.chain)
        case .name: draft.context = member.heads(besides: change.chain)
        default: break
        }
        if case .equivocate(_, let other, let step, let back) = action {
            self.equivocate(member, change, step, other: other, back: back)
        } else {
            member.extend(change.chain, [draft], opening: stamp)
        }
        self.visit(victim, member, .perform(action))
    }

    private func stamp(ahead milliseconds: UInt64?) -> Stamp {
        guard let milliseconds else { return Stamp(rawValue: .max) }
        return Stamp(milliseconds: MachineClock.epochMilliseconds + self.time.milliseconds + milliseconds)
    }

    /// Writes one change to a chain, and sends another peer a chain that is longer and parts from it.
    private func equivocate(
        _ member: HostileMember,
        _ change: HostileChange,
        _ step: WorkStep,
        other: Int,
        back: Int
    ) {
        let stamp = member.nextStamp(on: change.chain, at: self.time)
        let last = member.chains[change.chain]?.lastSequence ?? 0
        let start = last > UInt64(back) ? last - UInt64(back) : last
        var drafts: [HostileDraft] = []
        for _ in 0...(last - start) { drafts.append(HostileDraft(stamp: stamp, edits: step.hostileEdits)) }
        let variant =
            member.sign(drafts, on: change.chain, after: start, opening: stamp)
            ?? member.sign([drafts[0]], on: change.chain, opening: stamp)
        let before = variant.map { member.wholeChain(change.chain, upTo: $0.run.firstSequence - 1) } ?? []
        member.extend(change.chain, [HostileDraft(stamp: stamp, edits: change.step.hostileEdits)], opening: stamp)
        guard let variant, other != member.machine.number else { return }
        var run = variant.run
        if self.tape.chance(50, .network) { run.previous = ChangeName(variant.previous) }
        self.visit(self.machines[other], member, .deliver(before + [run]))
    }

    /// A machine stops keeping to the protocol; nil if it does not run.
    private func turn(_ machine: Machine) -> HostileMember? {
        if let member = machine.hostile { return machine.isUp ? member : nil }
        guard machine.isUp else { return nil }
        let member = HostileMember(machine, seed: self.tape.seed())
        self.oracles.acknowledged.holderIsGone(machine, self.machines)
        machine.hostile = member
        machine.alarm = nil
        for wire in self.wires where wire.ends.contains(where: { $0.machine == machine.number }) { self.reset(wire) }
        return member
    }

    // MARK: - Visits

    private func visit(_ victim: Machine, _ member: HostileMember, _ errand: HostileSession.Errand) {
        guard member.machine.isUp, victim !== member.machine else { return }
        if case .perform(.spoil(.redacted, _)) = errand { self.hasWithheld = true }
        if case .perform(.flood(.erased, _)) = errand { self.hasWithheld = true }
        let connection = self.newConnection()
        guard member.dial(victim, connection, errand) != nil else { return }
        self.dial(connection, NetworkAddress(host: victim.host, port: Machine.port), from: member.machine)
    }

    /// Those who stay go on without writing anything new.
    func keepVisiting(_ machine: Machine) {
        guard let member = machine.hostile, machine.isUp else { return }
        let others = self.machines.filter { $0 !== machine && $0.isUp }
        if !others.isEmpty {
            let victim = others[member.random.below(others.count)]
            let actions: [HostileAction] = [
                .withhold, .claim, .garble(seed: member.random.below(1 << 20)), .dawdle,
                .flood(.pings, count: 20), .flood(.announcements, count: 3), .flood(.frontiers, count: 3),
                .flood(.probes, count: 2),
                .spoil(.redacted, HostileChange(chain: 0, step: .set(0, property: 0))),
            ]
            member.manner = actions[member.random.below(actions.count)]
            self.visit(victim, member, .perform(member.manner))
        }
        self.schedule(after: World.visitInterval) { $0.keepVisiting(machine) }
    }

    // MARK: - What reaches it

    func hear(_ event: Event, _ member: HostileMember) {
        switch event {
        case .accepted(let id, let address):
            guard let victim = self.machines.first(where: { $0.host == address.host }) else { return }
            member.answer(victim.number, id)
        case .connected(let id):
            if let session = member.sessions[id] { self.send(session.firstBytes, on: id, of: member.machine) }
        case .received(let id, let bytes):
            guard let session = member.sessions[id] else { return }
            let output = member.receive(bytes, on: session, at: self.time)
            if !output.bytes.isEmpty { self.send(output.bytes, on: id, of: member.machine) }
            for event in output.events { self.hear(event, session, member) }
        case .dialFailed(let id), .closed(let id): member.forget(id)
        case .flushed, .write, .restamp, .introduce, .beacon, .addAddress, .dialAll, .takePart, .withdraw,
            .databaseChanged, .timer:
            break
        }
    }

    private func hear(_ event: PeerLink.LinkEvent, _ session: HostileSession, _ member: HostileMember) {
        switch event {
        case .established: self.sayHello(session, member)
        case .message(.hello, _):
            guard !session.isGreeted else { return }
            session.isGreeted = true
            self.record.mark(.hostileSessionStood)
            self.say(session, member)
        case .message(.ranges(let claims), _):
            let answer = session.comparison.answer(claims, session.pretence, member.cryptography)
            if !answer.reply.isEmpty { self.say(.ranges(answer.reply), session, member) }
        case .message(.run, let byteCount): self.say(.credit(UInt64(byteCount)), session, member)
        case .message(.ping(let number), _): self.say(.pong(number), session, member)
        case .message(.probe(let probe), _):
            session.probeCount += 1
            guard session.probeCount <= World.probeCountMax else { return }
            // It holds none of them, or all, or something else.
            let claimed: FrontierEntry
            switch member.random.below(3) {
            case 0: claimed = FrontierEntry(replica: probe.replica, sequence: 0, hash: .zero)
            case 1:
                let last = probe.points[probe.points.count - 1]
                claimed = FrontierEntry(replica: probe.replica, sequence: last.sequence, hash: last.hash)
            default:
                let sequence = probe.points[0].sequence + 1
                claimed = FrontierEntry(replica: probe.replica, sequence: sequence, hash: member.inventedHash())
            }
            self.say(.stored([claimed]), session, member)
        case .message, .invited: break
        case .ended:
            member.forget(session.connection)
            self.close(session.connection, afterFlush: false, of: member.machine)
        }
    }

    // MARK: - What it says

    private func sayHello(_ session: HostileSession, _ member: HostileMember) {
        let victim = self.machines[session.victim]
        let found = victim.look { transaction throws(StoreError) in try Frontier(of: &transaction) }
        session.pretence = member.pretence(for: session.action, victim: found ?? Frontier())
        if session.link.greeting == .member {
            self.say(.member(member.identity.introduction(nonce: Bytes16(high: 0, low: 0))), session, member)
        }
        let proof = HandshakeProof.message(
            handshakeHash: session.link.handshakeHash,
            isDialler: session.isDialled
        )
        let hello = Hello(
            deviceStart: member.identity.device.start,
            instance: 0,
            wallTime: member.machine.clock.wall(at: self.time),
            port: Machine.port,
            fingerprint: Frontier.fingerprint(session.pretence.entries, member.cryptography),
            proof: member.cryptography.signature(of: proof, by: member.identity.signingKey)
        )
        self.say(.hello(hello), session, member)
        if session.isDialled {
            self.say(.ranges(session.comparison.opening(session.pretence, member.cryptography)), session, member)
        }
    }

    private func say(_ session: HostileSession, _ member: HostileMember) {
        let utterances: [HostileMember.Utterance]
        switch session.errand {
        case .deliver(let runs): utterances = runs.map { .message(.run($0)) }
        case .perform(let action):
            utterances = member.speech(for: action, on: session, at: self.time)
            if action.isDeaf { member.machine.connections[session.connection]?.isDeaf = true }
        }
        for utterance in utterances {
            switch utterance {
            case .message(let message): self.say(message, session, member)
            case .sealed(let bytes):
                let record = session.link.seal(encoded: bytes, now: self.time.milliseconds)
                self.send(record, on: session.connection, of: member.machine)
            case .raw(let bytes): self.send(bytes, on: session.connection, of: member.machine)
            case .slowly(let bytes):
                let record = session.link.seal(encoded: bytes, now: self.time.milliseconds)
                self.sayOn(record, session.connection, of: member.machine)
            }
        }
    }

    private func say(_ message: Message, _ session: HostileSession, _ member: HostileMember) {
        session.lastRecord = session.link.seal(message, now: self.time.milliseconds)
        self.send(session.lastRecord, on: session.connection, of: member.machine)
    }

    /// Sends the next byte, and the others later.
    func sayOn(_ bytes: [UInt8], _ connection: ConnectionID, of machine: Machine) {
        guard let first = bytes.first, machine.connections[connection] != nil else { return }
        self.send([first], on: connection, of: machine)
        self.schedule(after: World.dawdlingPause) { $0.sayOn(Array(bytes.dropFirst()), connection, of: machine) }
    }
}

extension HostileAction {
    /// Whether nothing of what is answered is taken.
    var isDeaf: Bool {
        switch self {
        case .dawdle, .flood(.pings, _), .flood(.probes, _): true
        default: false
        }
    }

    /// The fault it is an occurrence of.
    package var fault: Fault {
        switch self {
        case .write, .name: .hostileWrite
        case .equivocate: .equivocation
        case .replay: .replayedChanges
        case .withhold: .withheldChanges
        case .claim: .falseHeads
        case .orphan: .missingDependency
        case .stampAhead: .hostileStamp
        case .backdate: .backdating
        case .fork: .repeatedForks
        case .restamp: .hostileRestamp
        case .reverse: .hostileReversal
        case .spoil: .spoiledRun
        case .declare: .hostileWrite
        case .garble: .malformedMessage
        case .dawdle: .slowMember
        case .flood: .flood
        case .stay: .hostileStays
        }
    }
}
