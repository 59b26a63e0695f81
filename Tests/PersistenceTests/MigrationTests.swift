import CRDTCore
import MergeModel
import Testing

@testable import Persistence

@Suite struct MigrationTests {
    /// The checksums of the released migrations.
    ///
    /// A line is added with each one; no line is ever changed.
    private static let released: [(version: Int32, checksum: UInt64)] = [
        (1, 0x6fe3_9f2a_1dea_449b), (2, 0x8cd9_bbc4_f89b_83f4), (3, 0x8660_c57c_ad4b_2482),
        (4, 0x8708_0f89_50c7_18e7), (5, 0x6ba7_17aa_626e_f3ce), (6, 0xb433_0c74_d3fe_147a),
        (7, 0xfc9c_a4cd_adb7_d6a8), (8, 0x74c3_311f_d1d2_e0f0),
    ]

    /// The version of the newest schema.
    private static let last = Int32(SchemaMigration.all.count)

    /// FNV-1a, 64 bits.
    private static func checksum(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    @Test func `released migrations are as they were released`() {
        let found = SchemaMigration.all.map { (version: $0.version, checksum: Self.checksum($0.sql)) }
        #expect(found.map(\.version) == Self.released.map(\.version))
        #expect(found.map(\.checksum) == Self.released.map(\.checksum))
        #expect(found.map(\.version) == Array(1...Int32(found.count)))
    }

    private func store(
        _ directory: TemporaryDirectory,
        _ migrations: [SchemaMigration]
    ) throws -> SQLiteStore {
        try SQLiteStore(
            directory: directory.path,
            origin: Author.origin,
            configuration: StoreConfiguration(),
            migrations: migrations
        )
    }

    @Test func `an older database is backed up and brought up to date`() throws {
        let directory = try TemporaryDirectory()
        let old = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try old.receive([author.run([[.set(object(1), name: "n", value: .string("kept"))]])])
        let export = try old.export()
        old.close()
        try self.upgrade(directory, export)
    }

    private func upgrade(_ original: TemporaryDirectory, _ export: String) throws {
        let directory = try TemporaryDirectory()
        try directory.fill(from: original)
        let next = SchemaMigration(
            version: Self.last + 1,
            sql: "CREATE TABLE added (a INTEGER); INSERT INTO added VALUES (7);"
        )
        var store = try self.store(directory, SchemaMigration.all + [next])
        let found = try store.read { transaction throws(StoreError) in try StateExport.json(of: &transaction) }
        #expect(String(decoding: found, as: UTF8.self) == export)
        store.close()
        #expect(try directory.shell("SELECT a FROM added; PRAGMA user_version") == "7\n\(Self.last + 1)")
        let backup = directory.database + ".schema-\(Self.last)"
        #expect(try directory.permissions(of: backup) == 0o600)
        let kept = try Program.run(["sqlite3", backup, "SELECT value FROM properties; PRAGMA user_version"]).output
        #expect(kept == "kept\n\(Self.last)")
    }

    @Test func `a migration that fails changes nothing`() throws {
        let directory = try TemporaryDirectory()
        do { try SQLiteStoreHandle(directory).close() }
        let broken = SchemaMigration(
            version: Self.last + 1,
            sql: "CREATE TABLE added (a INTEGER); SELECT nonsense FROM nowhere;"
        )
        #expect(throws: StoreError.self) { _ = try self.store(directory, SchemaMigration.all + [broken]) }
        let question = "SELECT count(*) FROM sqlite_schema WHERE name = 'added'; PRAGMA user_version"
        #expect(try directory.shell(question) == "0\n\(Self.last)")
        try SQLiteStoreHandle(directory).close()
    }

    @Test func `the fixture of schema 2 holds the writes that were named`() throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: directory.database)
        _ = try directory.shell(FixtureSchema0002.sql)
        let store = try SQLiteStoreHandle(directory)
        #expect(directory.exists(directory.database + ".schema-2"))
        try store.read { transaction throws(StoreError) in
            let content = Hash256(bytes: Bytes32(1, 2, 3, 4))
            let none = RememberedWrite(content: content, created: [])
            let two = RememberedWrite(content: content, created: [object(2), object(4)])
            #expect(try transaction.rememberedWrite("none") == none)
            #expect(try transaction.rememberedWrite("two") == two)
            #expect(try transaction.rememberedWrite("three") == nil)
        }
    }

    @Test(arguments: [(1, FixtureSchema0001.sql), (2, FixtureSchema0002.sql), (3, FixtureSchema0003.sql)])
    func `the fixture of each schema opens and holds what it held`(version: Int, sql: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: directory.database)
        _ = try directory.shell(sql)
        #expect(try directory.shell("PRAGMA user_version") == "\(version)")
        let store = try SQLiteStoreHandle(directory)
        let views = """
            SELECT id, type, kind, parent FROM objects ORDER BY id;
            SELECT object_id, name, quote(value) FROM properties ORDER BY object_id, name;
            SELECT name, quote(value) FROM property_versions ORDER BY name, version;
            """
        #expect(try directory.shell(views) == FixtureSchema0001.objects)
        let heads = try store.read { transaction in
            (0..<UInt32(transaction.lineCount)).map { transaction.line(LineIndex(rawValue: $0)) }
        }
        #expect(heads.map(\.storedHash.description) == FixtureSchema0001.heads)
        for (number, head) in heads.enumerated() {
            var previous = Author.origin
            if let parent = head.origin?.parent {
                previous = try store.read { transaction throws(StoreError) in
                    try transaction.header(at: parent)?.hash ?? .zero
                }
            }
            for run in try store.runs(of: LineIndex(rawValue: UInt32(number))) {
                previous = ChainHash.hashes(of: run, previous: previous, TestDevice.cryptography).last ?? previous
            }
            #expect(previous == head.storedHash)
        }
        // The log says the same as the state.
        let export = try store.export()
        try store.write { transaction throws(StoreError) in
            var merge = Merge(now: Author.now, founder: TestDevice.user)
            try merge.rebuild(in: &transaction)
        }
        #expect(try store.export() == export)
        #expect(try directory.shell("SELECT count(*) FROM raised") == "2")
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.pairedDevices().map(\.name) == ["phone"])
            #expect(try transaction.invites().map(\.expiry) == [Author.now])
            #expect(try transaction.addresses().map(\.port) == [4242])
        }
        // It can be written on, and remembers writes.
        try store.write { transaction throws(StoreError) in
            let write = RememberedWrite(content: .zero, created: [object(1)])
            try transaction.remember(write, as: "new")
            #expect(try transaction.rememberedWrite("new") == write)
        }
        var other = Author(number: 2)
        #expect(try store.receive([other.run([[.set(object(1), name: "n", value: .int(1))]])]) == [.stored])
    }

    @Test func `what was dropped before schema 7 is shown as it was`() throws {
        let directory = try TemporaryDirectory()
        try self.writeFixtureOfSchema5(to: directory)
        var sixth = try self.store(directory, Array(SchemaMigration.all.prefix(6)))
        sixth.close()
        let views = """
            SELECT * FROM properties ORDER BY id;
            SELECT * FROM property_versions ORDER BY id;
            SELECT * FROM property_at WHERE at = 1900000000 ORDER BY object_id, name;
            """
        let before = try directory.shell(views)
        #expect(before.contains("public"))
        let store = try SQLiteStoreHandle(directory)
        #expect(try directory.shell("PRAGMA user_version") == "\(Self.last)")
        #expect(try directory.shell(views) == before)
        store.close()
    }

    /// A database of schema 5, which holds branches, dropped writes and an erasure.
    private func writeFixtureOfSchema5(to directory: TemporaryDirectory) throws {
        try directory.write([], to: directory.database)
        // The workspace was another one.
        let origin = "UPDATE fact SET value = x'\(Author.origin)' WHERE name = 'origin';"
        _ = try directory.shell(FixtureSchema0005.sql + "\n" + origin)
    }

    /// What the fixture of schema 5 shows.
    private static let views = """
        SELECT id, type, kind, parent FROM objects ORDER BY id;
        SELECT object_id, name, quote(value), version FROM properties ORDER BY object_id, name;
        SELECT name, quote(value) FROM property_versions ORDER BY object_id, name, version;
        """

    @Test func `the fixture of schema 5 holds branches, what was dropped, and what was erased`() throws {
        let directory = try TemporaryDirectory()
        try self.writeFixtureOfSchema5(to: directory)
        let store = try SQLiteStoreHandle(directory)
        #expect(try directory.shell(Self.views) == FixtureSchema0005.objects)
        #expect(try directory.shell("SELECT count(*) FROM unmerged; SELECT count(*) FROM spent") == "2\n2")
        let export = try store.export()
        let onBranch = try store.read { transaction throws(StoreError) -> [String] in
            #expect(try !transaction.hasUnlistedName())
            #expect(try !transaction.hasUnlistedPlace())
            return transaction.timelines.open.map { transaction.timelines[$0]?.opening.name ?? "" }.sorted()
        }
        #expect(onBranch == ["draft", "other"])
        // The log says the same as the state.
        let later = WallTime(milliseconds: 1_800_000_000_000)
        try store.write { transaction throws(StoreError) in
            var merge = Merge(now: later, founder: TestDevice.user)
            try merge.rebuild(in: &transaction)
        }
        #expect(try store.export() == export)
        #expect(try directory.shell(Self.views) == FixtureSchema0005.objects)
        #expect(try directory.shell("SELECT count(*) FROM unmerged; SELECT count(*) FROM spent") == "2\n2")
        try store.read { transaction throws(StoreError) in
            #expect(try !transaction.hasUnlistedName())
            #expect(try !transaction.hasUnlistedPlace())
        }
    }

    @Test(arguments: 5..<SchemaMigration.all.count)
    func `a database of each later schema opens and shows what it showed`(version: Int) throws {
        let directory = try TemporaryDirectory()
        try self.writeFixtureOfSchema5(to: directory)
        var old = try self.store(directory, Array(SchemaMigration.all.prefix(version)))
        old.close()
        #expect(try directory.shell("PRAGMA user_version") == "\(version)")
        let store = try SQLiteStoreHandle(directory)
        #expect(try directory.shell(Self.views) == FixtureSchema0005.objects)
        #expect(try directory.shell("SELECT name FROM branches ORDER BY name") == "draft\nother")
        // Of the two operations that are not merged, the other is a move.
        #expect(try directory.shell("SELECT count(*) FROM branch_versions") == "1")
        store.close()
    }
}
