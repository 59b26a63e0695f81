import CRDTCore
import MergeModel
import Persistence
import Testing

/// Chains that have forked, and what else is kept of whole changes.
@Suite struct SegmentTests {
    private static func set(_ number: Int) -> Edit { .set(object(1), name: "n", value: .int(Int64(number))) }

    /// One chain with its forks: each with what it hangs on, and its runs.
    ///
    /// All begin with the same change, but for the last, which begins the chain another time.
    private struct Tree {
        var forks: [(parent: Hash256, runs: [VerifiedRun])] = []

        init() {
            var main = Author(number: 1)
            var start = main
            start.stamp = Stamp(milliseconds: Author.start.milliseconds + 5)
            let first = main.run([[SegmentTests.set(1)], [SegmentTests.set(2)]])
            var fork = main
            let second = main.run([[SegmentTests.set(3)], [SegmentTests.set(4)]])
            let (forkHead, third) = (fork.head, fork.run([[SegmentTests.set(5)]]))
            var inner = fork
            let fourth = fork.run([[SegmentTests.set(6)]])
            let (innerFork, fifth) = (inner.head, inner.run([[SegmentTests.set(7)], [SegmentTests.set(8)]]))
            self.forks = [
                (Author.origin, [first, second]), (forkHead, [third, fourth]), (innerFork, [fifth]),
                (Author.origin, [start.run([[SegmentTests.set(9)]])]),
            ]
        }
    }

    private func records(_ store: SQLiteStoreHandle) throws -> [SegmentRecord] {
        try store.read { transaction in
            transaction.segmentIndices.map { transaction.segment($0) }
        }
    }

    private func check(_ store: SQLiteStoreHandle, _ tree: Tree) throws {
        let records = try self.records(store)
        #expect(records.map { $0.origin?.parent.segment.rawValue } == [nil, 0, 1, 0])
        #expect(records.map { $0.origin?.parent.sequence } == [nil, 2, 3, 0])
        #expect(records.map { $0.next?.rawValue } == [1, 2, 3, nil])
        #expect(records.map(\.storedSequence) == [4, 4, 5, 1])
        #expect(records.map(\.appliedSequence) == [4, 4, 5, 1])
        for (number, (parent, runs)) in tree.forks.enumerated() {
            let hashes = runs.flatMap(\.hashes)
            #expect(records[number].storedHash == hashes.last)
            #expect(records[number].introduction == records[0].introduction)
            if let origin = records[number].origin {
                #expect(origin.firstHash == hashes[0])
                #expect(records[number].firstSequence == origin.parent.sequence + 1)
            }
            let segment = SegmentIndex(rawValue: UInt32(number))
            for limits in [RunLimits(), RunLimits(changeCountMax: 1)] {
                var previous = parent
                for run in try store.runs(of: segment, limits: limits) {
                    #expect(run.previous == (previous == Author.origin ? nil : ChangeName(previous)))
                    previous = ChainHash.hashes(of: run, previous: previous, TestDevice.cryptography).last ?? previous
                }
                #expect(previous == hashes.last)
            }
        }
    }

    @Test func `forks are there again after closing, each with the change that it hangs on`() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        let tree = Tree()
        for fork in tree.forks {
            for run in fork.runs { #expect(try store.receive([run]) == [.stored]) }
        }
        try self.check(store, tree)
        let (records, export) = (try self.records(store), try store.export())
        store.close()
        store = try SQLiteStoreHandle(directory)
        #expect(try self.records(store) == records)
        #expect(try store.export() == export)
        try self.check(store, tree)
    }

