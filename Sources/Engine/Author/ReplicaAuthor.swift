internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What writes changes of this device: its keys, its clock, its entropy, and what its replica knows.
///
/// Apart from the store so that it can be used inside a transaction.
struct ReplicaAuthor: ~Copyable {
    let identity: DeviceIdentity
    let membership: Membership
    let cryptography: SodiumCryptography
    var entropy: EntropyStream
    /// The wall time of the event being handled.
    var now: WallTime
    /// What has been looked at of late work, and how much of that is little.
    var pace: LateWorkPace
    var state = ReplicaState()

    init(
        identity: consuming DeviceIdentity,
        entropy: consuming EntropyStream,
        cryptography: SodiumCryptography,
        limits: LateWorkLimits,
        at now: WallTime
    ) {
        self.pace = LateWorkPace(limits)
        self.cryptography = cryptography
        self.membership = identity.membership
        self.identity = identity
        self.entropy = entropy
        self.now = now
    }

    /// A merge by the clock as it is now.
    ///
    /// `catchesUpAt`: with what was deferred and is due by then. `settlesRestamps`: with all restamps in any case.
    func merge(catchesUpAt time: UInt64? = nil, settlesRestamps: Bool = false) -> Merge {
        var policy = MergePolicy(now: self.now, founder: self.membership.founder)
        var deferred = self.state.deferred
        policy.promptSegment = self.state.activeSegment
        self.pace.limit(&policy, &deferred, catchesUpAt: time)
        if settlesRestamps { policy.defersRestamps = false }
        return Merge(policy, deferred: deferred)
    }

    /// Finishes a merge, and takes note of what it did, and of what it deferred.
    mutating func finish(_ merge: inout Merge, in transaction: inout some NodeTransaction) throws(StoreError) {
        let before = merge.summary
        try merge.finish(in: &transaction)
        self.pace.note(merge.summary, since: before)
        self.state.deferred = merge.deferred
        if merge.summary.notedErasureCount > 0 { self.state.hasErasures = true }
        self.state.missesContent = try !transaction.isComplete()
        if transaction.circles.count > 1 { self.state.mayHaveLeft = true }
        if merge.summary.missingCount > 0 || !merge.summary.repairedChanges.isEmpty { self.state.contentAge += 1 }
        // With any change, a branch may have gone on.
        if self.state.hasBarredErasures, merge.summary.storedChangeCount > 0 { self.state.hasErasures = true }
    }

