import CRDTCore
import Foundation
import MergeModel
import Persistence
import Testing

/// What a look at a write-ahead log says, beside what SQLite makes of it.
@Suite struct LogDamageTests {
    private static let frameByteCount = 24 + 4096
    private static let commitCount = 6

    /// A copy of a workspace with some commits in its log; `prepare` gets the original, which is open still.
    private func copy(prepare: (TemporaryDirectory, SQLiteStoreHandle) throws -> Void = { _, _ in })
        throws -> TemporaryDirectory
    {
        let (original, copy) = (try TemporaryDirectory(), try TemporaryDirectory())
        let store = try SQLiteStoreHandle(original)
        for number in 1...Self.commitCount { try self.note(number, in: store) }
        try prepare(original, store)
        // A program of its own, since to close a database here would take away locks.
        #expect(try Program.run(["cp", "-r", original.path, copy.path]).status == 0)
        store.close()
        return copy
    }

    private func note(_ number: Int, in store: SQLiteStoreHandle) throws {
        try store.write { transaction throws(StoreError) in
            try transaction.setFact("\(number)", [UInt8](repeating: UInt8(number), count: 3000))
        }
    }

    private func facts(_ directory: TemporaryDirectory) throws -> Int? {
        let store = try SQLiteStoreHandle(directory)
        return try store.read { transaction throws(StoreError) in
            var last: Int?
            for number in 1...Self.commitCount where try transaction.fact("\(number)") != nil { last = number }
            return last
        }
    }

    /// Changes bytes of the log; returns where the frames are that end a commit, from 1.
    @discardableResult
    private func change(
        _ directory: TemporaryDirectory,
        _ body: (inout [UInt8], [Int]) -> Void = { _, _ in }
    ) throws -> [Int] {
        let path = directory.database + "-wal"
        var bytes = try directory.bytes(of: path)
        let salts = bytes[16..<24]
        var (commits, frame) = ([Int](), 1)
        while case let start = Self.start(of: frame), start + Self.frameByteCount <= bytes.count,
            bytes[start + 8..<start + 16].elementsEqual(salts)
        {
            if bytes[start + 4..<start + 8].contains(where: { $0 != 0 }) { commits.append(frame) }
            frame += 1
        }
        body(&bytes, commits)
        try directory.write(bytes, to: path)
        return commits
    }

    private static func start(of frame: Int) -> Int { 32 + (frame - 1) * self.frameByteCount }

    @Test func `a whole log is whole`() throws {
        let directory = try self.copy()
        #expect(try self.change(directory).count >= Self.commitCount)
        #expect(try LogDamage.find(in: directory.database) == nil)
        #expect(try self.facts(directory) == Self.commitCount)
    }

    @Test func `any bit before the last commit is found`() throws {
        var places: [(frame: Int, offset: Int)] = []
        let commits = try self.change(try self.copy())
        for frame in [1, commits[1], commits[2] + 1] {
            // Page, mark of a commit, salt, sums, and the page itself.
            places += [1, 7, 9, 19, 23, 24, 2000].map { (frame, $0) }
        }
        // With one commit behind it, a frame is known as a commit of this log by its salts and sums alone.
        places += [1, 7, 24, 2000].map { (commits[commits.count - 2], $0) }
        for (frame, offset) in places {
            let directory = try self.copy()
            try self.change(directory) { bytes, _ in bytes[Self.start(of: frame) + offset] ^= 4 }
            let damage = try LogDamage.find(in: directory.database)
            #expect(damage?.frame == frame, "\(offset)")
            #expect(damage?.isInDatabase == false)
            let refusal = try #require(damage).refusal
            #expect(throws: refusal) { _ = try SQLiteStoreHandle(directory) }
            #expect(throws: refusal) { try SQLiteStore.requireWholeLog(directory: directory.path) }
            // What was refused is as it was.
            #expect(try LogDamage.find(in: directory.database) == damage)
        }
    }

    @Test(arguments: [0, 4, 10, 17, 30])
    func `a damaged header is found`(offset: Int) throws {
        let directory = try self.copy()
        try self.change(directory) { bytes, _ in bytes[offset] ^= 0x10 }
        #expect(try LogDamage.find(in: directory.database)?.frame == 0)
    }

    @Test func `a block of zeros is found`() throws {
        let directory = try self.copy()
        try self.change(directory) { bytes, _ in
            for offset in 0..<8192 { bytes[offset] = 0 }
        }
        #expect(try LogDamage.find(in: directory.database)?.frame == 0)
    }

    @Test func `a torn last commit is no damage`() throws {
        let directory = try self.copy()
        try self.change(directory) { bytes, commits in
            // Its sectors came to the disk in any order.
            let first = commits[commits.count - 2] + 1
            bytes[Self.start(of: first) + 24 + 512] ^= 1
        }
        #expect(try LogDamage.find(in: directory.database) == nil)
        #expect(try self.facts(directory) == Self.commitCount - 1)
    }

    @Test func `old frames behind a log that began anew are no damage`() throws {
        let directory = try self.copy { original, store in
            #expect(try original.shell("PRAGMA wal_checkpoint(PASSIVE)").hasPrefix("0|"))
            try self.note(1, in: store)
            try self.note(2, in: store)
        }
        let commits = try self.change(directory)
        #expect(try directory.bytes(of: directory.database + "-wal").count > Self.start(of: commits[1] + 4))
        #expect(try LogDamage.find(in: directory.database) == nil)
        // Torn at its end, with the old ones behind it.
        try self.change(directory) { bytes, commits in bytes[Self.start(of: commits[1]) + 100] ^= 1 }
        #expect(try LogDamage.find(in: directory.database) == nil)
    }

    @Test func `where the database has all of the log, the log is given up`() throws {
        let directory = try self.copy { original, _ throws in
            #expect(try original.shell("PRAGMA wal_checkpoint(PASSIVE)").hasPrefix("0|"))
        }
        try self.change(directory) { bytes, commits in bytes[Self.start(of: commits[2] + 1) + 100] ^= 1 }
        #expect(try LogDamage.find(in: directory.database)?.isInDatabase == true)
        var found: LogDamage?
        let store = try SQLiteStore(directory: directory.path, origin: Author.origin) { found = $0 }
        _ = consume store
        #expect(found?.isInDatabase == true)
        #expect(try self.facts(directory) == Self.commitCount)
    }
}
