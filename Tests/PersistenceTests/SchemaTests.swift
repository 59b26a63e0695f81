import CRDTCore
import Engine
import Foundation
import MergeModel
import Testing

@testable import Persistence

/// A database that this version wrote opens, also where the sources that would write it have changed since.
@Suite struct SchemaTests {
    /// The version, and the checksum of what it has: whoever changes a table or a view raises the version.
    private static let current: (version: Int32, checksum: UInt64) = (25, 0x3f2d_a1db_4c68_e4c7)

    /// FNV-1a, 64 bits.
    private static func checksum(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    @Test func `a schema that changes gets another version`() {
        #expect(Schema.version == Self.current.version)
        #expect(Self.checksum(Schema.tables + Schema.views) == Self.current.checksum)
    }

    /// The output of `.dump` for a database that `DamagedWriters` filled.
    private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixture.dump")

    /// Where a new one is written, after the formats have changed.
    private static let newFixture = ProcessInfo.processInfo.environment["PEERD_NEW_FIXTURE"]

    @Test(.enabled(if: newFixture != nil, "PEERD_NEW_FIXTURE names no file"))
    func `a new fixture is written`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        _ = try DamagedWriters(in: store)
        store.close()
        let version = "PRAGMA application_id = \(Schema.applicationID);\nPRAGMA user_version = \(Schema.version);\n"
        let dump = try directory.shell(".dump").replacing("PRAGMA foreign_keys=OFF;\n", with: "")
        try (version + dump).write(toFile: try #require(Self.newFixture), atomically: true, encoding: .utf8)
    }

    private static let views = """
        SELECT id, type, kind, parent FROM objects ORDER BY id;
        SELECT object_id, name, quote(value), version FROM properties ORDER BY object_id, name;
        """

    private static let shown = """
        075c8519-a932-0579-0000-000000000003|||3462d848-f53a-bb6d-0000-000000000004
        11223344-5566-4788-0000-000000000000|t|k|11223344-5566-4788-0000-000000000001
        11223344-5566-4788-0000-000000000001|t|k|
        11223344-5566-4788-0000-000000000002|t|k|11223344-5566-4788-0000-000000000001
        11223344-5566-4788-0000-000000000005|t|k|
        12ae3023-7b17-df14-0000-000000000000|task||
        3462d848-f53a-bb6d-0000-000000000004|||
        826c6abf-7fdd-5ad7-0000-000000000002|||
        d56b1fbb-9ceb-a9e8-0000-000000000001|||826c6abf-7fdd-5ad7-0000-000000000002
        075c8519-a932-0579-0000-000000000003|body|X'00FF'|1
        075c8519-a932-0579-0000-000000000003|z|65|1
        11223344-5566-4788-0000-000000000000|n|6|3
        11223344-5566-4788-0000-000000000001|14|0.5|1
        11223344-5566-4788-0000-000000000001|2|0.5|1
        11223344-5566-4788-0000-000000000001|4|0.5|1
        11223344-5566-4788-0000-000000000001|6|0.5|1
        11223344-5566-4788-0000-000000000001|8|0.5|1
        11223344-5566-4788-0000-000000000002|1|0.5|1
        11223344-5566-4788-0000-000000000002|3|0.5|1
        11223344-5566-4788-0000-000000000002|5|0.5|1
        11223344-5566-4788-0000-000000000002|7|0.5|1
        11223344-5566-4788-0000-000000000002|9|0.5|1
        11223344-5566-4788-0000-000000000002|n|8|9
        11223344-5566-4788-0000-000000000005|n|1|8
        3462d848-f53a-bb6d-0000-000000000004||970|1
        826c6abf-7fdd-5ad7-0000-000000000002||849|1
        d56b1fbb-9ceb-a9e8-0000-000000000001|z|203|1
        """

    private static let others = """
        SELECT object_id, name, quote(value), version FROM property_versions ORDER BY object_id, name, version, value;
        SELECT name, parent FROM branches ORDER BY name;
        SELECT object_id, name, quote(value) FROM branch_versions ORDER BY object_id, name, value;
        SELECT object_id, length(snapshot) FROM snapshots;
        """

    private func check(_ directory: TemporaryDirectory, _ moment: Comment) throws {
        #expect(try directory.shell(Self.views) == Self.shown, moment)
        let others = try directory.shell(Self.others)
        #expect(Self.checksum(others) == 0x458b_91df_8c89_e66a, "\(moment): \(others)")
    }

    @Test func `a database of this version opens and holds what it held`() throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: directory.database)
        _ = try directory.shell(".read '\(Self.fixture.path)'")
        let store = try SQLiteStoreHandle(directory)
        try self.check(directory, "as it was written")
        let export = try store.export()
        // The log says the same as the state.
        try store.write { transaction throws(StoreError) in
            var merge = Merge(now: Author.now, founder: TestDevice.user)
            try merge.rebuild(in: &transaction)
        }
        #expect(try store.export() == export)
        try self.check(directory, "built again from the log")
        try store.read { transaction throws(StoreError) in
            #expect(try !transaction.hasUnlistedName())
            #expect(try !transaction.hasUnlistedPlace())
            #expect(try transaction.pairedDevices().map(\.introduction) == [[1, 2, 3]])
            #expect(try transaction.addresses().map(\.port) == [1])
            #expect(try transaction.rememberedWrite("a")?.created == [object(1)])
        }
        store.close()
    }
}