    /// Writes what a local caller wants, or finds that it was written before.
    ///
    /// The name is remembered in the transaction of the write, so both are durable or neither.
    mutating func perform(
        _ request: WriteRequest,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Result<WriteReceipt, WriteRefusal> {
        guard let name = request.name else {
            return try self.perform(request.content, on: request.branch, as: request.action, in: &transaction)
        }
        if let earlier = try transaction.rememberedWrite(name.text) {
            guard earlier.content == name.content else { return .failure(.nameTaken(name.text)) }
            return .success(WriteReceipt(dot: nil, created: earlier.created, operationCount: 0))
        }
        let result = try self.perform(request.content, on: request.branch, as: request.action, in: &transaction)
        if case .success(let receipt) = result {
            let write = RememberedWrite(content: name.content, created: receipt.created)
            try transaction.remember(write, as: name.text)
        }
        return result
    }

    /// Writes what a local caller wants.
    mutating func perform(
        _ wanted: WriteRequest.Content,
        on branch: BranchID?,
        as action: ActionContext,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Result<WriteReceipt, WriteRefusal> {
        var running: ActionContext? = action
        let base = self.base(in: transaction)
        var plan = TransactionPlan(namespace: self.namespace, user: self.identity.user, base: base)
        plan.shared = transaction.rights.shared
        var parts: [CircleEdits]
        do throws(WriteRefusal) {
            if let branch {
                guard transaction.openBranch(branch) != nil else {
                    return .failure(.noSuchBranch(branch))
                }
                var state = try WriteRefusal.from { () throws(StoreError) in
                    CombinedState(try transaction.view(of: branch), of: transaction)
                }
                plan = try self.plan(plan, by: wanted, on: branch, as: action, state, in: transaction)
                parts = try plan.parts(in: &state)
            } else {
                var state = CombinedState(.present, of: transaction)
                plan = try self.plan(plan, by: wanted, on: nil, as: action, state, in: transaction)
                parts = try plan.parts(in: &state)
            }
            // Branches are of home alone.
            if branch != nil, parts.contains(where: { $0.circle != .home }) { throw .notOnBranch }
            for part in parts {
                if let refusal = self.refusal(of: part, in: transaction) { throw refusal }
            }
        } catch {
            // Who asks for what was dropped gets an answer, as all others do that share the transaction.
            if case .store(let error) = error, error != .compacted { throw error }
            return .failure(error)
        }
        guard !plan.edits.isEmpty else {
            return .success(WriteReceipt(dot: nil, created: plan.created, operationCount: 0))
        }
        var last: Dot?
        for part in parts {
            let isHome = part.circle == .home
            let isClearing = part.circle == plan.leftover
            var action = isClearing ? ActionContext(label: LeftWrite.label) : running
            last = try self.commit(
                part.edits,
                on: Timeline(circle: part.circle, branch: branch),
                as: &action,
                seeing: isHome ? plan.seen : SeenSegments(),
                closing: isHome ? plan.closed : SeenSegments(),
                in: &transaction
            )
            if !isClearing {
                running = action
                running?.link = .isPart
            }
            if last != nil { continue }
            // What was written in other circles goes back with the whole.
            guard part.circle == parts.first?.circle else { throw .unavailable("the last stamp of all has been used") }
            return .failure(.clockExhausted)
        }
        return .success(
            WriteReceipt(
                dot: last,
                created: plan.created,
                operationCount: plan.edits.count,
                start: running?.start
            )
        )
    }

    /// What a caller's wishes, or his own code, make of a plan.
    private mutating func plan(
        _ plan: TransactionPlan,
        by wanted: WriteRequest.Content,
        on branch: BranchID?,
        as action: ActionContext,
        _ state: some CircleReading,
        in transaction: some NodeTransaction
    ) throws(WriteRefusal) -> TransactionPlan {
        var (plan, state) = (plan, state)
        let body: (inout LocalTransaction) throws(WriteRefusal) -> Void
        switch wanted {
        case .steps(let wanted):
            for step in wanted.steps { try plan.add(step, entropy: &self.entropy, in: &state) }
            return plan
        case .body(let given): body = given
        }
        // A stream of its own, since ours cannot be copied; 32 bytes always begin one.
        guard let entropy = EntropyStream(seed: self.entropy.secret(EntropyStream.seedByteCount)) else {
            throw .abandoned
        }
        var local = LocalTransaction(
            plan: plan,
            entropy: entropy,
            store: transaction,
            state: state,
            branch: branch,
            device: self.identity.device,
            author: self.author,
            founder: self.membership.founder,
            action: action
        )
        try body(&local)
        return try local.finish()
    }

    /// The namespace of ids derived from keys: the workspace's own.
    private var namespace: ObjectID {
        ObjectID(bytes: Bytes16(self.membership.workspace.bytes.array.prefix(16)) ?? Bytes16(high: 0, low: 0))
    }

    /// Writes edits as one change of the replica of a timeline, stamped now.
    ///
    /// `action`: what it is, or begins; nil for what no program asked for. Nil if the clock has run out.
    mutating func commit(
        _ edits: [Edit],
        on timeline: Timeline,
        as action: ActionContext? = nil,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Dot? {
        var action = action
        return try self.commit(edits, on: timeline, as: &action, in: &transaction)
    }

    /// Writes edits as one change of the replica of a timeline, stamped now.
    ///
    /// `action`: what it belongs to, and begins with it if it has not begun. `others`: what it has seen besides, which
    /// its edits say that they merge. `closed`: what they give up. Nil if the clock has run out.
    mutating func commit(
        _ edits: [Edit],
        on timeline: Timeline,
        as action: inout ActionContext?,
        seeing others: SeenSegments = SeenSegments(),
        closing closed: SeenSegments = SeenSegments(),
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Dot? {
        // Who writes something else does not wait for restamps that others made.
        var merge = self.merge(settlesRestamps: edits.contains { $0.kind == .restamp })
        // What is written has seen what is due by now, and not what is held by now.
        try merge.catchUp(in: &transaction)
        try self.leaveHeldSegment(in: &transaction)
        let branch = timeline.branch
        var index = try self.segment(of: timeline, in: &transaction)
        if index == nil, let stamp = try self.nextStamp(in: &transaction) {
            index = try self.openReplica(of: timeline, stamp: stamp, &merge, in: &transaction)
        }
        guard let index, var stamp = try self.nextStamp(on: index, in: &transaction) else { return nil }
        var record = transaction.segment(index)
        var seen = others
        if let branch { seen.formUnion(try transaction.closure(of: transaction.heads(of: branch))) }
        var news = try self.news(for: index, record, seen, closed, in: &transaction)
        // What a branch begins with is merged by the first who writes on it, in a change that says nothing else; and
        // more than one change can say is said by some that do not either.
        let said = edits.filter(\.isAboutNamedChanges)
        let isLong = news.count > Limits.contextEntryCountMax
        var others: [BranchID?] = []
        if branch != nil || isLong {
            others = try self.timelines(of: news, besides: branch, said, all: isLong, in: &transaction)
        }
        while news.count > Limits.contextEntryCountMax || !others.isEmpty && !news.isEmpty {
            let part = Array(news.prefix(Limits.contextEntryCountMax))
            var statements = said + others.map { .branch(.merges($0)) }
            // What a branch begins with is no action of who writes there first.
            if !said.isEmpty {
                statements += try Self.belonging(to: &action, stamp, after: record, index, in: &transaction)
            }
            try self.append(statements, stamp, part, to: record.id, after: record, &merge, in: &transaction)
            guard let next = try self.nextStamp(on: index, in: &transaction) else { return nil }
            (record, stamp) = (transaction.segment(index), next)
            news.removeFirst(part.count)
        }
        let all = try edits + Self.belonging(to: &action, stamp, after: record, index, in: &transaction)
        let run = try self.append(all, stamp, news, to: record.id, after: record, &merge, in: &transaction)
        self.state.sealed = (run, SegmentPoint(segment: index, sequence: run.firstSequence))
        try self.finish(&merge, in: &transaction)
        return Dot(replica: record.id, sequence: record.storedSequence + 1)
    }

    /// What the next change of a segment must say so that it belongs to an action: nothing if it is one by itself, and
    /// by the program that made the change before.
    ///
    /// The action begins with that change if it has not begun before.
    private static func belonging(
        to action: inout ActionContext?,
        _ stamp: Stamp,
        after record: SegmentRecord,
        _ index: SegmentIndex,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> [Edit] {
        guard let label = action?.label else { return [] }
        let start = action?.start
        let link = action?.link ?? .follows
        if start == nil { action?.start = stamp }
        let last = SegmentPoint(segment: index, sequence: record.storedSequence)
        // Only of what is applied is it known who made it.
        let isKnown = !record.progress.isPending && record.progress.hasApplied
        if isKnown, start == nil, try transaction.label(at: last) == label { return [] }
        return [.action(ActionStatement(label: label, start: start, link: link))]
    }

    /// The next stamp: above all that is applied, and above our own last one, be it applied or not.
    ///
    /// `segment`: the segment that is written to; nil for that of the main timeline.
    private func nextStamp(
        on segment: SegmentIndex? = nil,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Stamp? {
        var clock = HybridClock(last: transaction.latestAppliedStamp)
        for own in Set([self.state.activeSegment, segment].compactMap { $0 }) {
            let last = SegmentPoint(segment: own, sequence: transaction.progress(of: own).storedSequence)
            clock.observe(try transaction.header(at: last)?.stamp ?? .zero)
        }
        return clock.next(at: self.now)
    }

    /// If our own last change claims a time that is held, the next write makes a new replica.
    private mutating func leaveHeldSegment(in transaction: inout some NodeTransaction) throws(StoreError) {
        guard let active = self.state.activeSegment, try self.isToBeLeft(active, in: &transaction) else { return }
        try self.leaveReplica(.clockRepaired, in: &transaction)
    }

    /// Whether the last change of a segment of ours claims a time that is held, so that nothing may come after it.
    ///
    /// Our clock was ahead when we made it, and what is written now must not wait for it. Nor must it be stamped above
    /// it if it is restamped by now.
    ///
    /// If others' changes are held as well, it is our clock that is behind now, and ours goes on after its last change.
    func isToBeLeft(_ segment: SegmentIndex, in transaction: inout some NodeTransaction) throws(StoreError) -> Bool {
        let last = SegmentPoint(segment: segment, sequence: transaction.progress(of: segment).storedSequence)
        let stamp = try transaction.header(at: last)?.stamp ?? .zero
        guard HybridClock.isHeld(stamp, at: self.now) else { return false }
        guard transaction.progress(of: segment).isPending else { return true }
        let device = self.identity.device
        return !transaction.segmentIndices.contains { other in
            transaction.progress(of: other).isPending && transaction.segment(other).device != device
        }
    }

    /// Whether our own last change claims a time that is held by our clock.
    func isLastStampHeld(in transaction: inout some NodeTransaction) throws(StoreError) -> Bool {
        guard let active = self.state.activeSegment else { return false }
        return try self.isLastStampHeld(on: active, in: &transaction)
    }

    /// Whether the last change of a segment of ours claims a time that is held by our clock.
    func isLastStampHeld(
        on segment: SegmentIndex,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Bool {
        let last = SegmentPoint(segment: segment, sequence: transaction.progress(of: segment).storedSequence)
        return try transaction.header(at: last).map { HybridClock.isHeld($0.stamp, at: self.now) } ?? false
    }

    /// The next write makes a new replica.
    mutating func leaveReplica(
        _ reason: NewReplicaReason,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        try transaction.setFact(NodeFact.timelineReplicas, nil)
        guard self.state.activeSegment != nil else { return }
        try transaction.setFact(NodeFact.activeReplica, nil)
        self.state.activeSegment = nil
        self.state.newReplicaReason = reason
    }

    /// Opens a replica without writing anything into it.
    ///
    /// Returns false if the clock has run out.
    mutating func introduce(
        on timeline: Timeline,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Bool {
        var merge = self.merge()
        try self.finish(&merge, in: &transaction)
        guard let stamp = try self.nextStamp(in: &transaction) else { return false }
        _ = try self.openReplica(of: timeline, stamp: stamp, &merge, in: &transaction)
        try self.finish(&merge, in: &transaction)
        return true
    }

    /// Opens a new replica of this device: a fresh id, and a first change that introduces the device, and says what the
    /// chain belongs to and is written under.
    private mutating func openReplica(
        of timeline: Timeline,
        stamp: Stamp,
        _ merge: inout Merge,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> SegmentIndex {
        let nonce = Bytes16(high: self.entropy.nextUInt64(), low: self.entropy.nextUInt64())
        let introduction = try self.identity.introduction(
            nonce: nonce,
            branch: timeline.branch,
            circle: timeline.circle,
            under: self.grants(in: timeline.circle, of: &transaction)
        )
        let id = ReplicaID(device: self.identity.device, nonce: nonce, circle: timeline.circle, self.cryptography)
        try self.append([.introduce(introduction)], stamp, [], to: id, after: nil, &merge, in: &transaction)
        guard let index = transaction.firstSegment(of: id) else { throw .damaged("a new replica has no log") }
        if timeline == .main {
            try transaction.setFact(NodeFact.activeReplica, id.bytes.array)
            self.state.activeSegment = index
        } else {
            try self.note(id, of: timeline, in: &transaction)
        }
        return index
    }

    /// Everything that counts on a segment's timeline in its circle and that its last change had not seen.
    ///
    /// `seen`: what counts on a branch, and what is to be merged. `closed`: what is to be given up, and named again.
    private func news(
        for own: SegmentIndex,
        _ record: SegmentRecord,
        _ seen: SeenSegments,
        _ closed: SeenSegments,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> [Point] {
        // What has been withdrawn since was seen all the same: then the context is that of the last stored change.
        let last = SegmentPoint(segment: own, sequence: record.storedSequence)
        let context = record.progress.isPending ? try transaction.context(at: last) : record.context
        var news: Set<Point> = []
        for position in 0..<transaction.segmentCount {
            let segment = SegmentIndex(rawValue: UInt32(position))
            let progress = transaction.progress(of: segment)
            let counted = max(record.branch == nil ? progress.countedSequence : 0, seen[segment])
            let (sequence, isClosed) = (max(counted, closed[segment]), closed[segment] > 0)
            guard segment != own, progress.circle == record.circle, sequence >= progress.firstSequence,
                isClosed || sequence > context[segment],
                let hash = try transaction.hash(at: SegmentPoint(segment: segment, sequence: sequence))
            else { continue }
            let replica = transaction.replicaID(segment)
            let point = Point(replica: replica, sequence: sequence, name: ChangeName(hash))
            // A name that two changes share means less than either, and is said once.
            guard let meant = try transaction.place(of: point), isClosed || meant.sequence > context[meant.segment]
            else { continue }
            news.insert(point)
        }
        return news.sorted()
    }

    /// Appends one change of our own to a replica's chain, under a signature of its own.
    ///
    /// `last`: the segment that it continues; nil if it is the first of its replica.
    /// - Returns: The run that it is.
    @discardableResult
    private mutating func append(
        _ edits: [Edit],
        _ stamp: Stamp,
        _ context: [Point],
        to replica: ReplicaID,
        after last: SegmentRecord?,
        _ merge: inout Merge,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Run {
        var builder = RunBuilder(replica: replica, firstSequence: (last?.storedSequence ?? 0) + 1)
        builder.beginChange(stamp: stamp, context: context, blinding: self.entropy.bytes(16))
        for edit in edits { builder.append(edit) }
        let previous = last?.storedHash ?? ChainHash.origin(self.membership.workspace)
        let verified: VerifiedRun
        do throws(RunRejection) {
            verified = try VerifiedRun.seal(builder, previous: previous, self.cryptography) { message in
                self.cryptography.signature(of: message, by: self.identity.signingKey)
            }
        } catch {
            // What a plan makes is within the limits, so this program is at fault; nothing has been written.
            throw .damaged("no device would accept what is to be written: \(error)")
        }
        guard try merge.receive(verified, in: &transaction) == .stored else {
            throw .damaged("the chain of this replica is not as it was left")
        }
        return verified.run
    }
}
