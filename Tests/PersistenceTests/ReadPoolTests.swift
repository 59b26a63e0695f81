import CRDTCore
import Glibc
import MergeModel
import Persistence
import Synchronization
import Testing

/// Where readers wait until they may go on.
private final class Gate: Sendable {
    private let state = Mutex((waiting: 0, isOpen: false))

    var waitingCount: Int { self.state.withLock { $0.waiting } }

    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    func open() { self.state.withLock { $0.isOpen = true } }

    /// Sleeps on the reader's own thread.
    func pass() {
        self.state.withLock { $0.waiting += 1 }
        while !self.state.withLock({ $0.isOpen }) { usleep(1000) }
    }
}

/// Readers beside the writer.
@Suite struct ReadPoolTests {
    private static func set(_ number: Int) -> Edit { .set(object(1), name: "n", value: .int(Int64(number))) }

    /// The value of the property, and how many segments there are.
    private static func look(_ transaction: inout SQLiteStore.Transaction) throws -> (Value?, Int) {
        let index = try transaction.existingObjectIndex(of: object(1))
        let properties = try index.map { try StateExport.properties(of: $0, in: &transaction) }
        return (properties?[ExactText("n")], transaction.segmentCount)
    }

    @Test func `a reader that stays sees one state, and the writer goes on`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[Self.set(1)]])])
        let pool = ReadPool(directory: directory.path)
        let gate = Gate()
        async let seen = pool.read { transaction in
            let before = try Self.look(&transaction)
            gate.pass()
            return [before.0, try Self.look(&transaction).0]
        }
        while gate.waitingCount == 0 { await Task.yield() }
        // The reader waits for this: neither would end if this waited for the reader.
        for number in 2...50 { try store.receive([author.run([[Self.set(number)]])]) }
        gate.open()
        #expect(try await seen == [.int(1), .int(1)])
        #expect(try await pool.read { try Self.look(&$0).0 } == .int(50))
        await pool.close()
    }

    @Test(arguments: [false, true])
    func `each reader sees what was committed before it began, new chains and branches included`(
        isBesideStore: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        let pool = ReadPool(directory: directory.path, beside: isBesideStore ? store.committed : nil)
        var author = Author(number: 1)
        try store.receive([author.run([[Self.set(0)]])])
        for number in 1...20 {
            var branch = author
            var other = Author(number: UInt64(number) + 1)
            try store.receive([branch.run([[Self.set(number)]]), other.run([[]], context: [branch.point])])
            let points = [branch.point, other.point]
            let (places, segmentCount) = try await pool.read { transaction in
                (try points.map { try transaction.place(of: $0) }, transaction.segmentCount)
            }
            #expect(!places.contains(nil))
            // The first goes on where the chain ends.
            #expect(segmentCount == 2 * number)
        }
        await pool.close()
    }

    @Test func `readers that come while somebody commits see all of a commit or nothing of it`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        // Each is a chain of its own, and brings one object.
        let commits = (1...300 as ClosedRange<UInt64>).map { number in
            var author = Author(number: number)
            return author.run([[.set(object(number), name: "n", value: .int(0))]])
        }
        let pool = ReadPool(directory: directory.path, beside: store.committed)
        let end = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while !end.isOpen {
                        let (objectCount, segmentCount) = try await pool.readBriefly { transaction in
                            (try transaction.knownObjects(after: nil, limit: 1_000).count, transaction.segmentCount)
                        }
                        #expect(objectCount == segmentCount)
                    }
                }
            }
            for run in commits { try store.receive([run]) }
            end.open()
            try await group.waitForAll()
        }
        await pool.close()
    }

    @Test func `nothing is read or written by the name of a directory that was moved`() async throws {
        let (parent, stranger) = (try TemporaryDirectory(), try TemporaryDirectory())
        let name = parent.path + "/data"
        var store = try SQLiteStore(directory: name, origin: Author.origin)
        try store.write { transaction throws(StoreError) in try transaction.setFact("whose", [1]) }
        let pool = ReadPool(directory: name, beside: store.committed)
        let other = try SQLiteStoreHandle(stranger)
        try other.write { transaction throws(StoreError) in try transaction.setFact("whose", [2]) }
        let moved = parent.path + "/moved"
        #expect(rename(name, moved) == 0)
        #expect(rename(stranger.path, name) == 0)
        await #expect(throws: StoreError.moved(name)) { try await pool.read { try $0.fact("whose") } }
        #expect(throws: StoreError.moved(name)) {
            try store.write { transaction throws(StoreError) in try transaction.setFact("whose", [3]) }
        }
        await pool.close()
        store.close()
        // What SQLite deletes by name when it closes a database is the stranger's log.
        for suffix in ["-wal", "-shm"] { #expect(FileState(of: "\(name)/peerd.sqlite\(suffix)") != nil) }
        #expect(rename(name, stranger.path) == 0)
        #expect(try other.read { transaction throws(StoreError) in try transaction.fact("whose") } == [2])
        other.close()
        var found = try SQLiteStore(directory: moved, origin: Author.origin)
        #expect(try found.read { transaction throws(StoreError) in try transaction.fact("whose") } == [1])
        found.close()
    }

    @Test func `who comes when all readers are taken waits for one, or is cancelled`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[Self.set(7)]])])
        let pool = ReadPool(directory: directory.path)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Value?.self) { group in
            for _ in 0..<ReadPool.readerCountMax {
                group.addTask {
                    try await pool.read { transaction in
                        gate.pass()
                        return try Self.look(&transaction).0
                    }
                }
            }
            while gate.waitingCount < ReadPool.readerCountMax { await Task.yield() }
            let late = Task { try await pool.read { try Self.look(&$0).0 } }
            let cancelled = Task { try await pool.read { try Self.look(&$0).0 } }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            gate.open()
            #expect(try await late.value == .int(7))
            for try await value in group { #expect(value == .int(7)) }
        }
        await pool.close()
        await #expect(throws: StoreError.self) { _ = try await pool.read { $0.segmentCount } }
    }

    @Test func `what throws, or tries to write, leaves everything as it was`() async throws {
        struct Refusal: Error {}
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[Self.set(1)]])])
        let pool = ReadPool(directory: directory.path)
        for _ in 0..<2 * ReadPool.readerCountMax {
            await #expect(throws: Refusal.self) {
                try await pool.read { transaction -> Int in
                    _ = try transaction.objectIndex(of: object(99))
                    throw Refusal()
                }
            }
            await #expect(throws: StoreError.self) {
                try await pool.read { try $0.setFact("written", [1]) }
            }
        }
        #expect(try await pool.read { try $0.existingObjectIndex(of: object(99)) } == nil)
        #expect(try await pool.read { try $0.fact("written") } == nil)
        #expect(try store.read { transaction throws(StoreError) in try transaction.fact("written") } == nil)
        await pool.close()
    }

    @Test func `a database that is not there, or newer than this program, is not opened`() async throws {
        let directory = try TemporaryDirectory()
        let pool = ReadPool(directory: directory.path)
        await #expect(throws: StoreError.self) { _ = try await pool.read { $0.segmentCount } }
        do { try SQLiteStoreHandle(directory).close() }
        _ = try directory.shell("PRAGMA user_version = 99")
        let refusal = await #expect(throws: StoreError.self) { _ = try await pool.read { $0.segmentCount } }
        guard case .newerSchema(let sentence) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(sentence.contains("99"))
        await pool.close()
    }
}
