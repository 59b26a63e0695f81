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

    @Test func `a clock that is set back takes out of the state what it holds then`() throws {
        try self.check(seeds: Seeds.range(from: 2000, count: 40), changes: 25, traits: [.fastClocks, .clocksSetBack])
    }

    @Test func `a restamp counts by right alone, and wherever it stands`() throws {
        try self.check(seeds: Seeds.range(from: 7000, count: 40), changes: 25, traits: [.restamps])
        try self.check(seeds: Seeds.range(from: 8000, count: 60), changes: 25, traits: [.fastClocks, .restamps])
    }

    @Test func `a peer that lies about time and about what it had seen changes nothing for the others`() throws {
        try self.check(seeds: Seeds.range(from: 3000, count: 40), changes: 25, traits: [.hostile])
    }

    @Test func `all branches of a chain count`() throws {
        try self.check(seeds: Seeds.range(from: 4000, count: 60), changes: 25, traits: [.forks])
    }

    @Test func `names that look alike are different properties`() throws {
        try self.check(seeds: Seeds.range(from: 6000, count: 10), changes: 15, traits: [.lookalikes])
    }

    @Test func `all of it at once`() throws {
        try self.check(
            seeds: Seeds.range(from: 5000, count: 100),
            changes: 30,
            traits: .all
        )
    }
}
