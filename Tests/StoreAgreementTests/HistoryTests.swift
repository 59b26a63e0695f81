import CRDTCore
import MergeModel
import Persistence
import Testing

/// States of the past beside the naive model of fewer changes.
@Suite struct HistoryTests {
    /// All of some changes by the naive model, those on branches too.
    private func expected(_ history: GeneratedHistory, _ stored: Set<Hash256>) -> [ObjectID: VisibleObject] {
        let naive = history.naive(now: history.end.advanced(byMilliseconds: 10_000_000)).permitted()
        let numbers = Set(stored.compactMap { naive.number(of: $0) })
        return VisibleObject.all(of: NaiveModel(naive.counting(numbers, naive.verdicts())))
    }

    /// Those of some changes of a timeline that are stamped up to a time, with all that they had seen.
    private func counted(
        _ history: GeneratedHistory,
        _ stamps: [Hash256: Stamp],
        through time: UInt64,
        on branch: BranchID?
    ) -> Set<Hash256> {
        let naive = history.naive(now: history.end.advanced(byMilliseconds: 10_000_000))
        let numbers = naive.changes.indices.filter { number in
            let stamp = stamps[naive.changes[number].hash]
            return stamp.map { $0.milliseconds <= time } ?? false && naive.branch(of: number) == branch
        }
        return Set(naive.closure(of: numbers, naive.verdicts()).map { naive.changes[$0].hash })
    }

    private func compare(_ found: [ObjectID: VisibleObject], _ expected: [ObjectID: VisibleObject], _ plan: String) {
        for id in Set(found.keys).union(expected.keys).sorted() where found[id] != expected[id] {
            let words = [found[id], expected[id]].map { $0.map { "\($0)" } ?? "nothing" }
            Issue.record("\(id): \(words[0]), expected \(words[1]); \(plan)")
        }
    }

    /// All objects of a state, with a look at whether it lists those at its root.
    private func state(
        _ past: inout some StateReading,
        _ plan: String
    ) throws(StoreError) -> [ObjectID: VisibleObject] {
        let objects = try VisibleObject.all(of: &past)
        let root = objects.filter { $0.value.parent == nil }
            .sorted { ($0.value.position, $0.key) < ($1.value.position, $1.key) }
        var listed: [ObjectID] = []
        for index in try past.visibleChildren(of: nil, after: nil, limit: .max) {
            listed.append(try past.object(index).id)
        }
        #expect(listed == root.map(\.key), "\(plan)")
        return objects
    }

    /// Looks at every change with all that its author had seen, and at every moment.
    private func check<Store: ReplicaStore & ~Copyable>(
        _ history: GeneratedHistory,
        _ store: consuming Store,
        _ plan: MergePlan
    ) throws {
        let now = history.end.advanced(byMilliseconds: 10_000_000)
        let node = TestNode(store: store, objects: history.objects, now: now)
        for change in history.changes { try node.receive([history.sealed([change])]) }
        var (points, stamps): ([Hash256: SegmentPoint], [Hash256: Stamp]) = ([:], [:])
        try node.read { transaction throws(StoreError) in
            for segment in transaction.segmentIndices {
                let record = transaction.segment(segment)
                for sequence in record.firstSequence...max(record.firstSequence, record.appliedSequence) {
                    let point = SegmentPoint(segment: segment, sequence: sequence)
                    guard let hash = try transaction.hash(at: point) else { continue }
                    points[hash] = point
                    stamps[hash] = try transaction.effectiveStamp(at: point)
                }
            }
        }
        var viewCount = 0
        for change in history.changes where points[change.hash] != nil {
            let state = try node.read { transaction throws(StoreError) -> ([ObjectID: VisibleObject], Set<Hash256>) in
                guard let point = points[change.hash] else { return ([:], []) }
                let view = try HistoryView(seen: try transaction.closure(of: [point]), in: &transaction)
                var past = HistoryState(view, of: transaction)
                let counted = points.filter { $0.value.sequence <= view.seen?[$0.value.segment] ?? 0 }.map(\.key)
                return (try self.state(&past, "PEERD_PLAN='\(plan.text)'"), Set(counted))
            }
            self.compare(state.0, self.expected(history, state.1), "PEERD_PLAN='\(plan.text)'")
            viewCount += 1
        }
        for time in Set(stamps.values.map(\.milliseconds)) {
            let view = HistoryView(at: WallTime(milliseconds: time))
            let hasBranches = plan.traits.contains(.branches)
            for branch in [nil] + (hasBranches ? [1, 2].map { PlanVocabulary.branch(ofChain: $0) } : []) {
                let counted = self.counted(history, stamps, through: time, on: branch)
                let state = try node.read { transaction throws(StoreError) in
                    let seen = try transaction.seen(through: view.lastStamp, on: branch)
                    var past = HistoryState(try HistoryView(seen: seen, in: &transaction), of: transaction)
                    let state = try self.state(&past, "PEERD_PLAN='\(plan.text)'")
                    if hasBranches { return state }
                    // The same changes by their stamps.
                    var same = HistoryState(view, of: transaction)
                    guard try VisibleObject.all(of: &same) == state else {
                        throw .damaged("two views of \(time) differ")
                    }
                    return state
                }
                self.compare(state, self.expected(history, counted), "\(time): PEERD_PLAN='\(plan.text)'")
                viewCount += 1
            }
        }
        try node.read { transaction throws(StoreError) in
            var past = HistoryState(
                HistoryView(seen: try transaction.closure(of: transaction.heads())),
                of: transaction
            )
            guard try VisibleObject.all(of: &past) == VisibleObject.all(of: &transaction) else {
                throw .damaged("what the heads had seen is not everything; PEERD_PLAN='\(plan.text)'")
            }
        }
        #expect(viewCount > 5)
    }

    @Test(arguments: [
        MergeTroubles.variety, .forks, [.variety, .standstill, .forks], .fastClocks, [.branches, .variety],
        [.branches, .forks],
    ])
    func `a state of the past is the merge of fewer changes`(troubles: MergeTroubles) throws {
        for plan in try Seeds.plans(from: 15_000, count: 12, changes: 25, troubles: troubles) {
            let directories = try Directories()
            let origin = ChainHash.origin(TestDevice.workspace)
            let history = GeneratedHistory(plan)
            try self.check(history, MemoryStore(origin: origin), plan)
            try self.check(history, try SQLiteStore(directory: directories.next(), origin: origin), plan)
        }
    }
}
