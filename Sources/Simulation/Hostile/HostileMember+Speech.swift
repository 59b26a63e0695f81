internal import CRDTCore
internal import Engine
internal import SyncProtocol

/// What a hostile member says once its victim has said hello.
extension HostileMember {
    /// What goes over a session, in this order.
    enum Utterance {
        case message(Message)
        /// Sealed as if it were a message.
        case sealed([UInt8])
        /// Sent as it is.
        case raw([UInt8])
        /// One byte after the other.
        case slowly([UInt8])
    }

    /// The most changes of a flood in one run.
    private static let runChangeCount = 50
    /// Kinds of messages there are, from 1 on.
    private static let messageKindCount = MessageKind.allCases.count

    /// What the hello claims to be the frontier.
    func pretence(for action: HostileAction?, victim: Frontier) -> Frontier {
        let own = self.frontier()
        switch action {
        case .withhold:
            // It would have had to write more itself, and to have heard more of others.
            return Frontier(
                own.entries.map { entry in
                    FrontierEntry(replica: entry.replica, sequence: entry.sequence + 7, hash: self.inventedHash())
                } + [self.inventedEntry(3)]
            )
        case .claim:
            return Frontier(
                victim.entries.flatMap { entry in
                    let further = entry.sequence + (self.random.below(2) == 0 ? 2 : 0)
                    // Some have another fork besides.
                    let fork = FrontierEntry(replica: entry.replica, sequence: further, hash: self.inventedHash())
                    return self.random.below(4) == 0 ? [entry, fork] : [fork]
                } + (0..<20).map { _ in self.inventedEntry(UInt64(self.random.below(1_000))) }
            )
        default: return own
        }
    }

    private func inventedEntry(_ sequence: UInt64) -> FrontierEntry {
        FrontierEntry(replica: self.inventedReplica(), sequence: sequence, hash: self.inventedHash())
    }

    /// What is said for an action.
    func speech(for action: HostileAction, on session: HostileSession, at time: VirtualTime) -> [Utterance] {
        switch action {
        case .write(let change), .name(let change), .equivocate(let change, _, _, _), .orphan(let change),
            .stampAhead(let change, _), .backdate(let change):
            return self.wholeChain(change.chain).map { .message(.run($0)) }
        case .declare(let chain, _, _): return self.wholeChain(chain).map { .message(.run($0)) }
        case .fork(let change, let count): return self.forks(change, count, at: time)
        case .restamp(let isOwn, let count): return self.restamps(isOwn, count, at: time)
        case .reverse: return self.reversals(at: time)
        case .replay: return self.replay(session)
        case .withhold, .stay: return []
        case .claim:
            let further = session.pretence.entries.map { entry in
                FrontierEntry(replica: entry.replica, sequence: entry.sequence + 9, hash: self.inventedHash())
            }
            return [.message(.stored(further)), .message(.eagerness(false))] + self.inventedState().map { .message($0) }
        case .spoil(let spoiling, let change): return self.spoiled(spoiling, change, at: time)
        case .garble(let seed): return self.garbled(seed)
        case .dawdle:
            let entries = Message.stored(self.inventedEntries(3))
            return [.slowly(Message.ping(WallTime(milliseconds: 1 << 40)).encoded() + entries.encoded())]
        case .flood(let flooding, let count): return self.flood(flooding, count, at: time)
        }
    }

    /// Another state of what everybody has.
    private func inventedState() -> [Message] {
        let frontier = Frontier.fingerprint(self.frontier().entries, self.cryptography)
        let sums = (0..<SettledDigest.groupCount).map { _ in UInt64(self.random.below(1 << 30)) }
        let groups = Array(0..<MessageLimits.listedGroupCountMax)
        return [
            .state(StateClaim(frontier: frontier, root: self.inventedHash())),
            .sums(StateSums(frontier: frontier, sums: sums)),
            .objects(StateObjects(frontier: frontier, groups: groups, objects: [])),
        ]
    }

    private func inventedEntries(_ count: Int) -> [FrontierEntry] {
        (0..<count).map { self.inventedEntry(UInt64($0) + 1) }
    }

    // MARK: - Old things

    private func replay(_ session: HostileSession) -> [Utterance] {
        let runs = self.storedRuns()
        var utterances = (runs + runs.reversed()).map { Utterance.message(.run($0)) }
        switch self.random.below(3) {
        case 0: utterances.append(.raw(session.lastRecord))
        case 1: utterances += self.machine.recording.map { .raw($0) }
        default: break
        }
        return utterances
    }

