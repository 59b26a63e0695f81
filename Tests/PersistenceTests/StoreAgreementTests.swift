import CRDTCore
import MergeTestSupport
import Persistence
import Testing

/// Random histories in the database, against the naive model: the same histories as the store in memory is tested with.
@Suite struct StoreAgreementTests {
    private func check(seeds: [UInt64], changes: Int, traits: HistoryTraits) throws {
        for seed in seeds {
            var directories: [TemporaryDirectory] = []
            let agreement = MergeAgreement(seed: seed, traits: traits) {
                let directory = try TemporaryDirectory()
                directories.append(directory)
                return try SQLiteStore(directory: directory.path, origin: Author.origin)
            }
            try agreement.check(changes: changes)
        }
    }

    @Test func `honest peers come to the state of the naive model`() throws {
        try self.check(seeds: Seeds.range(from: 1, count: 10), changes: 25, traits: [])
    }

    @Test func `changes from fast clocks are held until they are due`() throws {
        try self.check(seeds: Seeds.range(from: 1000, count: 5), changes: 25, traits: [.fastClocks])
    }

    @Test func `names that look alike are different properties`() throws {
        try self.check(seeds: Seeds.range(from: 6000, count: 5), changes: 15, traits: [.lookalikes])
    }

    @Test func `retirements, lies about time and forks end alike`() throws {
        try self.check(
            seeds: Seeds.range(from: 5000, count: 20),
            changes: 30,
            traits: [.hostile, .retirements, .fastClocks, .forks]
        )
    }
}
