internal import CRDTCore
internal import MergeTestSupport

/// One peer of a history: a store, a clock and a device.
struct HistoryReplica: Sendable {
    private let device: TestDevice
    private var store: MemoryStore
    private var clock = HybridClock()
    /// How many changes of each peer's chain are stored here.
    private(set) var stored: [Int]
    /// How far its clock is ahead.
    var clockOffsetMilliseconds: UInt64 = 0
    /// Whether something of what came could not be applied when it came.
    private(set) var hasWaited = false
    /// Whether something was applied when it came that was stamped too far ahead.
    private(set) var hasAppliedTooEarly = false

    /// A replica of which there is nothing yet, not even its introduction.
    init(_ peer: Int, of peerCount: Int) {
        self.device = TestDevice(number: UInt64(peer))
        self.store = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
        self.stored = Array(repeating: 0, count: peerCount)
    }

    /// The first change of a replica's chain, in which it introduces itself.
    func introduction(_ peer: Int) -> VerifiedRun {
        let nonce = Bytes16(high: 5, low: UInt64(peer))
        var builder = RunBuilder(replica: self.device.replica(nonce: nonce), firstSequence: 1)
        builder.beginChange(stamp: Stamp(rawValue: 1), context: [], blinding: nonce.array)
        builder.append(.introduce(self.device.introduction(nonce: nonce)))
        let device = self.device
        return VerifiedRun.seal(
            builder,
            previous: ChainHash.origin(TestDevice.workspace),
            TestDevice.cryptography,
            sign: { device.sign($0) }
        )
    }

    /// Writes edits as one change on all that is applied here, and returns it.
    mutating func commit(
        _ edits: [HistoryEdit],
        as peer: Int,
        at time: WallTime,
        secret: ArraySlice<UInt8>
    ) throws(StoreError) -> VerifiedRun {
        let wall = time.advanced(byMilliseconds: self.clockOffsetMilliseconds)
        guard let stamp = self.clock.next(at: wall) else { throw .damaged("the clock has run out") }
        let device = self.device
        let (run, applied) = try self.store.write { transaction throws(StoreError) -> (VerifiedRun, Stamp) in
            // Its own chain was the first that it stored.
            let own = transaction.replica(ReplicaIndex(rawValue: 0))
            var builder = RunBuilder(replica: own.id, firstSequence: own.storedSequence + 1)
            builder.beginChange(
                stamp: stamp,
                context: HistoryReplica.news(for: own, in: &transaction),
                blinding: secret
            )
            for edit in edits { builder.append(HistoryWorld.edit(edit)) }
            let run = VerifiedRun.seal(
                builder,
                previous: own.storedHash,
                TestDevice.cryptography,
                sign: { device.sign($0) }
            )
            var merge = Merge(now: max(wall, WallTime(milliseconds: stamp.milliseconds)))
            guard try merge.receive(run, in: &transaction) == .stored else {
                throw .damaged("a replica's own change does not fit its chain")
            }
            try merge.finish(in: &transaction)
            return (run, merge.summary.appliedStamp)
        }
        self.clock.observe(applied)
        self.stored[peer] += 1
        return run
    }

    /// What is applied and counts, and the chain has not named yet.
    private static func news(for own: ReplicaRecord, in transaction: inout MemoryTransaction) -> [Dot] {
        var news: [Dot] = []
        for position in 1..<max(1, transaction.replicaCount) {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let progress = transaction.progress(of: index)
            let counted = min(progress.appliedSequence, progress.effectiveEnd)
            let known = position < own.context.count ? own.context[position] : 0
            if counted > known { news.append(Dot(replica: transaction.replicaID(index), sequence: counted)) }
        }
        if news.count > 1 { news.sort() }
        return news
    }