    // MARK: - Spoiled runs

    private func spoiled(_ spoiling: Spoiling, _ change: HostileChange, at time: VirtualTime) -> [Utterance] {
        let stamp = self.nextStamp(on: change.chain, at: time)
        let drafts = [HostileDraft(stamp: stamp, edits: change.step.hostileEdits)]
        guard var run = self.sign(drafts + drafts, on: change.chain, opening: stamp)?.run else { return [] }
        let before = self.wholeChain(change.chain).map { Utterance.message(.run($0)) }
        switch spoiling {
        case .flippedPayload:
            guard !run.payload.isEmpty else { return [] }
            run.payload[run.payload.count - 1] ^= 1
        case .wrongSignature: run.signature = Signature(self.randomBytes(Signature.byteCount))
        case .noSignature: run.signature = nil
        case .truncated:
            run.operations.removeLast(Int(run.changes.removeLast().operationCount))
        case .gap: run.firstSequence += 1
        case .foreignChain:
            guard let other = self.frontier().entries.first(where: { $0.replica != run.replica }) else { return [] }
            run.replica = other.replica
            run.firstSequence = other.sequence + 1
        case .redacted: return self.redactedRuns { _ in true }.map { .message(.run($0)) }
        case .partlyRedacted: return self.redactedRuns { _ in self.random.below(2) == 0 }.map { .message(.run($0)) }
        case .otherKinds: return self.storedRuns().map { .message(.run(self.redactingOtherKinds(of: $0))) }
        case .renamed:
            return self.redactedRuns { _ in true }.map { run in
                var run = run
                for position in run.operations.indices where run.operations[position].kind == .redacted {
                    let next = run.operations[position].operand + 1
                    run.operations[position].operand = next % UInt32(run.names.count)
                }
                return .message(.run(run))
            }
        }
        return before + [.message(.run(run))]
    }

    /// The same with what is written redacted.
    private func redactedRuns(where isRedacted: (Int) -> Bool) -> [Run] {
        self.storedRuns().map { run in
            run.erasing(Set(run.operations.indices.filter(isRedacted)), self.cryptography)?.run ?? run
        }
    }

    /// The same with creations, moves and deletions declared to be writes that are redacted, where a change has no
    /// write: one hash stands for what it would have written.
    private func redactingOtherKinds(of run: Run) -> Run {
        var builder = RunBuilder(replica: run.replica, firstSequence: run.firstSequence, previous: run.previous)
        for change in run.changes {
            let edits = run.operations[change.operationRange].compactMap { try? run.edit($0) }
            let objects = edits.compactMap(\.object)
            let isRedacted = objects.count == edits.count && !edits.contains(where: \.kind.isWrite)
            builder.beginChange(
                stamp: change.stamp,
                context: run.contextEntries[change.contextRange],
                blinding: isRedacted
                    ? ChainHash.contents(of: change, in: run, self.cryptography).array[...] : run.blinding(of: change),
                redaction: isRedacted ? .whole : change.redaction
            )
            if isRedacted {
                for object in objects { builder.append(.redacted(object, name: "title", leaf: nil)) }
            } else {
                for edit in edits { builder.append(edit) }
            }
        }
        return builder.signed(run.signature)
    }

    /// Everything that its store held when it turned.
    private func storedRuns() -> [Run] {
        var replicas: [ReplicaID] = []
        for entry in self.frontier().entries where entry.replica != replicas.last { replicas.append(entry.replica) }
        return replicas.flatMap { self.storedRuns(of: $0) }
    }

    // MARK: - Forks and restamps

    /// A chain, and forks that part from it or from each other one after another.
    private func forks(_ change: HostileChange, _ count: Int, at time: VirtualTime) -> [Utterance] {
        let stamp = self.nextStamp(on: change.chain, at: time)
        let draft = HostileDraft(stamp: stamp, edits: change.step.hostileEdits)
        self.extend(change.chain, [draft], opening: stamp)
        guard let last = self.chains[change.chain]?.lastSequence else { return [] }
        var runs = self.wholeChain(change.chain)
        var fork: VerifiedRun?
        for number in 0..<count {
            // Every third goes on from the fork before it.
            let parent = number % 3 == 2 ? fork : nil
            let base = last - UInt64(self.random.below(Int(min(last, 4))))
            var other = draft
            other.stamp = Stamp(rawValue: draft.stamp.rawValue &+ UInt64(number + 1))
            fork = self.sign([other, other], on: change.chain, after: base, fork: parent, opening: stamp)
            if var run = fork?.run {
                run.previous = fork.map { ChangeName($0.previous) }
                runs.append(run)
            }
        }
        return runs.map { .message(.run($0)) }
    }

