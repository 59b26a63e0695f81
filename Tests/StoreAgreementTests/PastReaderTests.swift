import CRDTCore
import MergeModel
import Persistence
import Testing

/// States of the past beside the naive model of fewer changes.
@Suite struct PastReaderTests {
    /// What a reader says of everything, in the words of the model.
    private func state(
        _ reader: inout PastReader,
        of objects: [ObjectID],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectID: PastObject] {
        var found: [ObjectID: PastObject] = [:]
        for id in objects {
            guard let index = try transaction.existingObjectIndex(of: id),
                try reader.isVisible(index, in: &transaction)
            else { continue }
            var object = PastObject()
            let place = try reader.place(of: index, in: &transaction)
            if let parent = place.parent { object.parent = try transaction.object(parent).id }
            object.position = place.position
            for (name, value) in try reader.properties(of: index, in: &transaction) {
                object.properties[MergeModel.ExactText(try transaction.name(name))] = value
            }
            for child in try reader.children(of: index, in: &transaction)
            where try reader.isVisible(child, in: &transaction) {
                object.children.append(try transaction.object(child).id)
            }
            if let creation = try reader.creation(of: index, in: &transaction) {
                object.type = MergeModel.ExactText(try transaction.name(creation.type))
            }
            found[id] = object
        }
        return found
    }

    private struct PastObject: Equatable {
        var type: MergeModel.ExactText?
        var parent: ObjectID?
        var position = Position.initial
        var properties: [MergeModel.ExactText: Value] = [:]
        var children: [ObjectID] = []

        init() {}

        init(_ object: PlainObject) {
            self.type = object.creation?.type
            self.parent = object.parent
            self.position = object.position
            self.children = object.children
            for property in object.properties {
                if case .set(_, _, let value) = property.winner.edit { self.properties[property.name] = value }
            }
        }
    }

    private func expected(_ history: GeneratedHistory, _ stored: Set<Hash256>) -> [ObjectID: PastObject] {
        let model = NaiveModel(history.naive(stored, now: history.end.advanced(byMilliseconds: 10_000_000)))
        let visible = model.state().objects.filter(\.isVisible)
        return Dictionary(uniqueKeysWithValues: visible.map { ($0.id, PastObject($0)) })
    }

    private func compare(_ found: [ObjectID: PastObject], _ expected: [ObjectID: PastObject], _ plan: String) {
        for id in Set(found.keys).union(expected.keys).sorted() where found[id] != expected[id] {
            let words = [found[id], expected[id]].map { $0.map { "\($0)" } ?? "nothing" }
            Issue.record("\(id): \(words[0]), expected \(words[1]); \(plan)")
        }
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
        var (points, stamps): ([Hash256: LinePoint], [Hash256: Stamp]) = ([:], [:])
        try node.read { transaction throws(StoreError) in
            for position in 0..<transaction.lineCount {
                let line = LineIndex(rawValue: UInt32(position))
                let record = transaction.line(line)
                for sequence in record.firstSequence...max(record.firstSequence, record.appliedSequence) {
                    let point = LinePoint(line: line, sequence: sequence)
                    guard let hash = try transaction.hash(at: point) else { continue }
                    points[hash] = point
                    stamps[hash] = try transaction.effectiveStamp(at: point)
                }
            }
        }
        var viewCount = 0
        for change in history.changes where points[change.hash] != nil {
            let state = try node.read { transaction throws(StoreError) -> ([ObjectID: PastObject], Set<Hash256>) in
                guard let point = points[change.hash] else { return ([:], []) }
                let view = PastView(seen: try transaction.closure(of: [point]))
                var reader = PastReader(view)
                let counted = points.filter { $0.value.sequence <= view.seen?[$0.value.line] ?? 0 }.map(\.key)
                return (try self.state(&reader, of: history.objects, in: &transaction), Set(counted))
            }
            self.compare(state.0, self.expected(history, state.1), "PEERD_PLAN='\(plan.text)'")
            viewCount += 1
        }
        for time in Set(stamps.values.map(\.milliseconds)) {
            let counted = stamps.filter { $0.value.milliseconds <= time }.map(\.key)
            var reader = PastReader(PastView(at: WallTime(milliseconds: time)))
            let state = try node.read { transaction throws(StoreError) in
                try self.state(&reader, of: history.objects, in: &transaction)
            }
            self.compare(state, self.expected(history, Set(counted)), "\(time): PEERD_PLAN='\(plan.text)'")
            viewCount += 1
        }
        #expect(viewCount > 5)
    }

    @Test(arguments: [MergeTroubles.variety, .forks, [.variety, .standstill, .forks], .fastClocks])
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