    @Test func `a chain that has not forked says nothing of the change before`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        try store.receive([author.run([[Self.set(1)], [Self.set(2)]])])
        let runs = try store.runs(of: SegmentIndex(rawValue: 0), limits: RunLimits(changeCountMax: 1))
        #expect(runs.allSatisfy { $0.previous == nil })
    }

    @Test func `forks and restamps of a transaction that failed are gone`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        let tree = Tree()
        try store.receive(tree.forks[0].runs)
        let before = try self.records(store)
        let restamp = Restamp(replica: before[0].id, firstSequence: 2, lastSequence: 4, lastHash: before[0].storedHash)
        let record = RestampRecord(restamp: restamp, at: .zero, author: SegmentIndex(rawValue: 0))
        var stranger = Author(number: 2)
        let others = tree.forks[1...].flatMap(\.runs) + [stranger.run([[Self.set(1)]])]
        do throws(StoreError) {
            try store.write { transaction throws(StoreError) in
                var merge = Merge(now: Author.now, founder: TestDevice.user)
                for run in others { _ = try merge.receive(run, in: &transaction) }
                try transaction.addRestamp(record)
                try transaction.settleRestamp(record)
                #expect(!transaction.restamps.isUnsettled(record))
                #expect(transaction.segmentCount == 5)
                #expect(transaction.restamps.records(of: restamp.replica, endingIn: 1...9) == [record])
                throw .inputOutput("on purpose")
            }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == .inputOutput("on purpose"))
        }
        #expect(try self.records(store) == before)
        try store.read { transaction in
            #expect(transaction.firstSegment(of: stranger.replica) == nil)
            #expect(!transaction.restamps.hasAny(of: restamp.replica))
            #expect(!transaction.restamps.isUnsettled(record))
        }
        // One that was there is what it was.
        try store.write { transaction throws(StoreError) in try transaction.addRestamp(record) }
        try? store.write { transaction throws(StoreError) in
            try transaction.settleRestamp(record)
            throw .inputOutput("on purpose")
        }
        #expect(try store.read { transaction in transaction.restamps.unsettled } == [record])
        // A fork is added behind the last that is left.
        try store.receive(tree.forks[1].runs)
        try store.receive(tree.forks[2...].flatMap(\.runs))
        try self.check(store, tree)
    }

    @Test func `segments that hang on what cannot be are damage`() throws {
        let sound = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(sound)
        for fork in Tree().forks { try store.receive(fork.runs) }
        store.close()
        let changes = [
            "parent_segment = NULL WHERE segment = 1", "parent_segment = 1 WHERE segment = 1",
            "parent_segment = 2 WHERE segment = 1",
            "parent_segment = 0 WHERE segment = 0", "parent_sequence = 5 WHERE segment = 1",
            "parent_sequence = 0 WHERE segment = 2",
            "replica = zeroblob(16) WHERE segment = 1", "first_hash = x'00' WHERE segment = 1",
            "segment = 7 WHERE segment = 1",
        ]
        for change in changes {
            let damaged = try TemporaryDirectory()
            try damaged.fill(from: sound)
            _ = try damaged.shell("UPDATE segment SET \(change)")
            #expect(throws: StoreError.self, "\(change)") { _ = try SQLiteStoreHandle(damaged) }
        }
    }

    @Test func `raised stamps, restamps and contexts are kept and found`() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        let tree = Tree()
        try store.receive(tree.forks[0].runs)
        let segment = SegmentIndex(rawValue: 0)
        func point(_ sequence: UInt64) -> SegmentPoint { SegmentPoint(segment: segment, sequence: sequence) }
        let stamps = [
            RaisedStamp(stamp: Stamp(rawValue: .max), cause: point(1)),
            RaisedStamp(stamp: Stamp(rawValue: 7), cause: point(1)), RaisedStamp(stamp: .zero, cause: nil),
        ]
        let restamps = (1...3 as ClosedRange<UInt64>).map { number in
            let id = ReplicaID(bytes: Bytes16(high: number / 2, low: 5))
            let restamp = Restamp(replica: id, firstSequence: number, lastSequence: 9, lastHash: .zero)
            return RestampRecord(restamp: restamp, at: Stamp(rawValue: .max - number), author: segment)
        }
        let kept = [
            Checkpoint(number: 1, base: 0, additions: [1]), Checkpoint(number: 0, base: 2, additions: [1 << 40]),
        ]
        try store.write { transaction throws(StoreError) in
            for (number, stamp) in stamps.enumerated() {
                try transaction.setRaisedStamp(stamps[1], at: point(UInt64(number) + 2))
                try transaction.setRaisedStamp(stamp, at: point(UInt64(number) + 2))
            }
            for restamp in restamps { try transaction.addRestamp(restamp) }
            for (number, checkpoint) in [(2, kept[0]), (4, kept[0]), (4, kept[1]), (5, kept[0])] {
                try transaction.setCheckpoint(checkpoint, at: point(UInt64(number)))
            }
            try transaction.removeCheckpoints(of: segment, after: 4)
        }
        store.close()
        store = try SQLiteStoreHandle(directory)
        try store.write { transaction throws(StoreError) in
            for (number, stamp) in stamps.enumerated() {
                #expect(try transaction.raisedStamp(at: point(UInt64(number) + 2)) == stamp)
            }
            #expect(try transaction.raisedStamp(at: point(1)) == nil)
            #expect(try transaction.raisedStamps(causedBy: point(1)) == [point(2), point(3)])
            #expect(transaction.restamps.records(of: restamps[0].restamp.replica, endingIn: 9...9) == [restamps[0]])
            let others = transaction.restamps.records(of: restamps[1].restamp.replica, endingIn: 1...99)
            #expect(others == Array(restamps[1...]))
            #expect(try transaction.checkpoint(of: segment, upTo: 1) == nil)
            #expect(try transaction.checkpoint(of: segment, upTo: 3)?.checkpoint == kept[0])
            #expect(try transaction.checkpoint(of: segment, upTo: 9)?.sequence == 4)
            #expect(try transaction.checkpoint(of: segment, upTo: 9)?.checkpoint == kept[1])
            #expect(try transaction.checkpoints(of: segment).map(\.sequence) == [2, 4])
            try transaction.setRaisedStamp(nil, at: point(2))
            #expect(try transaction.raisedStamps(causedBy: point(1)) == [point(3)])
            try transaction.clearDerivedState()
            #expect(try transaction.raisedStamp(at: point(3)) == nil)
            #expect(try transaction.checkpoint(of: segment, upTo: 9) == nil)
            #expect(transaction.restamps.records(of: restamps[0].restamp.replica, endingIn: 9...9) == [restamps[0]])
        }
    }

    @Test func `contexts of a stretch are what its changes added`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var (author, other) = (Author(number: 1), Author(number: 2))
        var points: [Point] = []
        for number in 0..<4 {
            try store.receive([other.run([[]])])
            points.append(other.point)
            try store.receive([author.run([[Self.set(number)], []], context: [other.point])])
        }
        try store.read { transaction throws(StoreError) in
            guard let segment = transaction.firstSegment(of: author.replica) else {
                throw .damaged("the segment is missing")
            }
            #expect(try transaction.contexts(of: segment, after: 0, through: 8) == points)
            #expect(try transaction.contexts(of: segment, after: 1, through: 5) == Array(points[1...2]))
            #expect(try transaction.contexts(of: segment, after: 5, through: 6).isEmpty)
        }
    }

    @Test func `the history of an object is every operation on it, until its rows are taken away`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        var fork = author
        fork.stamp = Stamp(milliseconds: Author.start.milliseconds + 1)
        let root = Place(parent: nil, position: .initial)
        let runs = [
            author.run([[.create(object(1), type: "t", kind: "k"), Self.set(1), .move(object(1), root)]]),
            author.run([[Self.set(2), .delete(object(1)), Self.set(3), .delete(object(2))]]),
            fork.run([[Self.set(4), .move(object(1), root), .create(object(1), type: "u", kind: "")]]),
        ]
        try store.receive(runs)
        try store.write { transaction throws(StoreError) in
            let index = try transaction.objectIndex(of: object(1))
            func history() throws(StoreError) -> Set<[UInt64]> {
                let writes = try transaction.history(of: index)
                let found = Set(writes.map { [UInt64($0.segment.rawValue), $0.sequence, UInt64($0.index)] })
                #expect(found.count == writes.count)
                return found
            }
            #expect(
                try history() == [
                    [0, 1, 1], [0, 1, 2], [0, 1, 3], [0, 2, 0], [0, 2, 1], [0, 2, 2], [1, 1, 1], [1, 1, 2], [1, 1, 3],
                ]
            )
            #expect(try transaction.objectsWithOpenMoves() == [index])
            #expect(try transaction.openMoves(of: index).count == 2)
            #expect(try transaction.conflictedRegisters().map(\.0.name) == [try transaction.nameIndex(of: "n")])
            let key = RegisterKey(object: index, name: try transaction.nameIndex(of: "n"))
            try transaction.removeRegister(key)
            #expect(try transaction.register(key) == nil)
            #expect(try transaction.conflicts(at: key).isEmpty)
            #expect(try history() == [[0, 1, 1], [0, 1, 3], [0, 2, 1], [1, 1, 2], [1, 1, 3]])
            try transaction.update(index) { $0.otherOpenMoves = [] }
            #expect(try transaction.objectsWithOpenMoves().isEmpty)
            for write in try transaction.history(of: index) {
                let isMove = try transaction.edit(write)?.kind == .move
                #expect(try transaction.removeMove(write, of: index) == (isMove ? write : nil))
            }
            try transaction.removeRegister(RegisterKey(object: index, name: .lifetime))
            try transaction.update(index) { $0.creation = nil }
            #expect(try transaction.history(of: index).isEmpty)
        }
    }

    @Test func `a move that is restamped in the transaction that brings it is kept`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1, stamp: Stamp(milliseconds: Author.now.milliseconds))
        var other = Author(number: 2)
        let place = Place(parent: object(2), position: Position(bytes: [3]))
        let run = author.run([[.create(object(1), type: "", kind: "")], [.move(object(1), place)]])
        let restamp = Restamp(replica: author.replica, firstSequence: 1, lastSequence: 2, lastHash: author.head)
        try store.receive([run, other.run([[.restamp(restamp)]])])
        try store.read { transaction throws(StoreError) in
            let record = try transaction.object(try transaction.objectIndex(of: object(1)))
            #expect(try transaction.existingObjectIndex(of: object(2)) == record.parent)
            #expect(record.position == place.position)
            #expect(record.updated == Stamp(rawValue: 1))
        }
    }
}
