package import CRDTCore

/// A replica's store together with what has been delivered to it.
package final class TestNode<Store: ReplicaStore & ~Copyable> {
    private var store: Store
    private let objects: [ObjectID]
    /// The circle that is looked at.
    private let circle: Circle
    /// The hashes of its changes that have been stored.
    package private(set) var stored: Set<Hash256> = []
    /// How many changes of another circle were stored.
    private var storedBesideCount = 0
    package var now: WallTime
    private let number: Int

    package init(
        store: consuming Store,
        objects: [ObjectID],
        in circle: Circle = .home,
        now: WallTime,
        number: Int = 0
    ) {
        (self.circle, self.number) = (circle, number)
        self.store = store
        self.objects = objects
        self.now = now
    }

    /// One transaction of merging.
    private func merging<Result>(
        _ body: (inout Merge, inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var merge = Merge.ofTestNode(self.number, at: self.now)
        return try self.store.write { transaction throws(StoreError) in try body(&merge, &transaction) }
    }

    /// Hands runs to the store in one transaction.
    ///
    /// Returns whether each was taken in.
    @discardableResult
    package func receive(_ runs: [VerifiedRun]) throws -> [Merge.Reception] {
        let receptions = try self.merging { merge, transaction throws(StoreError) in
            var receptions: [Merge.Reception] = []
            for run in runs { receptions.append(try merge.receive(run, in: &transaction)) }
            try merge.finish(in: &transaction)
            return receptions
        }
        for (run, reception) in zip(runs, receptions) where reception == .stored {
            self.stored.formUnion(run.hashes)
        }
        return receptions
    }

    /// Hands the next changes of another circle to the store, in the order in which they were written.
    package func receiveBeside(_ history: GeneratedHistory, count: Int) throws {
        let changes = history.changes.dropFirst(self.storedBesideCount).prefix(count)
        self.storedBesideCount += changes.count
        try self.merging { merge, transaction throws(StoreError) in
            for change in changes { _ = try merge.receive(history.sealed([change]), in: &transaction) }
            try merge.finish(in: &transaction)
        }
    }

    /// What a user would see of all circles, and the changes of another circle that are stored.
    func combination(beside others: GeneratedHistory) throws -> (seen: NaiveCombination, stored: Set<Hash256>) {
        let stored = Set(others.changes.prefix(self.storedBesideCount).map(\.hash))
        let seen = try self.store.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            return try NaiveCombination(of: &state)
        }
        return (seen, stored)
    }

    /// The same by a view of all changes that count, which finds everything without the tables of the store.
    func combinationByChanges() throws -> NaiveCombination {
        try self.store.read { transaction throws(StoreError) in
            var seen = SeenSegments()
            for segment in transaction.segmentIndices {
                let progress = transaction.progress(of: segment)
                if progress.countedSequence >= progress.firstSequence {
                    _ = seen.raise(segment, to: progress.countedSequence)
                }
            }
            var state = CombinedState(HistoryView(seen: seen), of: transaction)
            return try NaiveCombination(of: &state)
        }
    }

    /// What the store should answer to some runs.
    package func expected(_ runs: [VerifiedRun]) -> [Merge.Reception] {
        var stored = self.stored.union([ChainHash.origin(TestDevice.workspace)])
        return runs.map { run in
            guard stored.contains(run.previous) else { return .doesNotFit }
            if stored.isSuperset(of: run.hashes) { return .duplicate }
            stored.formUnion(run.hashes)
            return .stored
        }
    }

    /// Reads what the store has.
    package func read<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.store.read(body)
    }

    /// Computes the state anew from the log.
    package func rebuild() throws {
        try self.merging { merge, transaction throws(StoreError) in try merge.rebuild(in: &transaction) }
    }

    /// Drops writes up to a stamp as if everybody had all that is stored here.
    @discardableResult
    package func compact(through horizon: Stamp) throws -> Compaction.Summary {
        try self.merging { merge, transaction throws(StoreError) in
            var acknowledged = SeenSegments()
            for segment in transaction.segmentIndices {
                let last = transaction.progress(of: segment).appliedSequence
                if last > 0 { _ = acknowledged.raise(segment, to: last) }
            }
            var compaction = try Compaction(
                horizon: horizon,
                acknowledged: acknowledged,
                isDryRun: false,
                in: &transaction
            )
            var next: SegmentPoint? = Compaction.start
            while let place = next {
                next = try compaction.step(from: place, &merge, in: &transaction, TestDevice.cryptography)
            }
            return compaction.summary
        }
    }

    /// Erases what the changes that were handed to the store ask for.
    @discardableResult
    package func erase() throws -> Erasing.Summary {
        try self.merging { merge, transaction throws(StoreError) in
            var erasing = Erasing()
            var all = ErasureAllowance.unlimited
            while !erasing.isDone {
                try erasing.step(&merge, allowing: &all, in: &transaction, TestDevice.cryptography)
            }
            return erasing.summary
        }
    }

    /// Whether nothing was dropped elsewhere that is still needed here.
    package func isComplete() throws -> Bool {
        try self.store.read { transaction throws(StoreError) in try transaction.isComplete() }
    }

    /// Repairs what is needed of stored changes, from runs that have them in full.
    ///
    /// - Returns: the number of changes that were repaired.
    @discardableResult
    package func repair(from runs: [VerifiedRun]) throws -> Int {
        try self.merging { merge, transaction throws(StoreError) in
            for run in runs {
                try merge.repair(from: run.run, hashes: run.hashes, in: &transaction, TestDevice.cryptography)
            }
            try merge.finish(in: &transaction)
            return merge.summary.repairedChanges.count
        }
    }

    /// The whole state in plain words.
    package func state() throws -> PlainState {
        try self.store.read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: self.objects, in: self.circle)
        }
    }

    /// What the store exports.
    package func export() throws -> [UInt8] {
        try self.store.read { transaction throws(StoreError) in
            // Which of several other circles came first decides about the numbers of objects alone.
            if transaction.circles.count <= 2 { return try StateExport.json(of: &transaction) }
            var state = CombinedState(.present, of: transaction)
            return try StateExport.json(of: &state)
        }
    }

    /// The segments that the store has, and the first and the last sequence of each.
    package func segments() throws -> [(SegmentIndex, ClosedRange<UInt64>)] {
        try self.store.read { transaction throws(StoreError) in
            var segments: [(SegmentIndex, ClosedRange<UInt64>)] = []
            for segment in transaction.segmentIndices {
                let record = transaction.segment(segment)
                guard transaction.circles[record.circle] == self.circle else { continue }
                guard record.firstSequence <= record.storedSequence else { throw .damaged("a segment is empty") }
                segments.append((segment, record.firstSequence...record.storedSequence))
            }
            return segments
        }
    }

    /// A stored run as it would be sent on to another node, and the hash of the change before it.
    package func load(
        _ segment: SegmentIndex,
        from sequence: UInt64,
        limits: RunLimits
    ) throws -> (run: Run, previous: Hash256)? {
        try self.store.read { transaction throws(StoreError) in
            let run = try transaction.loadRun(of: segment, from: sequence, limits: limits, signed: true)
            guard let run else { return nil }
            let record = transaction.segment(segment)
            if sequence == 1 { return (run, ChainHash.origin(TestDevice.workspace)) }
            var before = SegmentPoint(segment: segment, sequence: sequence - 1)
            if sequence == record.firstSequence, let parent = record.origin?.parent { before = parent }
            guard let previous = try transaction.hash(at: before) else { throw .damaged("a run has nothing before it") }
            return (run, previous)
        }
    }

    /// Whether a branch is open.
    package func isOpen(_ branch: BranchID) throws -> Bool {
        try self.store.read { transaction throws(StoreError) in transaction.isOpen(branch) }
    }

    /// What the store would tell a peer that it holds of the circle.
    package func frontier() throws -> Frontier {
        try self.store.read { transaction throws(StoreError) in
            let all = try Frontier(of: &transaction)
            return Frontier(
                all.entries.filter { entry in
                    let circle = transaction.firstSegment(of: entry.replica).map { transaction.progress(of: $0).circle }
                    return circle.map { transaction.circles[$0] } == self.circle
                }
            )
        }
    }
}