    /// Takes in changes of one chain, which begin where the stored ones end.
    mutating func receive(
        _ runs: ArraySlice<VerifiedRun>,
        from chain: Int,
        at time: WallTime
    ) throws(StoreError) {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            for run in runs {
                guard try merge.receive(run, in: &transaction) == .stored else {
                    throw .damaged("a change that follows what is stored does not fit")
                }
            }
        }
        self.stored[chain] += runs.count
    }

    /// Takes in changes of all chains in one transaction, each from where the stored ones end up to a count.
    ///
    /// `first`: the chain that comes first; the others follow in the order of their numbers.
    mutating func receive(
        _ chains: [[VerifiedRun]],
        upTo counts: [Int],
        first: Int,
        at time: WallTime
    ) throws(StoreError) {
        let stored = self.stored
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            for number in chains.indices {
                let chain = (first + number) % chains.count
                for position in stored[chain]..<max(stored[chain], counts[chain]) {
                    guard try merge.receive(chains[chain][position], in: &transaction) == .stored else {
                        throw .damaged("a change that follows what is stored does not fit")
                    }
                }
            }
        }
        for chain in chains.indices { self.stored[chain] = max(self.stored[chain], counts[chain]) }
    }

    /// Is handed one change again, or too early; it must be taken in only if it just fits.
    ///
    /// Returns whether it was.
    mutating func receiveAgain(_ run: VerifiedRun, from chain: Int, at time: WallTime) throws(StoreError) -> Bool {
        let fits = run.run.firstSequence == UInt64(self.stored[chain]) + 1
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            guard try merge.receive(run, in: &transaction) == (fits ? .stored : .doesNotFit) else {
                throw .damaged("a change that does\(fits ? "" : " not") fit is\(fits ? " not" : "") taken in")
            }
        }
        if fits { self.stored[chain] += 1 }
        return fits
    }

    /// One transaction of merging.
    private mutating func transaction(
        at time: WallTime,
        _ body: (inout Merge, inout MemoryTransaction) throws(StoreError) -> Void
    ) throws(StoreError) {
        let wall = time.advanced(byMilliseconds: self.clockOffsetMilliseconds)
        let summary = try self.store.write { transaction throws(StoreError) -> Merge.Summary in
            var merge = Merge(now: wall)
            try body(&merge, &transaction)
            try merge.finish(in: &transaction)
            return merge.summary
        }
        self.clock.observe(summary.appliedStamp)
        if HybridClock.isHeld(summary.appliedStamp, at: wall) { self.hasAppliedTooEarly = true }
        if summary.appliedChangeCount < summary.storedChangeCount { self.hasWaited = true }
    }

    /// What would be sent of a chain after what another has of it: at least one change, as bytes.
    ///
    /// Nil if there is nothing.
    mutating func sent(_ replica: ReplicaID, after sequence: Int, count: Int) throws(StoreError) -> [UInt8]? {
        try self.store.read { transaction throws(StoreError) in
            let index = transaction.replicaIndex(of: replica)
            let limits = RunLimits(changeCountMax: count)
            return transaction.loadRun(of: index, from: UInt64(sequence) + 1, limits: limits, signed: true)?.encoded()
        }
    }

    /// Takes in what comes as bytes, as a member of the workspace does.
    mutating func receive(bytes: [UInt8], from chain: Int, at time: WallTime) throws(StoreError) {
        var count = 0
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            let run: VerifiedRun
            do {
                let decoded = try Run(decoding: bytes)
                // Two steps: the first may enter the replica, which a value read before would not know.
                let index = transaction.replicaIndex(of: decoded.replica)
                let known = transaction.replica(index)
                run = try VerifiedRun.verify(
                    decoded,
                    previous: known.storedHash,
                    device: known.device,
                    membership: TestDevice.membership,
                    TestDevice.cryptography
                )
            } catch {
                throw .damaged("what another replica has of a chain does not hold: \(error)")
            }
            guard try merge.receive(run, in: &transaction) == .stored else {
                throw .damaged("a run that follows what is stored does not fit")
            }
            count = run.run.changes.count
        }
        self.stored[chain] += count
    }

    /// Computes the state anew from the log.
    mutating func rebuild(at time: WallTime) throws(StoreError) {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in try merge.rebuild(in: &transaction) }
    }

    /// Reads the state.
    mutating func read<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.store.read(body)
    }
}
