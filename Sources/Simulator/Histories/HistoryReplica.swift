internal import CRDTCore
internal import MergeTestSupport

/// One peer of a history: a store, a clock and a device.
struct HistoryReplica: Sendable {
    private let device: TestDevice
    private var store: MemoryStore
    private var clock = HybridClock()
    /// Which changes are stored here.
    private(set) var stored: HistoryHoldings
    /// How its clock is set.
    private var setting = HistoryClock.right
    /// Rare things that happened to it.
    private(set) var marks = HistoryMarks()
    /// Whether something was applied that the clock holds.
    private(set) var hasAppliedTooEarly = false

    /// How far a clock is ahead or behind that is wrong.
    private static let fastMilliseconds: UInt64 = 900_000
    private static let slowMilliseconds: UInt64 = 3_600_000

    /// A replica of which there is nothing yet, not even its introduction.
    init(_ peer: Int, of peerCount: Int) {
        self.device = TestDevice(number: UInt64(peer), user: HistoryWorld.user(of: peer))
        self.store = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
        self.stored = HistoryHoldings(chainCount: peerCount)
    }

    /// The first change of a replica's chain, in which it introduces itself.
    func introduction(_ peer: Int) -> VerifiedRun {
        let nonce = Bytes16(high: 5, low: UInt64(peer))
        var builder = RunBuilder(replica: self.device.replica(nonce: nonce), firstSequence: 1)
        builder.beginChange(stamp: Stamp(rawValue: 1), context: [], blinding: nonce.array)
        builder.append(.introduce(self.device.introduction(nonce: nonce)))
        let device = self.device
        return VerifiedRun.sealUnchecked(
            builder,
            previous: ChainHash.origin(TestDevice.workspace),
            TestDevice.cryptography,
            sign: { device.sign($0) }
        )
    }

    /// Sets the clock; one that is put right or back forgets what it has shown.
    mutating func setClock(_ setting: HistoryClock) {
        self.setting = setting
        self.clock = HybridClock()
    }

    /// The database is replaced by that of a copy, and with it what is known of the last stamp.
    mutating func restore(_ copy: HistoryReplica) {
        self.store = copy.store
        self.stored = copy.stored
        self.clock = copy.clock
    }

    private func wall(_ time: WallTime) -> WallTime {
        switch self.setting {
        case .right: time
        case .ahead: time.advanced(byMilliseconds: HistoryReplica.fastMilliseconds)
        case .behind: WallTime(milliseconds: time.milliseconds - HistoryReplica.slowMilliseconds)
        }
    }

    /// Writes edits as one change on all that is applied here, and returns it.
    mutating func commit(
        _ edits: [Edit],
        as place: HistoryHoldings.Place,
        at time: WallTime,
        secret: ArraySlice<UInt8>
    ) throws(StoreError) -> VerifiedRun {
        guard let stamp = self.clock.next(at: self.wall(time)) else { throw .damaged("the clock has run out") }
        let device = self.device
        let run = try self.transaction(at: time) { merge, transaction throws(StoreError) -> VerifiedRun in
            // Its own chain was the first that it stored; what it writes after a restore is in line with that.
            let own = transaction.line(LineIndex(rawValue: 0))
            var builder = RunBuilder(replica: own.id, firstSequence: own.storedSequence + 1)
            builder.beginChange(
                stamp: stamp,
                context: HistoryReplica.news(for: own, in: &transaction),
                blinding: secret
            )
            for edit in edits { builder.append(edit) }
            let run = VerifiedRun.sealUnchecked(
                builder,
                previous: own.storedHash,
                TestDevice.cryptography,
                sign: { device.sign($0) }
            )
            guard try merge.receive(run, in: &transaction) == .stored else {
                throw .damaged("a replica's own change does not fit its chain")
            }
            return run
        }
        self.stored.add(place)
        return run
    }

    /// What is applied, and the chain has not named yet.
    private static func news(for own: LineRecord, in transaction: inout MemoryTransaction) -> [Point] {
        var news: [Point] = []
        for position in 1..<max(1, transaction.lineCount) {
            let index = LineIndex(rawValue: UInt32(position))
            let progress = transaction.progress(of: index)
            let applied = progress.appliedSequence
            let known = own.context[index]
            guard applied > known, applied >= progress.firstSequence,
                let header = transaction.header(at: LinePoint(line: index, sequence: applied))
            else { continue }
            let id = transaction.replicaID(index)
            news.append(Point(replica: id, sequence: applied, name: ChangeName(header.hash)))
        }
        guard news.count > 1 else { return news }
        news.sort()
        // Two branches may share a name where names are cut short.
        return news.enumerated().filter { $0 == 0 || news[$0 - 1] != $1 }.map(\.element)
    }

    /// Takes in some changes, each after what it extends, in one transaction.
    mutating func receive(
        _ places: [HistoryHoldings.Place],
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
        as place: HistoryHoldings.Place,
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
        let (summary, result, isEarly) = try self.store.write { transaction throws(StoreError) in
            var merge = Merge(now: wall, founder: TestDevice.user)
            let result = try body(&merge, &transaction)
            try merge.finish(in: &transaction)
            var isEarly = false
            for position in 0..<transaction.lineCount {
                let stamp = transaction.progress(of: LineIndex(rawValue: UInt32(position))).appliedStamp
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

    /// What would be sent of some changes of one branch as one run, as bytes: at least the first.
    ///
    /// Nil if that is not here, or not alone.
    mutating func sent(_ changes: [VerifiedRun]) throws(StoreError) -> [UInt8]? {
        try self.store.read { transaction throws(StoreError) in
            var places: [LinePoint] = []
            for change in changes {
                let sequence = change.run.firstSequence
                let replica = change.run.replica
                let place = try transaction.place(of: replica, sequence: sequence, hash: change.hashes[0])
                // A branch may go on in another line.
                guard let place, places.isEmpty || place.line == places[0].line else { break }
                places.append(place)
            }
            guard let first = places.first else { return nil }
            let limits = RunLimits(changeCountMax: places.count)
            let run = transaction.loadRun(of: first.line, from: first.sequence, limits: limits, signed: true)
            // A signature may be only behind what was not asked for.
            return run.flatMap { $0.changes.count > places.count ? nil : $0.encoded() }
        }
    }

    /// Takes in what comes as bytes, as a member of the workspace does.
    ///
    /// Returns the hashes of the changes.
    mutating func receive(bytes: [UInt8], at time: WallTime) throws(StoreError) -> [Hash256] {
        try self.transaction(at: time) { merge, transaction throws(StoreError) in
            let run = try HistoryReplica.verified(bytes, in: &transaction)
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
            let device = transaction.firstLine(of: run.replica).flatMap { transaction.line($0).device }
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
                        membership: HistoryReplica.membership(of: run),
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

    /// As if whoever is introduced had founded the workspace: others are not let in yet.
    private static func membership(of run: Run) -> Membership {
        var membership = TestDevice.membership
        if let first = run.operations.first, case .introduce(let introduction)? = try? run.edit(first) {
            membership.founder = introduction.user
        }
        return membership
    }

    /// Takes note of changes that came as bytes.
    mutating func note(_ places: some Sequence<HistoryHoldings.Place>) {
        for place in places { self.stored.add(place) }
    }

    // MARK: - In the end

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
