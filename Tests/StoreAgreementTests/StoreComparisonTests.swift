import CRDTCore
import MergeModel
import Persistence
import Testing

/// The same changes, deliveries and relays through the store in memory and the one in SQLite: each must agree with
/// the naive model all the way, and both must end with the same state, export and frontier.
@Suite struct StoreComparisonTests {
    private func compare(
        first: UInt64,
        count: Int,
        changes: Int,
        _ troubles: MergeTroubles,
        compacts: Bool = false,
        in charter: Charter = .home,
        beside others: GeneratedHistory? = nil
    ) throws {
        for plan in try Seeds.plans(from: first, count: count, changes: changes, troubles: troubles) {
            let directories = try Directories()
            let origin = ChainHash.origin(TestDevice.workspace)
            let inMemory = MergeAgreement(compacts: compacts, in: charter, beside: others) {
                MemoryStore(origin: origin)
            }
            let onDisk = MergeAgreement(compacts: compacts, in: charter, beside: others) {
                try SQLiteStore(directory: directories.next(), origin: origin)
            }
            let expected = try inMemory.check(plan)
            let outcome = try onDisk.check(plan)
            #expect(outcome.state == expected.state, "PEERD_PLAN='\(plan.text)'")
            #expect(outcome.export == expected.export, "PEERD_PLAN='\(plan.text)'")
            #expect(outcome.frontier == expected.frontier, "PEERD_PLAN='\(plan.text)'")
        }
    }

    @Test func `both stores agree on honest peers`() throws {
        try self.compare(first: 10_000, count: 20, changes: 25, [])
    }

    @Test func `both stores agree on names that look alike`() throws {
        try self.compare(first: 11_000, count: 5, changes: 15, [.lookalikes])
    }

    @Test func `both stores agree on held, restamped, false and forked changes`() throws {
        try self.compare(first: 12_000, count: 40, changes: 30, .all)
    }

    @Test func `both stores agree when they drop writes`() throws {
        let troubles = MergeTroubles.all.subtracting(.clocksSetBack)
        try self.compare(first: 14_000, count: 20, changes: 40, troubles, compacts: true)
    }

    @Test func `both stores agree when they erase`() throws {
        let troubles = MergeTroubles.all.subtracting(.clocksSetBack).union(.erasures)
        try self.compare(first: 15_000, count: 20, changes: 40, troubles)
        try self.compare(first: 16_000, count: 10, changes: 40, troubles, compacts: true)
    }

    @Test func `both stores agree on what counts by right`() throws {
        try self.compare(first: 17_000, count: 20, changes: 40, [.rights, .forks, .fastClocks, .restamps])
        try self.compare(first: 18_000, count: 20, changes: 40, MergeTroubles.all.union(.rights))
        try self.compare(first: 19_000, count: 10, changes: 40, [.rights, .forks], compacts: true)
    }

    @Test func `both stores keep circles apart`() throws {
        let troubles = MergeTroubles.all.union([.rights, .branches, .erasures])
        for seed in 20_000..<20_008 as Range<UInt64> {
            let other = try Seeds.plans(from: seed + 500, count: 1, changes: 25, troubles: troubles)
            let (charter, beside): (Charter, Charter) = seed % 2 == 0 ? (.home, .elsewhere) : (.elsewhere, .home)
            let others = GeneratedHistory(other[0], under: beside)
            try self.compare(first: seed, count: 1, changes: 25, troubles, in: charter, beside: others)
        }
    }

    @Test func `a store on disk comes to the verdicts of the naive model`() throws {
        let directories = try Directories()
        for number in stride(from: 0, to: RightsHistory.count, by: Seeds.isExhaustive ? 1 : 29) {
            let history = RightsHistory(number: number)
            var random = SplitMix64(seed: UInt64(number))
            let store = try SQLiteStore(
                directory: directories.next(),
                origin: ChainHash.origin(TestDevice.workspace)
            )
            let state = try history.state(of: store, &random)
            #expect(state == history.expected, "history \(number):\n\(history.lines.joined(separator: "\n"))")
        }
    }

    @Test func `both stores agree on a long history`() throws {
        try self.compare(first: 13_000, count: 1, changes: 120, .all)
    }
}
