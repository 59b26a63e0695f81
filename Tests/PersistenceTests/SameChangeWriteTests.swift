import CRDTCore
import MergeModel
import Testing

@testable import Persistence

/// A change may write to one property very often, so the write before another one of it is not looked for among all.
@Suite struct SameChangeWriteTests {
    @Test func `it is the last one before`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        let often = (0..<5).map { Edit.set(object(1), name: "n", value: .int($0)) }
        let between = [Edit.set(object(1), name: "m", value: .int(0))]
        try store.receive([author.run([often, Array(often[..<2]) + between + Array(often[2...])])])
        let found = try store.read { transaction throws(StoreError) in
            let index = try transaction.existingObjectIndex(of: object(1)) ?? ObjectIndex(rawValue: 0)
            let key = RegisterKey(object: index, name: try transaction.nameIndex(of: "n"))
            guard var write = try transaction.register(key)?.winner else { return [UInt32]() }
            var places = [write.index]
            while let before = try transaction.writeOfSameChange(before: write, at: key) {
                (write, places) = (before, places + [before.index])
            }
            return places
        }
        #expect(found == [5, 4, 3, 1, 0])
    }

    @Test func `it is found by one step in the index`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        let plan = try directory.shell("EXPLAIN QUERY PLAN \(StoreQuery.versionOfSameChange.sql)")
        #expect(plan.contains("PRIMARY KEY (register=? AND stamp=? AND segment=? AND sequence=? AND idx<?)"), "\(plan)")
        #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
    }
}
