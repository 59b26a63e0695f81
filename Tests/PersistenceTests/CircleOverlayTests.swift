import CRDTCore
import MergeModel
import Persistence
import Testing

/// What shows otherwise than its circle alone says is found once, and kept as long as it is true.
@Suite struct CircleOverlayTests {
    private static let ids = (1...3).map { object($0) }

    /// Changes of the founder in a circle, each of which creates an object.
    private static func chain(in charter: Charter, _ ids: [ObjectID]) -> [VerifiedRun] {
        var history = GeneratedHistory()
        let (device, nonce) = (TestDevice(number: 1), Bytes16(high: 0, low: 1))
        let replica = device.replica(nonce: nonce, in: charter.circle)
        history.devices[replica] = device
        var (edits, previous): ([Edit], Hash256?) = ([.introduce(device.introduction(nonce: nonce, in: charter))], nil)
        return ids.enumerated().map { number, id in
            edits.append(.create(id, type: "note", kind: ""))
            let stamp = Stamp(rawValue: UInt64(number) + 1)
            let change = history.append(replica, after: previous, stamp: stamp, edits)
            (edits, previous) = ([], change.hash)
            return history.sealed([change])
        }
    }

    private static func receive(_ run: VerifiedRun, in transaction: inout SQLiteTransaction) throws(StoreError) {
        var merge = Merge(now: WallTime(milliseconds: 1), founder: TestDevice.user)
        guard try merge.receive(run, in: &transaction) == .stored else { throw .damaged("a run does not fit") }
        try merge.finish(in: &transaction)
    }

    /// Finds it, and how many objects are hidden; a read that asks SQLite ends by going back.
    private static func hiddenCount(_ transaction: inout SQLiteTransaction) throws(StoreError) -> Int {
        _ = try transaction.existingNameIndex(of: "none")
        return try transaction.currentOverlay().hidden.count
    }

    private static func isCurrent(_ transaction: inout SQLiteTransaction) -> Bool {
        transaction.overlay.isCurrent(in: transaction)
    }

    @Test func `what a read has found is not found again by the next one, here and beside`() async throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(directory: directory.path, origin: ChainHash.origin(TestDevice.workspace))
        let pool = ReadPool(directory: directory.path, beside: store.committed)
        let shared = Self.chain(in: .elsewhere, Self.ids)
        for run in shared {
            try store.write { transaction throws(StoreError) in try Self.receive(run, in: &transaction) }
            #expect(try store.read { transaction throws(StoreError) in try Self.hiddenCount(&transaction) } == 0)
            #expect(try store.read { transaction throws(StoreError) in Self.isCurrent(&transaction) })
            #expect(try await pool.readBriefly { try Self.hiddenCount(&$0) } == 0)
            #expect(try await pool.readBriefly { Self.isCurrent(&$0) })
        }

        // The same ids in home: those show, and of the others all have to hear.
        for (number, run) in Self.chain(in: .home, Self.ids).enumerated() {
            try store.write { transaction throws(StoreError) in try Self.receive(run, in: &transaction) }
            #expect(try await pool.readBriefly { !Self.isCurrent(&$0) })
            let here = try store.read { transaction throws(StoreError) in try Self.hiddenCount(&transaction) }
            #expect(here == number + 1)
            #expect(try await pool.readBriefly { try Self.hiddenCount(&$0) } == number + 1)
        }
        await pool.close()
    }

    @Test func `what was found in what is taken back is not kept`() async throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(directory: directory.path, origin: ChainHash.origin(TestDevice.workspace))
        let (shared, own) = (Self.chain(in: .elsewhere, Self.ids), Self.chain(in: .home, Self.ids))
        try store.write { transaction throws(StoreError) in
            for run in shared { try Self.receive(run, in: &transaction) }
        }
        #expect(try store.read { transaction throws(StoreError) in try Self.hiddenCount(&transaction) } == 0)
        // Both a write that fails and a read that writes.
        #expect(throws: StoreError.diskFull) {
            try store.write { transaction throws(StoreError) in
                try Self.receive(own[0], in: &transaction)
                guard try Self.hiddenCount(&transaction) == 0 else { throw .diskFull }
            }
        }
        #expect(try store.read { transaction throws(StoreError) in try Self.hiddenCount(&transaction) } == 0)
        let seen = try store.read { transaction throws(StoreError) in
            try Self.receive(own[0], in: &transaction)
            return try Self.hiddenCount(&transaction)
        }
        #expect(seen == 1)
        #expect(try store.read { transaction throws(StoreError) in try Self.hiddenCount(&transaction) } == 0)
    }
}
