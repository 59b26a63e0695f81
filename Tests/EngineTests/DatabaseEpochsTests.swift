import CRDTCore
import Testing

@testable import Engine

/// Epochs of databases, beside the list of commits that each start has seen.
struct DatabaseEpochsTests {
    @Test func `a commit is there in the epoch in which it was seen, and not in another life of the database`() throws {
        var history = DatabaseEpochs()
        history.begin(1, after: 0)
        let first = try #require(history.epoch(of: 5))
        #expect(history.holds(5, of: first, last: 5) && !history.holds(6, of: first, last: 5))
        let backup = history
        history.begin(2, after: 5)
        let second = try #require(history.epoch(of: 8))
        #expect(history.holds(5, of: first, last: 8) && history.holds(8, of: second, last: 8))
        #expect(history.epoch(of: 5) == first && second != first)
        // Put back to commit 5, and on to 9 in another epoch.
        var restored = backup
        restored.begin(3, after: 5)
        #expect(restored.holds(5, of: first, last: 9) && !restored.holds(8, of: second, last: 9))
        // Put back to commit 3: of the first epoch only so much is there.
        var older = backup
        older.begin(4, after: 3)
        #expect(older.holds(3, of: first, last: 9) && !older.holds(4, of: first, last: 9))
    }

    @Test func `starts without commits leave nothing, and very old ones are forgotten`() throws {
        var history = DatabaseEpochs()
        for name in 1...50 as ClosedRange<UInt64> { history.begin(name, after: 0) }
        var expected = DatabaseEpochs()
        expected.begin(50, after: 0)
        #expect(history == expected)
        let first = try #require(history.epoch(of: 1))
        for commit in 1...1_000 as ClosedRange<Int64> { history.begin(UInt64(1_000 + commit), after: commit) }
        #expect(!history.holds(1, of: first, last: 1_001))
        #expect(history.encoded.count < 8 << 10)
        #expect(try DatabaseEpochs(decoding: history.encoded) == history)
    }

    @Test(arguments: [[1], [0, 0, 0, 0, 0, 0, 0, 1], Array(repeating: 0, count: 18)] as [[UInt8]])
    func `bytes that are no history are refused`(bytes: [UInt8]) {
        #expect((try? DatabaseEpochs(decoding: bytes)) == nil)
    }
}
