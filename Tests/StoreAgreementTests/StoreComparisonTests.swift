import CRDTCore
import MergeTestSupport
import Persistence
import Testing

/// The same histories, deliveries and relays through the store in memory and the one in SQLite: each must agree with
/// the naive model all the way, and both must end with the same state, export and frontier.
@Suite struct StoreComparisonTests {
    private func compare(seeds: [UInt64], changes: Int, traits: HistoryTraits) throws {
        for seed in seeds {
            let directories = try Directories()
            let origin = ChainHash.origin(TestDevice.workspace)
            let inMemory = MergeAgreement(seed: seed, traits: traits) { MemoryStore(origin: origin) }
            let onDisk = MergeAgreement(seed: seed, traits: traits) {
                try SQLiteStore(directory: directories.next(), origin: origin)
            }
            let expected = try inMemory.check(changes: changes)
            let outcome = try onDisk.check(changes: changes)
            #expect(outcome.state == expected.state, "PEERD_SEED=\(seed)")
            #expect(outcome.export == expected.export, "PEERD_SEED=\(seed)")
            #expect(outcome.frontier == expected.frontier, "PEERD_SEED=\(seed)")
        }
    }

    @Test func `both stores agree on honest peers`() throws {
        try self.compare(seeds: Seeds.range(from: 10_000, count: 20), changes: 25, traits: [])
    }

    @Test func `both stores agree on names that look alike`() throws {
        try self.compare(seeds: Seeds.range(from: 11_000, count: 5), changes: 15, traits: [.lookalikes])
    }

    @Test func `both stores agree on held, restamped, false and forked changes`() throws {
        try self.compare(seeds: Seeds.range(from: 12_000, count: 40), changes: 30, traits: .all)
    }

    @Test func `both stores agree on a long history`() throws {
        try self.compare(seeds: Seeds.range(from: 13_000, count: 1), changes: 120, traits: .all)
    }
}
