package import CRDTCore
package import MergeModel

/// One peer of a merge trial: a store, a clock and a device.
package struct MergeReplica: Sendable {
    private var device: TestDevice
    /// The number of the chain that it writes to.
    private(set) var chain: Int
    /// The segment of its store that its changes extend; nil if it has written nothing to its chain.
    private var ownSegment: SegmentIndex?
    private var store: MemoryStore
    private var clock = HybridClock()
    /// The changes that are stored here.
    private(set) var stored: ChainHoldings
    private var setting = PlannedClock.right
    /// Rare things that happened to it.
    package private(set) var marks = MergeMarks()
    /// Whether something was applied that the clock holds.
    private(set) var hasAppliedTooEarly = false

    /// Creates a replica that has the charter alone, and not even its introduction.
    init(_ peer: Int, of peerCount: Int) throws(StoreError) {
        self.chain = peer
        self.device = PlanVocabulary.device(of: peer)
        self.store = try MemoryStore.ofChartedWorkspace
        self.stored = ChainHoldings(chainCount: peerCount)
    }

    /// Writes the first change of the chain, in which the replica only introduces itself.
    mutating func introduce() throws(StoreError) -> VerifiedRun {
        let secret = PlanVocabulary.nonce(ofChain: self.chain).array[...]
        let place = ChainHoldings.Place(chain: self.chain, position: 0)
        return try self.commit([], as: place, at: PlanVocabulary.start, stamp: Stamp(rawValue: 1), secret: secret)
    }

    /// Leaves the chain for a new one.
    mutating func reopen(asChain chain: Int) {
        self.chain = chain
        self.ownSegment = nil
    }

    /// Adds a chain of which nothing is stored here.
    mutating func addChain() { self.stored.addChain() }

    /// Sets the clock; one that is put right or back forgets what it has shown.
    mutating func setClock(_ setting: PlannedClock) {
        self.setting = setting
        self.clock = HybridClock()
    }

    /// Replaces the database by that of a copy, and with it the last stamp and the chain that it writes to.
    mutating func restore(_ copy: MergeReplica) {
        self.device = copy.device
        self.chain = copy.chain
        self.ownSegment = copy.ownSegment
        self.store = copy.store
        self.stored = copy.stored
        self.clock = copy.clock
    }

    private func wall(_ time: WallTime) -> WallTime { self.setting.wall(at: time) }

    /// Writes edits as one change on all that is applied here, and returns it.
    ///
    /// `traits`: those of the plan. `stamp`: the next of the clock unless it is given. `distort`: makes a lie of the
    /// change.
    package mutating func commit(
        _ edits: [Edit],
        as place: ChainHoldings.Place,
        at time: WallTime,
        _ traits: MergePlan.Traits = [],
        stamp: Stamp? = nil,
        secret: ArraySlice<UInt8>,
        distort: ((inout Stamp, inout [Point], inout [Edit]) -> Void)? = nil
    ) throws(StoreError) -> VerifiedRun {
        guard let stamp = stamp ?? self.clock.next(at: self.wall(time).shown(traits)) else {
            throw .damaged("the clock has run out")
        }
        let (device, chain, ownSegment) = (self.device, self.chain, self.ownSegment)
        let run = try self.transaction(at: time) { merge, transaction throws(StoreError) -> VerifiedRun in
            // After a restore it extends what is stored of its segment.
            let own = ownSegment.map { transaction.segment($0) }
            var (stamp, edits) = (stamp, edits)
            var context = MergeReplica.news(since: own?.context, ownSegment, in: &transaction)
            let nonce = PlanVocabulary.nonce(ofChain: chain)
            let replica = own?.id ?? device.replica(nonce: nonce)
            if own == nil { edits.insert(.introduce(device.introduction(nonce: nonce)), at: 0) }
            distort?(&stamp, &context, &edits)
            var builder = RunBuilder(replica: replica, firstSequence: (own?.storedSequence ?? 0) + 1)
            builder.beginChange(stamp: stamp, context: context, blinding: secret)
            for edit in edits { builder.append(edit) }
            let run = VerifiedRun.sealUnchecked(
                builder,
                previous: own?.storedHash ?? ChainHash.origin(TestDevice.workspace),
                TestDevice.cryptography,
                sign: { device.sign($0) }
            )
            guard try merge.receive(run, in: &transaction) == .stored else {
                throw .damaged("a replica's own change does not fit its chain")
            }
            return run
        }
        if ownSegment == nil {
            self.ownSegment = try self.read { transaction throws(StoreError) in
                try transaction.place(of: run.run.replica, sequence: 1, hash: run.hashes[0])?.segment
            }
        }
        self.stored.add(place)
        return run
    }

    /// The changes that are applied, and that the chain has not named yet.
    private static func news(
        since seen: SeenSegments?,
        _ ownSegment: SegmentIndex?,
        in transaction: inout MemoryTransaction
    ) -> [Point] {
        var news: [Point] = []
        for index in transaction.segmentIndices {
            if index == ownSegment { continue }
            let progress = transaction.progress(of: index)
            let applied = progress.appliedSequence
            let known = seen?[index] ?? 0
            guard applied > known, applied >= progress.firstSequence,
                let header = transaction.header(at: SegmentPoint(segment: index, sequence: applied))
            else { continue }
            let id = transaction.replicaID(index)
            news.append(Point(replica: id, sequence: applied, name: ChangeName(header.hash)))
        }
        guard news.count > 1 else { return news }
        news.sort()
        // Two forks may share a name where names are cut short.
        return news.enumerated().filter { $0 == 0 || news[$0 - 1] != $1 }.map(\.element)
    }

    /// Takes in some changes, each after what it extends, in one transaction.
    mutating func receive(
        _ places: [ChainHoldings.Place],
        of chains: [[VerifiedRun]],
        at time: WallTime
    ) throws(StoreError) {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            for place in places {
                guard try merge.receive(chains[place.chain][place.position], in: &transaction) == .stored else {
                    throw .damaged("a change that follows what is stored does not fit")
                }
            }
        }
        for place in places { self.stored.add(place) }
    }

    /// Is handed one change, which may be there already or come too early.
    ///
    /// `hasPrevious`: whether what it extends is there. Returns whether it was taken in.
    mutating func receiveAgain(
        _ run: VerifiedRun,
        as place: ChainHoldings.Place,
        hasPrevious: Bool,
        at time: WallTime
    ) throws(StoreError) -> Bool {
        let expected: Merge.Reception =
            self.stored.has(place) ? .duplicate : hasPrevious ? .stored : .doesNotFit
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            let reception = try merge.receive(run, in: &transaction)
            guard reception == expected else {
                throw .damaged("a change is taken for one that is \(reception), and should be \(expected)")
            }
        }
        if expected == .stored { self.stored.add(place) }
        return expected == .stored
    }

    /// One transaction of merging.
    private mutating func transaction<Result>(
        at time: WallTime,
        _ body: (inout Merge, inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let wall = self.wall(time)
        var clock = self.clock
        let number = self.chain
        let (summary, result, isEarly) = try self.store.write { transaction throws(StoreError) in
            var merge = Merge.ofTestNode(number, at: wall)
            let result = try body(&merge, &transaction)
            try merge.finish(in: &transaction)
            var isEarly = false
            for segment in transaction.segmentIndices {
                let stamp = transaction.progress(of: segment).appliedStamp
                clock.observe(stamp)
                if HybridClock.isHeld(stamp, at: wall) { isEarly = true }
            }
            return (merge.summary, result, isEarly)
        }
        self.clock = clock
        if isEarly { self.hasAppliedTooEarly = true }
        if summary.appliedChangeCount < summary.storedChangeCount { self.marks.insert(.changeWaited) }
        if summary.isRevised { self.marks.insert(.orderedAnew) }
        if !summary.forked.isEmpty { self.marks.insert(.chainForked) }
        return result
    }

    // MARK: - As bytes

    /// What would be sent of some changes of one fork as one run, as bytes: at least the first.
    ///
    /// Nil if that is not here, or not alone.
    package mutating func sent(_ changes: [VerifiedRun]) throws(StoreError) -> [UInt8]? {
        try self.store.read { transaction throws(StoreError) in
            var places: [SegmentPoint] = []
            for change in changes {
                let sequence = change.run.firstSequence
                let replica = change.run.replica
                let place = try transaction.place(of: replica, sequence: sequence, hash: change.hashes[0])
                // A fork may go on in another segment.
                guard let place, places.isEmpty || place.segment == places[0].segment else { break }
                places.append(place)
            }
            guard let first = places.first else { return nil }
            let limits = RunLimits(changeCountMax: places.count)
            let run = transaction.loadRun(of: first.segment, from: first.sequence, limits: limits, signed: true)
            // A signature may be only behind what was not asked for.
            return run.flatMap { $0.changes.count > places.count ? nil : $0.encoded() }
        }
    }

    /// Takes in what comes as bytes, as a member of the workspace does.
    ///
    /// Returns the hashes of the changes.
    mutating func receive(bytes: [UInt8], at time: WallTime) throws(StoreError) -> [Hash256] {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            let run = try MergeReplica.verified(bytes, in: &transaction)
            guard try merge.receive(run, in: &transaction) == .stored else {
                throw .damaged("a run that follows what is stored does not fit")
            }
            return run.hashes
        }
    }

    /// Finds out after which change a run comes: one with the name that the run says, if it says one.
    private static func verified(
        _ bytes: [UInt8],
        in transaction: inout MemoryTransaction
    ) throws(StoreError) -> VerifiedRun {
        var rejection: any Error = RunRejection.unsigned
        do {
            let run = try Run(decoding: bytes)
            let device = transaction.firstSegment(of: run.replica).flatMap { transaction.segment($0).device }
            var candidates = [ChainHash.origin(TestDevice.workspace)]
            if run.firstSequence > 1 {
                let places = transaction.places(of: run.replica, sequence: run.firstSequence - 1)
                candidates = places.compactMap { transaction.header(at: $0)?.hash }
            }
            for previous in candidates where run.previous.map({ $0 == ChangeName(previous) }) ?? true {
                do throws(RunRejection) {
                    return try VerifiedRun.verify(
                        run,
                        previous: previous,
                        device: run.firstSequence == 1 ? nil : device,
                        workspace: TestDevice.workspace,
                        TestDevice.cryptography
                    )
                } catch {
                    rejection = error
                }
            }
        } catch {
            rejection = error
        }
        throw .damaged("what another replica has of a chain does not hold: \(rejection)")
    }

    /// Takes note of changes that came as bytes.
    package mutating func note(_ places: some Sequence<ChainHoldings.Place>) {
        for place in places { self.stored.add(place) }
    }

    // MARK: - In the end

    /// Computes the state anew from the log.
    mutating func rebuild(at time: WallTime) throws(StoreError) {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in try merge.rebuild(in: &transaction) }
    }

    /// Reads the state.
    package mutating func read<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.store.read(body)
    }
}