    /// Changes that say nothing but that others are to be stamped again.
    private func restamps(_ isOwn: Bool, _ count: Int, at time: VirtualTime) -> [Utterance] {
        let entries = self.frontier().entries.filter { !isOwn || $0.replica == self.chains[0]?.replica }
        for _ in 0..<count {
            let stamp = self.nextStamp(on: 0, at: time)
            var edits: [Edit] = []
            if let chain = self.chains[0], chain.lastSequence > 0 {
                edits.append(.restamp(self.restamp(chain.replica, through: chain.lastSequence, chain.lastHash)))
            }
            for entry in entries where entry.sequence > 0 && self.random.below(2) == 0 {
                let isTrue = self.random.below(4) > 0
                let hash = isTrue ? entry.hash : self.inventedHash()
                edits.append(.restamp(self.restamp(entry.replica, through: entry.sequence, hash)))
            }
            self.extend(0, [HostileDraft(stamp: stamp, edits: edits)], opening: stamp)
        }
        return self.wholeChain(0).map { .message(.run($0)) }
    }

    /// A change for each chain of others, which says that the last change there is taken back, and edits nothing.
    private func reversals(at time: VirtualTime) -> [Utterance] {
        for entry in self.frontier().entries where entry.sequence > 0 && entry.replica != self.chains[0]?.replica {
            let target = NamedChange(replica: entry.replica, sequence: entry.sequence, hash: entry.hash)
            let undo = Undo(target: target, isRedo: false, scope: UndoScope(device: nil, label: nil))
            let stamp = self.nextStamp(on: 0, at: time)
            let seen = Point(replica: entry.replica, sequence: entry.sequence, name: ChangeName(entry.hash))
            self.extend(0, [HostileDraft(stamp: stamp, context: [seen], edits: [.undo(undo)])], opening: stamp)
        }
        return self.wholeChain(0).map { .message(.run($0)) }
    }

    private func restamp(_ replica: ReplicaID, through last: UInt64, _ hash: Hash256) -> Restamp {
        let first = 1 + UInt64(self.random.below(Int(clamping: last)))
        return Restamp(replica: replica, firstSequence: first, lastSequence: last, lastHash: hash)
    }

    // MARK: - What is no message

    private func garbled(_ seed: Int) -> [Utterance] {
        var random = LossGenerator(seed: UInt64(seed))
        let kind = UInt8(1 + random.below(Self.messageKindCount))
        switch random.below(5) {
        case 0: return [.sealed(random.bytes(1 + random.below(200)))]
        case 1:
            // A kind that exists, with a length no message of it may have.
            return [.sealed([kind, 0xff, 0xff, 0xff, 0xff, 0x7f])]
        case 2: return [.sealed([kind, 0x80, 0x80, 0x00])]
        case 3: return [.sealed([UInt8(Self.messageKindCount + 1 + random.below(200)), 0])]
        default:
            // A true message, changed or cut short.
            var bytes = Message.stored(self.inventedEntries(4)).encoded()
            bytes[2 + random.below(bytes.count - 2)] ^= UInt8(1 << random.below(8))
            return [.sealed(bytes), .sealed(Array(Message.ping(nil).encoded().dropLast())), .sealed([0])]
        }
    }

    // MARK: - Too much

