import CRDTCore
import Foundation
import MergeModel
import Persistence
import Testing

/// The history of properties in plain SQL: numbered the same everywhere, found by indexes, and readable at any moment.
@Suite struct VersionViewTests {
    /// Each version but for its local id.
    private static let versions = """
        SELECT object_id, name, version, quote(value), author, created_at FROM property_versions
        ORDER BY object_id, name, version
        """

    /// Histories with forks, restamps, wrong clocks and writes of one moment.
    private static func history(_ seed: UInt64) -> GeneratedHistory {
        GeneratedHistory(MergePlanGenerator.plan(seed: seed, changes: 40, troubles: .all.subtracting(.branches)))
    }

    private func store(
        _ directory: TemporaryDirectory,
        _ history: GeneratedHistory,
        _ changes: [NaiveChange]
    ) throws -> SQLiteStoreHandle {
        let store = try SQLiteStoreHandle(directory)
        for change in changes { try store.receive([history.sealed([change])], now: history.end) }
        return store
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `versions have the same numbers, whatever came first`(seed: UInt64) throws {
        let history = Self.history(seed)
        let (first, second) = (try TemporaryDirectory(), try TemporaryDirectory())
        let one = try self.store(first, history, history.changes)
        // Chain by chain, the last one first.
        let chains = history.replicas.reversed().map { replica in history.changes.filter { $0.replica == replica } }
        let two = try self.store(second, history, chains.flatMap { $0 })
        #expect(try one.export() == two.export())
        let versions = try first.shell(Self.versions)
        #expect(try second.shell(Self.versions) == versions)
        #expect(versions.contains("|2|") || seed > 0)
        // From 1 on without gaps, and the one in force is the last.
        let gaps = """
            SELECT count(*) FROM (SELECT count(*) AS n, count(DISTINCT version) AS d, min(version) AS low,
            max(version) AS high FROM property_versions GROUP BY property_id)
            WHERE NOT (n = d AND low = 1 AND high = n);
            SELECT count(*) FROM properties AS p JOIN property_versions AS v ON v.property_id = p.id
            AND v.version = p.version WHERE v.value IS NOT p.value OR v.created_at <> p.updated_at;
            """
        #expect(try first.shell(gaps) == "0\n0")
        one.close()
        two.close()
    }

    /// A change of which only hashes came has no rows of operations, and others have theirs.
    @Test func `a write whose value is missing shows no other's`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var (liar, other) = (Author(number: 1), Author(number: 2))
        try store.receive([liar.run([[.create(object(1), type: "t", kind: "")]]), other.run([[]])])
        try store.receive([liar.run([.set(object(1), name: "n", value: .int(1))], redacting: [0])])
        try store.receive([other.run([[.set(object(2), name: "m", value: .string("secret"))]])])
        let shown = "SELECT name, quote(value) FROM property_versions ORDER BY name"
        #expect(try directory.shell(shown) == "m|'secret'")
        #expect(try directory.shell("SELECT name, quote(value) FROM properties ORDER BY name") == "m|'secret'")
        store.close()
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a property at a moment is its last version up to then`(seed: UInt64) throws {
        let history = Self.history(seed)
        let directory = try TemporaryDirectory()
        let store = try self.store(directory, history, history.changes)
        // Every moment at which something was written, the ones beside it, and some far away.
        _ = try directory.shell(
            """
            CREATE TABLE moment (ms INTEGER PRIMARY KEY);
            INSERT OR IGNORE INTO moment SELECT (stamp >> 16 & 281474976710655) + beside.value
            FROM (SELECT stamp FROM register UNION SELECT stamp FROM version) JOIN json_each('[-1,0,1]') AS beside;
            INSERT OR IGNORE INTO moment VALUES (0), (1), (4102444800000);
            """
        )
        let question = """
            WITH asked AS (
                SELECT ms, ms / 1000.0 AS seconds,
                strftime('%Y-%m-%d %H:%M:%f', ms / 1000.0, 'unixepoch') AS time FROM moment
            ), expected AS (
                SELECT asked.ms, v.object_id, v.name, v.value, v.created_at FROM asked
                JOIN property_versions AS v ON v.version = (
                    SELECT max(version) FROM property_versions AS w
                    WHERE w.property_id = v.property_id AND w.created_at <= asked.time
                ) JOIN operation ON operation.operation = v.id AND operation.kind <= 2
            ), found AS (
                SELECT asked.ms, a.object_id, a.name, a.value, a.updated_at FROM asked
                JOIN property_at AS a ON a.at = format(FORM)
            )
            SELECT (SELECT count(*) FROM expected) > 100,
                (SELECT count(*) FROM (SELECT * FROM expected EXCEPT SELECT * FROM found)),
                (SELECT count(*) FROM (SELECT * FROM found EXCEPT SELECT * FROM expected));
            """
        for form in ["'%.3f', asked.seconds", "'\"%s\"', asked.time"] {
            let found = try directory.shell(question.replacing("FORM", with: form))
            #expect(found == "1|0|0", "\(form)")
        }
        store.close()
    }

    /// The writes in force at a time, as the tables call them: object, name, and the time of the write.
    private func expected(_ store: SQLiteStoreHandle, at time: WallTime) throws -> Set<String> {
        try store.read { transaction throws(StoreError) in
            let stamp = HistoryView(at: time).lastStamp
            let seen = try transaction.seen(through: stamp)
            var history = History(try HistoryView(seen: seen, in: &transaction))
            var rows: Set<String> = []
            for object in try transaction.knownObjects(after: nil, limit: .max) {
                let id = try transaction.look(at: object) { $0.id }
                for (name, _) in try transaction.registers(of: object) {
                    let key = RegisterKey(object: object, name: name)
                    guard let write = try history.write(at: key, in: &transaction),
                        case .set? = try transaction.edit(write)
                    else { continue }
                    rows.insert("\(id)|\(try transaction.name(name))|\(write.stamp.milliseconds)")
                }
            }
            return rows
        }
    }

    /// What was written on a branch counts from the merge on, and of two merges from the earlier one on.
    @Test(arguments: 0..<12 as Range<UInt64>)
    func `a property at a moment is not what a branch had that was not merged`(seed: UInt64) throws {
        let plan = MergePlanGenerator.plan(seed: 70_000 + seed, changes: 50, troubles: [.branches, .variety, .forks])
        let history = GeneratedHistory(plan)
        let chains = history.replicas.reversed().map { replica in history.changes.filter { $0.replica == replica } }
        for changes in [history.changes, chains.flatMap { $0 }] {
            let directory = try TemporaryDirectory()
            let store = try self.store(directory, history, changes)
            let times = Set(try directory.shell("SELECT stamp >> 16 FROM change").split(separator: "\n"))
            for text in times {
                let time = try #require(UInt64(text))
                let question = """
                    SELECT object_id || '|' || name || '|' ||
                    CAST(round((julianday(updated_at) - 2440587.5) * 86400000) AS INTEGER)
                    FROM property_at WHERE at = '\(time / 1000).\(String(1000 + time % 1000).dropFirst())'
                    """
                let found = Set(try directory.shell(question).split(separator: "\n").map(String.init))
                let expected = try self.expected(store, at: WallTime(milliseconds: time))
                #expect(found == expected, "\(time): PEERD_PLAN='\(plan.text)'")
            }
            store.close()
        }
    }

    @Test func `a value that stayed where a later one was dropped has no number, and is not the last`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        let id = object(1)
        // The first stays, since something else in its change does, and takes no more room than its hash.
        let values = ["first", String(repeating: "second", count: 20), "third"]
        try store.receive([author.run([[.create(id, type: "t", kind: "")]])])
        for value in values {
            author.stamp = Stamp(milliseconds: author.stamp.milliseconds + 1_000)
            let other = Edit.set(id, name: value == "first" ? "other" : "k", value: .string(value))
            try store.receive([author.run([[.set(id, name: "k", value: .string(value)), other]])])
        }
        let versions = """
            SELECT version, substr(value, 1, 6) FROM property_versions WHERE name = 'k' ORDER BY created_at, version
            """
        let moments = """
            SELECT coalesce((SELECT substr(value, 1, 6) FROM property_at WHERE name = 'k'
                AND at = format('%.3f', 1700000000 + second.value + 0.5)), '-') FROM json_each('[0,1,2,3]') AS second
            """
        #expect(try directory.shell(versions) == "1|first\n2|second\n3|second\n4|third\n5|third")
        #expect(try directory.shell(moments) == "-\nfirst\nsecond\nthird")
        try store.compact(now: Author.now)
        #expect(try directory.shell(versions) == "|first\n4|third\n5|third")
        #expect(try directory.shell(moments) == "-\n-\n-\nthird")
        #expect(try directory.shell("SELECT version, value FROM properties WHERE name = 'k'") == "5|third")
        store.close()
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `after a compaction the views show nothing that they had not shown`(seed: UInt64) throws {
        let history = Self.history(seed)
        let directory = try TemporaryDirectory()
        let store = try self.store(directory, history, history.changes)
        let moments = try directory.shell("SELECT json_group_array(DISTINCT created_at) FROM property_versions")
        let past = """
            SELECT moment.value, object_id, name, quote(a.value), updated_at FROM json_each('\(moments)') AS moment
            JOIN property_at AS a ON a.at = format('"%s"', moment.value)
            """
        let versions = Self.versions.replacing("FROM property", with: "FROM (SELECT * FROM property")
            .replacing("ORDER", with: "WHERE version IS NOT NULL) ORDER")
        let questions = [versions, past, "SELECT * FROM properties"]
        func answers() throws -> [Set<Substring>] {
            try questions.map { Set(try directory.shell($0).split(separator: "\n")) }
        }
        let before = try answers()
        try store.compact(now: history.end)
        let after = try answers()
        for (earlier, later) in zip(before, after) {
            #expect(later.subtracting(earlier).isEmpty)
            #expect(!later.isEmpty)
        }
        #expect(before[2] == after[2])
        store.close()
    }

    @Test func `lookups use indexes`() throws {
        let directory = try TemporaryDirectory()
        let store = try self.store(directory, Self.history(1), Self.history(1).changes)
        let id = try directory.shell("SELECT id FROM object LIMIT 1")
        let questions = [
            "objects WHERE id = '\(id)'", "objects WHERE parent = '\(id)'", "objects WHERE type = 'a'",
            "properties WHERE object_id = '\(id)'", "properties WHERE name = 'a'", "properties WHERE id = 4294967297",
            "properties WHERE object_id = '\(id)' AND name = 'a'",
            "property_versions WHERE object_id = '\(id)'", "property_versions WHERE property_id = 4294967297",
            "property_versions WHERE name = 'a'", "property_versions WHERE object_id = '\(id)' AND name = 'a'",
            "branch_versions WHERE object_id = '\(id)'", "permissions WHERE object_id = '\(id)'",
            "property_at WHERE object_id = '\(id)' AND at = 0", "property_at WHERE name = 'a' AND at = 0",
            "properties AS p JOIN property_versions AS v ON v.property_id = p.id WHERE p.object_id = '\(id)'",
            "objects AS o JOIN properties AS p ON p.object_id = o.id WHERE o.parent = '\(id)'",
        ]
        for question in questions {
            let plan = try directory.shell("EXPLAIN QUERY PLAN SELECT * FROM \(question)")
            let scans = plan.split(separator: "\n").filter { line in
                // Two rows that are in the query, and the moment that it names.
                // Lists that the query makes of one property's writes are no tables either.
                line.contains("SCAN") && !line.contains("CONSTANT ROW") && !line.hasSuffix("SCAN side")
                    && !line.contains("VIRTUAL TABLE") && !line.contains("SCAN (subquery")
            }
            #expect(scans.isEmpty, "\(question): \(scans)")
        }
        store.close()
    }

    @Test func `the list of branches looks at all statements and stretches once, and not for each branch`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        let plan = try directory.shell("EXPLAIN QUERY PLAN SELECT * FROM branches")
        #expect(!plan.contains("CORRELATED"), "\(plan)")
    }

    @Test func `a search by name finds the properties that a look at all of them finds`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        // Names that all objects have, that a few have, and that are written in later transactions, over several
        // blocks of objects.
        let names = [("every", 1), ("some", 50), ("one", 300), ("last", 199)]
        for (number, (name, step)) in names.enumerated() {
            let edits = stride(from: step, through: 399, by: step).flatMap { index in
                let id = object(UInt64(index))
                let creation = Edit.create(id, type: "t", kind: "")
                return (number == 0 ? [creation] : []) + [.set(id, name: name, value: .int(Int64(index)))]
            }
            try store.receive([author.run([edits])])
        }
        for name in names.map(\.0) {
            let all = try directory.shell("SELECT * FROM properties WHERE name || '' = '\(name)' ORDER BY id")
            #expect(!all.isEmpty)
            #expect(try directory.shell("SELECT * FROM properties WHERE name = '\(name)' ORDER BY id") == all)
        }
        try store.read { transaction throws(StoreError) in #expect(try !transaction.hasUnlistedName()) }
        _ = try directory.shell("DELETE FROM name_block WHERE block = 4")
        try store.read { transaction throws(StoreError) in #expect(try transaction.hasUnlistedName()) }
        store.close()
    }
}
