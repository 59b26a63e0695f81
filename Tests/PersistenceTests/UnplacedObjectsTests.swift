import CRDTCore
import MergeModel
import Testing

@testable import Persistence

/// The index of objects that stood at the root before a move put them anywhere.
@Suite struct UnplacedObjectsTests {
    private func created(_ index: UInt64, under parent: UInt64?) -> [Edit] {
        let place = Place(parent: parent.map { object($0) }, position: .initial)
        return [.create(object(index), type: "t", kind: ""), .move(object(index), place)]
    }

    /// What stood at the root when so many changes of the author had come.
    private func root(_ store: SQLiteStoreHandle, after sequence: UInt64) throws -> [ObjectID] {
        try store.read { transaction throws(StoreError) in
            let point = SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: sequence)
            let view = try HistoryView(seen: transaction.closure(of: [point]), in: &transaction)
            var past = HistoryState(view, of: transaction)
            var ids: [ObjectID] = []
            for index in try past.visibleChildren(of: nil, after: nil, limit: .max) {
                ids.append(try past.object(index).id)
            }
            return ids
        }
    }

    private func listed(_ store: SQLiteStoreHandle) throws -> Set<ObjectID> {
        try store.read { transaction throws(StoreError) in
            var ids: Set<ObjectID> = []
            for index in try transaction.unplacedObjects() { ids.insert(try transaction.look(at: index) { $0.id }) }
            return ids
        }
    }

    @Test func `a root listing of the past looks at what stood there, and no more`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([self.created(0, under: nil)])])
        let below = (10..<400).flatMap { self.created(UInt64($0), under: 0) }
        try store.receive([author.run([below, self.created(1, under: nil)])])
        // Created without a place, and moved away later, in one batch and in two.
        let bare = Edit.create(object(2), type: "t", kind: "")
        let away = Edit.move(object(2), Place(parent: object(0), position: .initial))
        try store.receive([author.run([[bare], [away]])])
        try store.receive([author.run([[.create(object(3), type: "t", kind: "")]])])
        try store.receive([author.run([[.move(object(3), Place(parent: object(0), position: .initial))]])])
        #expect(try self.root(store, after: 3) == [object(0), object(1)])
        #expect(try self.root(store, after: 4) == [object(0), object(1), object(2)])
        #expect(try self.root(store, after: 5) == [object(0), object(1)])
        #expect(try self.root(store, after: 6) == [object(0), object(1), object(3)])
        #expect(try self.root(store, after: 7) == [object(0), object(1)])
        #expect(try self.listed(store) == [object(2), object(3)])
        let found = try store.read { transaction throws(StoreError) in try transaction.objectsEverBelow(nil).count }
        #expect(found == 4)
        // A rebuild finds the same, and what is missing is noticed.
        try store.write { transaction throws(StoreError) in
            var merge = Merge(now: Author.now, founder: TestDevice.user)
            try merge.rebuild(in: &transaction)
        }
        #expect(try self.listed(store) == [object(2), object(3)])
        try store.read { transaction throws(StoreError) in #expect(try !transaction.hasUnlistedPlace()) }
        _ = try directory.shell("DELETE FROM unplaced")
        try store.read { transaction throws(StoreError) in #expect(try transaction.hasUnlistedPlace()) }
        store.close()
    }
}