    private func flood(_ flooding: Flooding, _ count: Int, at time: VirtualTime) -> [Utterance] {
        switch flooding {
        case .pings: return (0..<count * 20).map { .message(.ping(WallTime(milliseconds: UInt64($0) << 30))) }
        case .probes:
            let entries = self.frontier().entries
            guard let longest = entries.max(by: { ($0.sequence, $0.replica) < ($1.sequence, $1.replica) }) else {
                return []
            }
            let points = [
                ChainPoint(sequence: longest.sequence, hash: longest.hash),
                ChainPoint(sequence: longest.sequence + 1, hash: self.inventedHash()),
            ]
            let probe = ChainProbe(replica: longest.replica, points: points)
            return (0..<count * 20).map { _ in .message(.probe(probe)) }
        case .frontiers:
            return (0..<count).map { _ in
                let entries = (0..<200).map { _ in self.inventedEntry(1) }.sorted { $0.replica < $1.replica }
                return .message(.ranges([FrontierRange(end: nil, claim: .entries(entries))]))
            }
        case .announcements: return (0..<count).map { _ in .message(.stored(self.inventedEntries(200))) }
        case .replicas:
            return (0..<count).flatMap { self.writtenFlood(chain: HostileChainName(1_000 + $0), 1, [], [], at: time) }
        case .contexts:
            let context = (0..<count * 10).map { number in
                let name = ChangeName(self.inventedHash())
                return Point(replica: self.inventedReplica(), sequence: UInt64(number) + 1, name: name)
            }
            return self.writtenFlood(chain: 999, 1, context, [.unset(Workload.object(0), name: "title")], at: time)
        case .values:
            let value = Value.string(String(repeating: "flood", count: 400))
            let edit = Edit.set(Workload.object(0), name: "flood", value: value)
            return self.writtenFlood(chain: 998, count, [], [edit], at: time)
        case .operations:
            let edits = (0..<count).map { Edit.unset(Workload.object(0), name: String($0)) }
            return self.change(edits, .operations, count, at: time)
        case .bytes:
            // What the value's own encoding takes stands beside its text.
            let value = Value.string(String(repeating: "f", count: max(0, count - 1)))
            return self.change([.set(Workload.object(0), name: "flood", value: value)], .bytes, count, at: time)
        case .names:
            let name = String(repeating: "f", count: count)
            return self.change([.unset(Workload.object(0), name: name)], .names, count, at: time)
        case .positions:
            let place = Place(parent: nil, position: Position(bytes: Array(repeating: UInt8(ascii: "z"), count: count)))
            return self.change([.move(Workload.object(0), place)], .positions, count, at: time)
        case .depth:
            return self.change(self.tower(count), .depth, count, at: time)
        case .erased:
            let erasure = Erasure(object: Workload.object(0), name: "flood")
            let write = Edit.unset(erasure.object, name: erasure.name)
            let writes = Array(repeating: write, count: count)
            return self.change(writes, .erased, count, at: time)
                + self.writtenFlood(chain: self.chain(of: .erased, count), 1, [], [.erase(erasure), write], at: time)
        case .branches:
            let openings = (0..<count).map { number in
                let id = BranchID(of: self.identity.user, nonce: UInt64(number) + 1 << 40)
                return Edit.branch(.opens(BranchOpening(id: id, parent: nil, name: "flood \(number)", base: [])))
            }
            return self.change(openings, .branches, count, at: time)
        }
    }

    /// One change on a chain of its own for each flood and count.
    private func change(_ edits: [Edit], _ flooding: Flooding, _ count: Int, at time: VirtualTime) -> [Utterance] {
        self.writtenFlood(chain: self.chain(of: flooding, count), 1, [], edits, at: time)
    }

    private func chain(of flooding: Flooding, _ count: Int) -> HostileChainName {
        HostileChainName((1 + (Flooding.allCases.firstIndex(of: flooding) ?? 0)) * 10_000_000 + count)
    }

    /// So many objects, each in the one before, and the last moved to and fro at the foot of them.
    private func tower(_ depth: Int) -> [Edit] {
        func object(_ number: Int) -> ObjectID { ObjectID(bytes: Bytes16(high: 0xdeeb, low: UInt64(number))) }
        func move(_ number: Int, under parent: Int) -> Edit {
            .move(object(number), Place(parent: object(parent), position: .initial))
        }
        let built = (1..<max(2, depth)).map { move($0, under: $0 - 1) }
        let moved = (0..<depth).map { move(depth, under: max(0, depth - 1 - $0 % 2)) }
        return [.create(object(0), type: "tower", kind: "")] + built + moved
    }

    private func writtenFlood(
        chain: HostileChainName,
        _ count: Int,
        _ context: [Point],
        _ edits: [Edit],
        at time: VirtualTime
    ) -> [Utterance] {
        var left = count
        while left > 0 {
            let size = min(left, Self.runChangeCount)
            var stamp = self.nextStamp(on: chain, at: time)
            let opening = stamp
            var drafts: [HostileDraft] = []
            for _ in 0..<size {
                stamp = stamp.successor ?? stamp
                drafts.append(HostileDraft(stamp: stamp, context: drafts.isEmpty ? context : [], edits: edits))
            }
            self.extend(chain, drafts, opening: opening)
            left -= size
        }
        return self.wholeChain(chain).map { .message(.run($0)) }
    }
}
