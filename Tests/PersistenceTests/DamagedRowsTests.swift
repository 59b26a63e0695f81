import CRDTCore
import MergeModel
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
                "line", "line",
                """
                line replica introduction parent_line parent_sequence first_hash sibling_hash stored_sequence \
                stored_hash applied_sequence applied_stamp recent checkpoint_sequence checkpoint_number first_raised
                """
            ),
            ("name", "name", "name text"),
            ("grant_reference", "grant_reference", "grant_reference replica sequence idx"),
            (
                "change", "line, sequence",
                """
                line sequence stamp operation operation_count byte_count context has_left_out blinding hash
                """
            ),
            ("operation", "operation", "operation kind object operand grant_reference tag value"),
            ("run_signature", "line, sequence", "line sequence operation_count byte_count signature"),
            ("restamp", "restamp", "author_line replica first_sequence last_sequence last_hash is_settled"),
            ("raised", "line, sequence", "line sequence stamp cause_line cause_sequence"),
            ("checkpoint", "line, sequence", "line sequence number base additions"),
            (
                "object", "object",
                """
                object id created_stamp created_line created_sequence created_idx type kind existence updated parent \
                position open_move_line open_move_sequence open_move_idx other_open_moves child_count \
                visible_child_count visible changed shown hidden placed
                """
            ),
            ("register", "register", "register stamp line sequence idx is_removal conflict_count changed write_count"),
            ("name_block", "name, block", "name block"),
            ("version", "register, stamp, line, sequence, idx", "register stamp line sequence idx status"),
            ("move", "stamp, line, sequence, idx", "stamp line sequence idx object parent position effective"),
            ("paired_device", "paired_device", "device static_key name lapse"),
            ("invite", "invite", "secret expiry"),
            ("address", "address", "device static_key host port"),
            ("remembered_write", "remembered_write", "remembered_write name content created"),
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
        let sound = try TemporaryDirectory()
        let writers = try Writers(in: try SQLiteStoreHandle(sound))
        #expect(try sound.shell("SELECT count(*) > 0 FROM \(column.table) WHERE \(column.name) IS NOT NULL") == "1")
        var damageCount = 0
        for (number, value) in Self.values.enumerated() {
            // Of the first few rows each is damaged somehow.
            let damaged = try TemporaryDirectory()
            try damaged.fill(from: sound)
            if try damaged.shell(column.damage(value, row: number) + "; SELECT changes()") == "1" { damageCount += 1 }
            guard let store = try? SQLiteStoreHandle(damaged) else { continue }
            writers.use(store)
        }
        // Some values a column cannot have, and others are there already.
        #expect(damageCount > Self.values.count / 4)
    }

    /// Whoever writes has forked, was restamped, wrote what others write, and had seen some of it.
    private struct Writers {
        private var main = Author(number: 1)
        private var branch: Author
        private var other = Author(number: 2, stamp: Stamp(milliseconds: Author.start.milliseconds - 60_000))
        private var late = Author(number: 3)
        private let history = GeneratedHistory(
            MergePlanGenerator.plan(seed: 5, changes: 12, troubles: [.fastClocks])
        )

        /// Fills a store so that every table has rows, and closes it.
        init(in store: SQLiteStoreHandle) throws {
            self.branch = self.main
            var runs = [self.main.run([Self.edits(1), Self.edits(2)])]
            self.branch = self.main
            let grant = GrantID(dot: Dot(replica: self.main.replica, sequence: 1), index: 0)
            runs.append(self.main.run([Self.edits(3), Self.edits(4)], grant: grant))
            runs.append(self.branch.run([Self.edits(5), Self.edits(6)]))
            // Its clock is behind, so that its stamps are raised.
            runs.append(self.other.run([Self.edits(7), Self.edits(8)], context: [self.branch.point]))
            let restamp = Restamp(
                replica: self.branch.replica,
                firstSequence: 3,
                lastSequence: self.branch.sequence,
                lastHash: runs[2].hashes[1]
            )
            runs.append(self.late.run([[.restamp(restamp)], Self.edits(9)]))
            try store.receive(runs)
            try store.receive(self.history.changes.map { self.history.sealed([$0]) })
            try store.write { transaction throws(StoreError) in
                for line in (0..<UInt32(transaction.lineCount)).map({ LineIndex(rawValue: $0) }) {
                    let point = LinePoint(line: line, sequence: transaction.line(line).firstSequence)
                    let additions = try transaction.context(at: point)
                    try transaction.setCheckpoint(Checkpoint(number: 0, base: 0, additions: additions), at: point)
                }
                let key = StaticKey(bytes: Bytes32(1, 2, 3, 4))
                let lapse = WallTime(milliseconds: 5)
                try transaction.setPairedDevices([
                    PairedDeviceRecord(device: DeviceID(bytes: .zero), staticKey: key, name: "n", lapse: lapse)
                ])
                try transaction.setInvites([InviteRecord(secret: .zero, expiry: lapse)])
                try transaction.setAddresses([
                    AddressRecord(device: DeviceID(bytes: .zero), staticKey: key, host: "h", port: 1)
                ])
                for name in Self.names {
                    try transaction.remember(RememberedWrite(content: .zero, created: [object(1)]), as: name)
                }
            }
            store.close()
        }

        private static let names = ["a", "b"]

        /// One of each kind, on few objects.
        private static func edits(_ number: Int64) -> [Edit] {
            let (one, two) = (object(UInt64(number % 3)), object(UInt64(number % 2 + 1)))
            return [
                .create(one, type: "t", kind: "k"), .set(one, name: "n", value: .int(number)),
                .set(two, name: "\(number)", value: .double(0.5)), .unset(two, name: "n"),
                .move(one, Place(parent: two, position: Position(bytes: [UInt8(number)]))), .delete(two),
            ]
        }

        /// Whatever fails, the next is tried.
        func use(_ store: SQLiteStoreHandle) {
            var (main, branch, other) = (self.main, self.branch, self.other)
            self.read(store)
            let restamp = Restamp(
                replica: main.replica,
                firstSequence: 1,
                lastSequence: main.sequence,
                lastHash: main.head
            )
            var newer = branch
            let runs = [
                branch.run([Self.edits(10)], context: [other.point]), newer.run([Self.edits(11)]),
                other.run([[.restamp(restamp)] + Self.edits(12)], context: [main.point]), main.run([Self.edits(13)]),
            ]
            for run in runs { _ = try? store.receive([run]) }
            // All clocks are set back, and right again.
            for milliseconds in [0, Author.now.milliseconds, Author.now.milliseconds * 2] {
                _ = try? store.receive([], now: WallTime(milliseconds: milliseconds))
            }
            for number in 0..<3 {
                _ = try? store.write { transaction throws(StoreError) in
                    try transaction.remember(RememberedWrite(content: .zero, created: []), as: "new \(number)")
                }
            }
            _ = try? store.write { transaction throws(StoreError) in
                var merge = Merge(now: Author.now, founder: TestDevice.user)
                _ = try merge.waits(in: &transaction)
                try merge.rebuild(in: &transaction)
            }
            self.read(store)
            store.close()
        }

        private func read(_ store: SQLiteStoreHandle) {
            _ = try? store.export()
            _ = try? store.read { transaction throws(StoreError) in
                _ = try transaction.pairedDevices()
                _ = try transaction.invites()
                _ = try transaction.addresses()
            }
            for name in Self.names {
                _ = try? store.read { transaction throws(StoreError) in try transaction.rememberedWrite(name) }
            }
            let lineCount = (try? store.read { transaction in transaction.lineCount }) ?? 0
            for line in (0..<UInt32(lineCount)).map({ LineIndex(rawValue: $0) }) {
                _ = try? store.runs(of: line)
                _ = try? store.read { transaction throws(StoreError) in
                    let record = transaction.line(line)
                    for sequence in record.firstSequence...record.firstSequence + 10 {
                        guard sequence <= record.storedSequence else { break }
                        _ = try transaction.context(at: LinePoint(line: line, sequence: sequence))
                    }
                }
            }
            _ = try? store.read { transaction throws(StoreError) in
                for (key, register) in try transaction.conflictedRegisters() {
                    _ = try transaction.edit(register.winner)
                    for write in try transaction.conflicts(at: key) { _ = try transaction.edit(write) }
                }
            }
            _ = try? store.read { transaction throws(StoreError) in
                for object in try transaction.objectsWithDifferentCreations() {
                    for write in try transaction.creations(of: object) { _ = try transaction.edit(write) }
                }
            }
            _ = try? store.read { transaction throws(StoreError) in
                for object in try transaction.objectsWithOpenMoves() {
                    for write in try transaction.openMoves(of: object) { _ = try transaction.edit(write) }
                }
                _ = try transaction.movesWithoutEffect()
            }
        }
    }
}
