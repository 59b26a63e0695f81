import CRDTCore
import MergeTestSupport
import Testing

/// Random histories, delivered in random orders, batches and by relays, against the naive model.
@Suite struct MergeAgreementTests {
    private func check(seeds: [UInt64], changes: Int, traits: HistoryTraits) throws {
        for seed in seeds {
            let agreement = MergeAgreement(seed: seed, traits: traits) {
                MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
            }
            try agreement.check(changes: changes)
        }
    }

    @Test func `honest peers come to the state of the naive model`() throws {
        try self.check(seeds: Seeds.range(from: 1, count: 60), changes: 25, traits: [])
    }

    @Test func `changes from fast clocks are held until they are due`() throws {
        try self.check(seeds: Seeds.range(from: 1000, count: 40), changes: 25, traits: [.fastClocks])
    }

    @Test func `retired replicas stop counting where their device says`() throws {
        try self.check(seeds: Seeds.range(from: 2000, count: 40), changes: 25, traits: [.retirements])
    }

    @Test func `a peer that lies about time and about what it had seen changes nothing for the others`() throws {
        try self.check(seeds: Seeds.range(from: 3000, count: 40), changes: 25, traits: [.hostile])
    }

    @Test func `a replica with two histories counts up to where they part`() throws {
        try self.check(seeds: Seeds.range(from: 4000, count: 40), changes: 25, traits: [.forks])
    }

    @Test func `names that look alike are different properties`() throws {
        try self.check(seeds: Seeds.range(from: 6000, count: 10), changes: 15, traits: [.lookalikes])
    }

    @Test func `all of it at once`() throws {
        try self.check(
            seeds: Seeds.range(from: 5000, count: 60),
            changes: 30,
            traits: [.hostile, .retirements, .fastClocks, .forks]
        )
    }
}
