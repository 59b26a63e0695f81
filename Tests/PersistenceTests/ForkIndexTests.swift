import CRDTCore
import MergeModel
import Persistence
import Testing

/// Chains with more forks than are looked through one by one.
@Suite struct ForkIndexTests {
    private static func set(_ number: Int) -> Edit { .set(object(1), name: "n", value: .int(Int64(number))) }

    /// The first change of a chain, and forks of one and two changes in turn, each as a run of its own.
    private struct Bush {
        var trunk: VerifiedRun
        var forks: [(run: VerifiedRun, points: [Point], hashes: [Hash256])] = []

        init(count: Int) {
            var trunk = Author(number: 1)
            self.trunk = trunk.run([[ForkIndexTests.set(-1)]])
            for number in 0..<count {
                var fork = trunk
                let changes = [[ForkIndexTests.set(number)]] + (number % 2 == 0 ? [[]] : [])
                let run = fork.run(changes)
                let points = run.hashes.enumerated().map {
                    Point(replica: trunk.replica, sequence: UInt64($0.offset) + 2, name: ChangeName($0.element))
                }
                self.forks.append((run, points, run.hashes))
            }
        }
    }

    private func check(_ transaction: inout some StoreTransaction, _ bush: Bush, storedCount: Int) throws(StoreError) {
        for (number, fork) in bush.forks.enumerated() {
            for (point, hash) in zip(fork.points, fork.hashes) {
                let place = try transaction.place(of: point)
                #expect((place != nil) == (number < storedCount), "fork \(number)")
                #expect(try transaction.place(of: point.replica, sequence: point.sequence, hash: hash) == place)
                guard let place else { continue }
                #expect(place.sequence == point.sequence)
                #expect(try transaction.hash(at: place) == hash)
            }
        }
    }

    @Test(arguments: [3, 4, 5, 40])
    func `each fork is found by its name, while they come and after opening again`(count: Int) throws {
        let directory = try TemporaryDirectory()
        let bush = Bush(count: count)
        var store = try SQLiteStoreHandle(directory)
        try store.receive([bush.trunk])
        for (number, fork) in bush.forks.enumerated() {
            #expect(try store.receive([fork.run]) == [.stored])
            #expect(try store.receive([fork.run]) == [.duplicate])
            try store.read { transaction throws(StoreError) in
                try self.check(&transaction, bush, storedCount: number + 1)
            }
        }
        let export = try store.export()
        store.close()
        store = try SQLiteStoreHandle(directory)
        try store.read { transaction throws(StoreError) in
            try self.check(&transaction, bush, storedCount: count)
        }
        var other = Author(number: 2)
        let heads = bush.forks.compactMap(\.points.last).sorted()
        #expect(try store.receive([other.run([[]], context: heads)]) == [.stored])
        #expect(try store.export() == export)
    }

    @Test func `what a failed write has added is not found`() throws {
        let bush = Bush(count: 30)
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        try store.receive([bush.trunk] + bush.forks.prefix(20).map(\.run))
        try store.read { transaction throws(StoreError) in try self.check(&transaction, bush, storedCount: 20) }
        #expect(throws: StoreError.self) {
            try store.write { transaction throws(StoreError) in
                var merge = Merge(now: Author.now, founder: TestDevice.user)
                for fork in bush.forks[20...] { _ = try merge.receive(fork.run, in: &transaction) }
                try self.check(&transaction, bush, storedCount: 30)
                throw .diskFull
            }
        }
        try store.read { transaction throws(StoreError) in try self.check(&transaction, bush, storedCount: 20) }
        #expect(try store.receive(bush.forks[20...].map(\.run)).allSatisfy { $0 == .stored })
        try store.read { transaction throws(StoreError) in try self.check(&transaction, bush, storedCount: 30) }
    }
}
