import CRDTCore
import MergeModel
import Persistence
import Testing

/// What anyone sees who opens the file with `sqlite3`.
@Suite struct NamedViewTests {
    private static let columns: [(table: String, columns: String)] = [
        ("objects", "id,type,kind,parent,owner,creator,created_at,updated_at"),
        ("properties", "id,object_id,name,value,version,updated_at"),
        ("property_versions", "id,property_id,object_id,name,version,value,author,created_at"),
        ("property_at", "object_id,name,at,value,updated_at"),
        ("permissions", "id,object_id,property_name,user_id,can_read,can_write"),
        ("snapshots", "id,object_id,snapshot,created_at"),
    ]

    @Test func `the columns are exactly those promised`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        for (table, columns) in Self.columns {
            let found = try directory.shell("SELECT group_concat(name) FROM pragma_table_info('\(table)')")
            #expect(found == columns, "\(table)")
            let rest = table == "property_at" ? " WHERE at = 0" : ""
            #expect(try directory.shell("SELECT count(*) FROM \(table)\(rest)") == "0", "\(table)")
        }
        store.close()
    }

    private let folder = "11223344-5566-4788-0000-000000000001"
    private let child = "11223344-5566-4788-0000-000000000002"
    private var user: String { TestDevice.user.description }
    private static let time = "2023-11-14 22:13:20.000"

    private func fill(_ store: SQLiteStoreHandle) throws -> Author {
        var author = Author(number: 1)
        let place = Place(parent: object(1), position: Position(bytes: Array("a0".utf8)))
        try store.receive([
            author.run([
                [.create(object(1), type: "folder", kind: "")],
                [.create(object(2), type: "note", kind: "k"), .move(object(2), place)],
                [.set(object(2), name: "title", value: .string("old")), .set(object(2), name: "gone", value: .int(1))],
                [.set(object(2), name: "title", value: .string("new")), .unset(object(2), name: "gone")],
                [.create(object(3), type: "note", kind: ""), .set(object(3), name: "a", value: .int(1))],
                [.delete(object(3))],
            ])
        ])
        return author
    }

    @Test func `objects show what lives, where it stands and whose it is`() throws {
        let directory = try TemporaryDirectory()
        _ = try self.fill(try SQLiteStoreHandle(directory))
        let time = Self.time
        let rows = try directory.shell("SELECT * FROM objects ORDER BY id", options: ["-nullvalue", "NULL"])
        #expect(
            rows == """
                \(self.folder)|folder||NULL|\(self.user)|\(self.user)|\(time)|\(time)
                \(self.child)|note|k|\(self.folder)|\(self.user)|\(self.user)|\(time)|\(time)
                """
        )
    }

    @Test func `properties show what is set on what lives`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = try self.fill(store)
        let rows = try directory.shell("SELECT typeof(id), object_id, name, value, version, updated_at FROM properties")
        #expect(rows == "integer|\(self.child)|title|new|2|\(Self.time)")
        // Each value as SQLite's own type.
        let values: [(Value, String)] = [
            (.null, "null|"), (.bool(true), "integer|1"), (.bool(false), "integer|0"),
            (.int(.min), "integer|-9223372036854775808"), (.double(1.5), "real|1.5"), (.double(2), "real|2.0"),
            (.double(bits: 0x7ff8_0000_0000_0001), "null|"), (.string("7"), "text|7"), (.document("[1]"), "text|[1]"),
            (.bytes([65, 66]), "blob|AB"),
        ]
        for (value, expected) in values {
            try store.receive([author.run([[.set(object(1), name: "v", value: value)]])])
            let found = try directory.shell("SELECT typeof(value), value FROM properties WHERE name = 'v'")
            #expect(found == expected)
        }
    }

    @Test func `versions show every write, in force or not`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        _ = try self.fill(store)
        // Concurrent with all of the above, and earlier: a conflict that does not win.
        var other = Author(number: 2, stamp: Stamp(milliseconds: Author.start.milliseconds - 1))
        try store.receive([other.run([[.set(object(2), name: "title", value: .string("other"))]])])
        let columns = "typeof(id), typeof(property_id), name, version, value, author, created_at"
        let query = "SELECT \(columns) FROM property_versions"
        let rows = try directory.shell("\(query) WHERE object_id = '\(self.child)' ORDER BY name, version")
        let (time, otherTime) = (Self.time, "2023-11-14 22:13:19.999")
        #expect(
            rows == """
                integer|integer|gone|1|1|\(self.user)|\(time)
                integer|integer|gone|2||\(self.user)|\(time)
                integer|integer|title|1|other|\(self.user)|\(otherTime)
                integer|integer|title|2|old|\(self.user)|\(time)
                integer|integer|title|3|new|\(self.user)|\(time)
                """
        )
        #expect(try directory.shell("SELECT version FROM properties WHERE name = 'title'") == "3")
        #expect(try directory.shell("SELECT count(*) FROM version WHERE status = 1") == "1")
        #expect(try directory.shell("SELECT count(*) FROM property_versions WHERE name = 'a'") == "1")
        // Creations, deletions and places are none.
        #expect(try directory.shell("SELECT count(*) FROM version WHERE status > 1") == "1")
        #expect(try directory.shell("SELECT count(*), count(DISTINCT id) FROM property_versions") == "6|6")
        let joined = "SELECT count(*) FROM properties AS p JOIN property_versions AS v ON v.property_id = p.id"
        #expect(try directory.shell(joined) == "3")
    }

    @Test func `versions of two forks have ids of their own`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = try self.fill(store)
        var branch = author
        let root = Place(parent: nil, position: .initial)
        let runs = [
            author.run([[.set(object(2), name: "b", value: .int(1)), .move(object(2), root)]]),
            branch.run([[.set(object(2), name: "b", value: .int(2)), .move(object(2), root)]]),
        ]
        try store.receive(runs)
        // Moves that had not seen each other are no versions of a property.
        #expect(try directory.shell("SELECT count(other_open_moves) FROM object") == "1")
        let query = "SELECT version, value FROM property_versions WHERE name = 'b' ORDER BY version"
        let winner = try directory.shell("SELECT value FROM properties WHERE name = 'b'")
        #expect(try directory.shell(query) == "1|\(winner == "1" ? 2 : 1)\n2|\(winner)")
        // The same, whichever of them comes first.
        let other = try TemporaryDirectory()
        let second = try SQLiteStoreHandle(other)
        _ = try self.fill(second)
        try second.receive(runs.reversed())
        #expect(try other.shell(query) == directory.shell(query))
    }

    @Test func `a reader with a transaction open does not hinder writing`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = try self.fill(store)
        let reader = try OpenReader(directory.database)
        defer { reader.stop() }
        try store.receive([author.run([[.set(object(1), name: "while", value: .int(1))]])])
        #expect(try directory.shell("SELECT value FROM properties WHERE name = 'while'") == "1")
    }
}
