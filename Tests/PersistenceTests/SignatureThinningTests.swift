import CRDTCore
import MergeModel
import Persistence
import Testing

@Suite struct SignatureThinningTests {
    @Test func `changes signed one by one keep few signatures`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        for number in 0..<300 {
            try store.receive([author.run([[.set(object(1), name: "n", value: .int(Int64(number)))]])])
            // The newest is always there: what is not signed cannot be sent on.
            let newest = try directory.shell("SELECT max(sequence) FROM run_signature")
            if number % 50 == 0 { #expect(newest == "\(number + 1)") }
        }
        let count = try #require(Int(try directory.shell("SELECT count(*) FROM run_signature")))
        #expect((5...11).contains(count))
        let runs = try store.runs(of: author.replica)
        #expect(runs.reduce(0) { $0 + $1.changes.count } == 300)
    }

    @Test func `no run grows beyond what one message can carry`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        let large = Value.bytes([UInt8](repeating: 1, count: 600_000))
        for _ in 0..<10 { try store.receive([author.run([[.set(object(1), name: "n", value: large)]])]) }
        #expect(try directory.shell("SELECT count(*) FROM run_signature") == "10")
        let many = (0..<3000).map { Edit.set(object(1), name: "m", value: .int(Int64($0))) }
        for _ in 0..<4 { try store.receive([author.run([many])]) }
        #expect(try directory.shell("SELECT max(operation_count) <= 4096 FROM run_signature") == "1")
    }
}
