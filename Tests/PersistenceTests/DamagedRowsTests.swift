import CRDTCore
import MergeTestSupport
import Persistence
import Testing

/// A disk may change any value of any row, and SQLite's check of a file knows nothing of what the values mean.
///
/// Whatever is there, reading it throws, or it is taken for what it says: nothing traps, and nothing goes on for ever.
struct DamagedRowsTests {
    /// One column of one table, and what its rows are told apart by.
    struct Column: Sendable, CustomTestStringConvertible {
        var table: String
        var key: String
        var name: String

        var testDescription: String { "\(self.table).\(self.name)" }

        func damage(_ value: String, row: Int) -> String {
            """
            UPDATE OR IGNORE \(self.table) SET \(self.name) = \(value) WHERE (\(self.key)) IN
            (SELECT \(self.key) FROM \(self.table) LIMIT 1 OFFSET \(row) % (SELECT count(*) FROM \(self.table)))
            """
        }
    }

    static let columns: [Column] = {
        let tables: [(name: String, key: String, columns: String)] = [
            (
                "replica", "replica",
                """
                replica id introduction stored_sequence stored_hash stored_stamp applied_sequence applied_stamp \
                context fork_sequence retired_after backdated_after
                """
            ),
            ("name", "name", "name text"),
            (
                "change", "replica, sequence",
                """
                replica sequence stamp operation operation_count payload_byte_count context has_left_out blinding hash
                """
            ),
            ("operation", "operation", "operation kind object operand grant_reference tag value"),
            ("run_signature", "replica, sequence", "replica sequence operation_count payload_byte_count signature"),
            (
                "object", "object",
                """
                object id created_stamp created_replica created_sequence created_idx type kind existence updated \
                parent position child_count visible_child_count visible
                """
            ),
            ("register", "register", "register stamp replica sequence idx is_removal conflict_count"),
            ("version", "register, stamp, replica, sequence, idx", "register stamp replica sequence idx status"),
            (
                "move", "stamp, replica, sequence, idx",
                "stamp replica sequence idx object parent position effective"
            ),
        ]
        return tables.flatMap { table in
            table.columns.split(separator: " ").map {
                Column(table: table.name, key: table.key, name: String($0))
            }
        }
    }()

    private static let values = [
        "NULL", "-1", "0", "1", "77", "4294967297", "9223372036854775807", "-9223372036854775808", "0.5",
        "'text'", "x''", "x'ff'", "x'00ffffffffffffffffff01'", "zeroblob(32)",
    ]

    @Test(arguments: DamagedRowsTests.columns) func `no value of a row traps`(column: Column) throws {
        let history = HistoryGenerator.history(seed: 5, changes: 30, traits: [.fastClocks, .retirements])
        let sound = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(sound)
        try self.receive(history, part: 0, into: store)
        try store.close()
        for (number, value) in Self.values.enumerated() {
            let damaged = try TemporaryDirectory()
            try damaged.fill(from: sound)
            _ = try damaged.shell(column.damage(value, row: number))
            guard let store = try? SQLiteStoreHandle(damaged) else { continue }
            self.use(store, history)
        }
    }

    private func receive(_ history: GeneratedHistory, part: Int, into store: SQLiteStoreHandle) throws {
        for replica in history.replicas {
            let count = history.chains[replica]?.count ?? 0
            let range = part == 0 ? 0..<count * 2 / 3 : count * 2 / 3..<count
            guard !range.isEmpty else { continue }
            try store.receive([history.sealed(replica, range)], now: history.end)
        }
    }

    /// Whatever fails, the next is tried.
    private func use(_ store: SQLiteStoreHandle, _ history: GeneratedHistory) {
        _ = try? store.export()
        for replica in history.replicas { _ = try? store.runs(of: replica) }
        _ = try? store.read { transaction throws(StoreError) in
            for (key, register) in try transaction.conflictedRegisters() {
                _ = try transaction.edit(register.winner)
                for write in try transaction.conflicts(at: key) { _ = try transaction.edit(write) }
            }
            _ = try transaction.movesWithoutEffect()
        }
        try? self.receive(history, part: 1, into: store)
        _ = try? store.write { transaction throws(StoreError) in
            var merge = Merge(now: history.end.advanced(byMilliseconds: 1_000_000_000))
            try merge.finish(in: &transaction)
            _ = try Merge.waits(at: history.end, in: &transaction)
        }
        _ = try? store.write { transaction throws(StoreError) in
            var merge = Merge(now: history.end)
            try merge.rebuild(in: &transaction)
            try merge.finish(in: &transaction)
        }
        _ = try? store.export()
        try? store.close()
    }
}
