import CRDTCore
import Foundation
import MergeModel
import Persistence
import Testing

@Suite struct StoreLifecycleTests {
    private func error(_ body: () throws -> Void) -> StoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test func `files are for their owner only, whatever the umask`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[.delete(object(1))]])])
        #expect(try directory.permissions(of: directory.path) == 0o700)
        for name in ["peerd.sqlite", "peerd.sqlite-wal", "peerd.sqlite-shm", "lock"] {
            #expect(try directory.permissions(of: directory.path + "/" + name) == 0o600, "\(name)")
        }
    }

    @Test func `a damaged file is told from a sound one`() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[.create(object(1), type: "note", kind: "")]])])
        #expect(try store.read { transaction throws(StoreError) in try transaction.damages() } == [])
        store.close()
        // The index is said to be in another order than it is.
        let sql = "UPDATE sqlite_schema SET sql = 'CREATE INDEX object_place ON object (position, parent)'"
        _ = try directory.shell("PRAGMA writable_schema = ON; \(sql) WHERE name = 'object_place'")
        store = try SQLiteStoreHandle(directory)
        let damages = try store.read { transaction throws(StoreError) in try transaction.damages() }
        #expect(damages.contains { $0.contains("object_place") }, "\(damages)")
    }

    @Test func `a directory is had by one at a time`() throws {
        let directory = try TemporaryDirectory()
        let first = try SQLiteStoreHandle(directory)
        let refusal = self.error { _ = try SQLiteStoreHandle(directory) }
        guard case .locked(let sentence) = refusal else {
            Issue.record("not refused: \(String(describing: refusal))")
            return
        }
        #expect(sentence.contains(directory.path))
        try first.write { transaction throws(StoreError) in try transaction.setFact("still", [1]) }
        first.close()
        _ = try SQLiteStoreHandle(directory)
    }

    @Test func `another process is kept out and let in`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        let attempt = ["flock", "--nonblock", directory.path + "/lock", "true"]
        #expect(try Program.run(attempt).status != 0)
        store.close()
        #expect(try Program.run(attempt).status == 0)
    }

    @Test func `nothing is made where nothing is to be opened`() throws {
        let directory = try TemporaryDirectory()
        let refusal = self.error { _ = try SQLiteStore(directory: directory.path, origin: nil) }
        guard case .unavailable = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(!directory.exists(directory.path))
        try SQLiteStoreHandle(directory).close()
        var store = try SQLiteStore(directory: directory.path, origin: nil)
        #expect(store.origin == Author.origin)
        store.close()
    }

    @Test func `the database of another workspace is not opened`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        let refusal = self.error { _ = try SQLiteStore(directory: directory.path, origin: .zero) }
        guard case .unavailable = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func `an earlier schema is refused and not touched`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        _ = try directory.shell("PRAGMA user_version = 8")
        let before = try directory.bytes(of: directory.database)
        let refusal = self.error { _ = try SQLiteStoreHandle(directory) }
        guard case .earlierSchema(let sentence) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(sentence.contains("schema 8"))
        #expect(try directory.bytes(of: directory.database) == before)
    }

    @Test func `a newer schema is refused and not touched`() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStoreHandle(directory).close()
        _ = try directory.shell("PRAGMA user_version = 99")
        let before = try directory.bytes(of: directory.database)
        let refusal = self.error { _ = try SQLiteStoreHandle(directory) }
        guard case .newerSchema(let sentence) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(sentence.contains("99"))
        #expect(try directory.bytes(of: directory.database) == before)
        for suffix in ["-wal", "-shm"] { #expect(!directory.exists(directory.database + suffix)) }
    }

    @Test func `what is no database of ours is refused`() throws {
        let other = try TemporaryDirectory()
        try other.write(Array("not a database at all, but long enough to be looked at".utf8), to: other.database)
        guard case .damaged = self.error({ _ = try SQLiteStoreHandle(other) }) else {
            Issue.record("text was opened")
            return
        }
        let foreign = try TemporaryDirectory()
        try foreign.write([], to: foreign.database)
        _ = try foreign.shell("PRAGMA application_id = 5; CREATE TABLE t(a);")
        guard case .unavailable = self.error({ _ = try SQLiteStoreHandle(foreign) }) else {
            Issue.record("another program's database was opened")
            return
        }
    }

    @Test func `damage is found after an unclean end`() throws {
        let original = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(original)
        var author = Author(number: 1)
        let edits = (0..<2000).map { Edit.set(object(UInt64($0)), name: "n", value: .string("value \($0)")) }
        try store.receive([author.run([edits])])
        try store.write { transaction throws(StoreError) in try transaction.setFact("f", [1]) }
        // The files as a crash of the machine would leave them: all written, nothing closed.
        let crashed = try TemporaryDirectory()
        try crashed.fill(from: original)
        do {
            let reopened = try SQLiteStoreHandle(crashed)
            #expect(reopened.endedUncleanly)
            #expect(try reopened.export() == store.export())
            reopened.close()
        }
        #expect(try !SQLiteStoreHandle(crashed).endedUncleanly)

        var bytes = try crashed.bytes(of: crashed.database)
        for page in 5..<bytes.count / 4096 { bytes[page * 4096 + 1] ^= 0x55 }
        try crashed.write(bytes, to: crashed.database)
        try crashed.write(Array("process 1".utf8), to: crashed.path + "/lock")
        guard case .damaged = self.error({ _ = try SQLiteStoreHandle(crashed) }) else {
            Issue.record("the damage was not found")
            return
        }
    }

    @Test func `a closed store says so`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        store.close()
        store.close()
        let refusal = self.error { _ = try store.export() }
        guard case .unavailable = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func `the write-ahead log stays bounded`() throws {
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration()
        configuration.checkpointPageCount = 50
        configuration.logByteCountKept = 1 << 20
        let store = try SQLiteStoreHandle(directory, configuration: configuration)
        var author = Author(number: 1)
        for number in 0..<300 {
            try store.receive([author.run([[.set(object(UInt64(number)), name: "n", value: .int(1))]])])
        }
        let large = (0..<20_000).map { Edit.set(object(UInt64($0)), name: "large", value: .int(Int64($0))) }
        try store.receive([author.run([large])])
        for number in 0..<3 as Range<Int64> {
            try store.receive([author.run([[.set(object(1), name: "n", value: .int(number))]])])
        }
        #expect(try directory.bytes(of: directory.database + "-wal").count <= 1 << 20)
    }

    @Test func `a scratch store works, and leaves nothing behind`() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        // As a process leaves it that is killed while it makes one.
        let abandoned = directory.path + "/scratch-abcdef"
        try FileManager.default.createDirectory(atPath: abandoned, withIntermediateDirectories: true)
        for name in ["lock", "peerd.sqlite", "peerd.sqlite-journal"] {
            #expect(FileManager.default.createFile(atPath: "\(abandoned)/\(name)", contents: nil))
        }
        let long = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: -3600)]
        try FileManager.default.setAttributes(long, ofItemAtPath: abandoned)
        // One that another process has only begun.
        let begun = directory.path + "/scratch-begun"
        try FileManager.default.createDirectory(atPath: begun, withIntermediateDirectories: true)
        let reader = CircleReader(user: UserID(bytes: .zero), founder: UserID(bytes: .zero))
        var store = try SQLiteStore.scratch(in: directory.path, origin: Author.origin, for: reader)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["scratch-begun"])
        try FileManager.default.removeItem(atPath: begun)
        for number in 0..<200 {
            try store.write { transaction throws(StoreError) in
                try transaction.setFact("fact \(number)", [UInt8](repeating: 7, count: 100_000))
            }
        }
        let fact = try store.read { transaction throws(StoreError) in try transaction.fact("fact 3") }
        #expect(fact?.count == 100_000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }
}
