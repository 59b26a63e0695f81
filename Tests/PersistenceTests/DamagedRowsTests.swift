import Testing

@testable import Persistence

/// A disk may change any value of any row, and SQLite's check of a file knows nothing of what the values mean.
///
/// Whatever is there, reading it throws, or it is taken for what it says: nothing traps, and nothing goes on for ever.
struct DamagedRowsTests {
    /// One column of one table, and what its rows are told apart by.
    struct Column: Hashable, Sendable, CustomTestStringConvertible {
        var table: String
        var key: String
        var name: String

        var testDescription: String { "\(self.table).\(self.name)" }

        func damage(_ value: String, row: Int) -> String {
            """
            UPDATE OR IGNORE \(self.table) SET \(self.name) = \(value) WHERE (\(self.key)) IN
            (SELECT \(self.key) FROM \(self.table) LIMIT 1 OFFSET \(row) % (SELECT count(*) FROM \(self.table)))
            AND \(self.name) IS NOT \(value)
            """
        }

        /// Writes a value into a row of a database that nobody has open, and tells whether it is another now.
        func becomes(_ value: String, row: Int, in directory: TemporaryDirectory) throws -> Bool {
            let database = try DatabaseConnection(directory.database, busyMilliseconds: 0)
            // A table that is strict refuses some types.
            guard (try? database.execute(self.damage(value, row: row))) != nil else { return false }
            return try database.texts("SELECT changes()") == ["1"]
        }
    }

    /// Columns that cannot be damaged, and why.
    private static let exceptions: [(reason: String, columns: Set<String>)] = [
        ("SQLite computes it from the key", ["register.object", "register.name"]),
        (
            "rows are made where there are several circles, which the writers do not have, and are read for the views",
            [
                "overlay.object", "overlay.place", "overlay.beside", "overlay.rank", "access.access", "access.circle",
                "access.scope", "access.user", "access.can_write", "access.property",
            ]
        ),
    ]

    private static var exceptionNames: Set<String> { self.exceptions.reduce(into: []) { $0.formUnion($1.columns) } }

    /// Every column of a new database, as SQLite itself lists them.
    private static func schema() throws -> [Column] {
        let database = try DatabaseConnection(":memory:", busyMilliseconds: 0)
        for sql in [Schema.tables, Schema.views] { try database.execute(sql) }
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        return try database.texts(tables).flatMap { table in
            let key = try database.texts("SELECT name FROM pragma_table_info('\(table)') WHERE pk > 0 ORDER BY pk")
            // This one lists what is computed, too.
            return try database.texts("SELECT name FROM pragma_table_xinfo('\(table)')").map {
                Column(table: table, key: key.joined(separator: ", "), name: $0)
            }
        }
    }

    /// The columns that are damaged; none if the schema cannot be read, which has a test of its own.
    static let columns = ((try? Self.schema()) ?? []).filter { !Self.exceptionNames.contains($0.testDescription) }

    private static let values = [
        "NULL", "-1", "0", "1", "77", "4294967297", "9223372036854775807", "-9223372036854775808", "0.5",
        "'text'", "x''", "x'ff'", "x'00ffffffffffffffffff01'", "zeroblob(32)",
    ]

    @Test func `every column of the schema is damaged, but for those that cannot be`() throws {
        let all = try Self.schema()
        #expect(all.allSatisfy { !$0.key.isEmpty })
        let names = Set(all.map(\.testDescription))
        #expect(Self.exceptionNames.isSubset(of: names), "\(Self.exceptionNames.subtracting(names))")
        #expect(Set(Self.columns.map(\.testDescription)) == names.subtracting(Self.exceptionNames))
        // Where one could be damaged after all, it would be no exception.
        let sound = try TemporaryDirectory()
        _ = try DamagedWriters(in: try SQLiteStoreHandle(sound))
        for (reason, columns) in Self.exceptions {
            for column in all where columns.contains(column.testDescription) {
                let changed = try sound.shell(column.damage("1", row: 0) + "; SELECT changes()")
                #expect(changed != "1", "\(column.testDescription): \(reason)")
            }
        }
    }

    @Test(.serialized, arguments: DamagedRowsTests.columns) func `no value of a row traps`(column: Column) throws {
        let sound = try TemporaryDirectory()
        let writers = try DamagedWriters(in: try SQLiteStoreHandle(sound))
        // A column that no row has anything in cannot be damaged: the writers have to fill it.
        try #require(
            try sound.shell("SELECT count(*) > 0 FROM \(column.table) WHERE \(column.name) IS NOT NULL") == "1"
        )
        var damageCount = 0
        for (number, value) in Self.values.enumerated() {
            // Of the first few rows each is damaged somehow.
            let damaged = try TemporaryDirectory()
            try damaged.fill(from: sound)
            // Some values a column cannot have, and others are there already.
            guard try column.becomes(value, row: number, in: damaged) else { continue }
            damageCount += 1
            // One that is refused whole is read no further.
            guard let store = try? SQLiteStoreHandle(damaged) else { continue }
            writers.use(store)
        }
        #expect(damageCount > Self.values.count / 4)
    }
}
