import CRDTCore
import Foundation
import MergeModel
import Persistence
import Testing

/// What this process does beside its connections must not cost them their locks: POSIX drops all locks on a file when
/// the process closes any descriptor of it.
@Suite struct DatabaseLockTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStoreHandle
    private let log: String

    init() throws {
        self.directory = try TemporaryDirectory()
        self.store = try SQLiteStoreHandle(self.directory)
        self.log = self.directory.database + "-wal"
        var author = Author(number: 1)
        try self.store.receive([author.run([[.create(object(1), type: "note", kind: "")]])])
    }

    /// Whether the log stays when another program has closed its connection.
    private func logSurvivesAnOutsider() throws -> Bool {
        #expect(try self.directory.shell("SELECT count(*) FROM objects") == "1")
        return self.directory.exists(self.log)
    }

    @Test func `readers that are opened beside the writer leave it its locks`() async throws {
        for _ in 0..<3 {
            let pool = ReadPool(directory: self.directory.path)
            #expect(try await pool.read { $0.segmentCount } == 1)
            #expect(try self.logSurvivesAnOutsider())
            await pool.close()
            #expect(try self.logSurvivesAnOutsider())
        }
    }

    @Test func `an attempt to open the directory once more leaves the writer its locks`() throws {
        #expect(throws: StoreError.self) { _ = try SQLiteStoreHandle(self.directory) }
        #expect(try self.logSurvivesAnOutsider())
    }

    @Test func `a writer that is opened beside a reader has locks`() async throws {
        self.store.close()
        let pool = ReadPool(directory: self.directory.path)
        #expect(try await pool.read { $0.segmentCount } == 1)
        let store = try SQLiteStoreHandle(self.directory)
        try store.write { transaction throws(StoreError) in try transaction.setFact("a", [1]) }
        #expect(try self.logSurvivesAnOutsider())
        await pool.close()
        #expect(try self.logSurvivesAnOutsider())
    }

    @Test func `bytes of a database are read as they are, and leave the writer its locks`() throws {
        let content = try self.directory.bytes(of: self.copyOfDatabase())
        do {
            let bytes = try DatabaseBytes(self.directory.database)
            #expect(bytes.byteCount == Int64(content.count))
            #expect(try bytes.read(content.count * 2, at: 0) == content)
            #expect(try bytes.read(7, at: 11) == Array(content[11..<18]))
            #expect(try bytes.read(7, at: bytes.byteCount) == [])
            #expect(try bytes.read(7, at: bytes.byteCount + 1) == [])
        }
        #expect(try self.logSurvivesAnOutsider())
    }

    /// Another process copies, so that this one opens nothing.
    private func copyOfDatabase() throws -> String {
        let copy = self.directory.path + "/copy"
        #expect(try Program.run(["cp", self.directory.database, copy]).status == 0)
        return copy
    }
}
