import CRDTCore
import MergeModel
import Testing

@testable import Persistence

/// The list of the objects that were created several times, differently.
@Suite struct CreationListTests {
    /// Creations by three authors who know nothing of each other: of the same kind, of others, and of one author twice.
    private static func runs() -> [VerifiedRun] {
        var authors = (1...3).map { Author(number: $0) }
        let changes: [[[Edit]]] = [
            [
                [.create(object(1), type: "note", kind: "a"), .create(object(2), type: "note", kind: "a")],
                [.create(object(3), type: "note", kind: "a"), .create(object(4), type: "note", kind: "a")],
                [.create(object(5), type: "note", kind: "a"), .create(object(5), type: "note", kind: "b")],
            ],
            [[.create(object(1), type: "note", kind: "a"), .create(object(2), type: "note", kind: "b")]],
            [[.create(object(2), type: "note", kind: "a"), .create(object(3), type: "list", kind: "a")]],
        ]
        return changes.indices.map { authors[$0].run(changes[$0]) }
    }

    @Test func `both stores list those, and no others, in any order of arrival`() throws {
        let runs = Self.runs()
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let memory = TestNode(store: MemoryStore(origin: Author.origin), objects: [], now: Author.now)
            let disk = try SQLiteStoreHandle(try TemporaryDirectory())
            for number in order {
                try memory.receive([runs[number]])
                try disk.receive([runs[number]])
            }
            let listed = try memory.read { transaction throws(StoreError) in try Self.list(in: &transaction) }
            #expect(listed == [object(2), object(3), object(5)])
            #expect(try disk.read { transaction throws(StoreError) in try Self.list(in: &transaction) } == listed)
        }
    }

    private static func list(in transaction: inout some StoreTransaction) throws(StoreError) -> [ObjectID] {
        var listed: [ObjectID] = []
        for index in try transaction.objectsWithDifferentCreations() {
            listed.append(try transaction.object(index).id)
        }
        return listed.sorted()
    }

    @Test func `no list of conflicts reads all versions`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        for query in [StoreQuery.objectsWithDifferentCreations, .conflictedRegisters, .objectsWithOpenMoves] {
            let plan = try directory.shell("EXPLAIN QUERY PLAN \(query.sql)")
            let scans = plan.split(separator: "\n").filter { $0.contains("SCAN") && !$0.contains(" INDEX ") }
            #expect(scans.isEmpty, "\(query): \(scans)")
        }
    }
}
