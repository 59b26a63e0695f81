import CRDTCore
import MergeModel
import Testing

/// Random plans, whose changes are delivered in random orders, batches and by relays, against the naive model.
@Suite struct MergeAgreementTests {
    @discardableResult
    private func check(
        first: UInt64,
        count: Int,
        changes: Int = 25,
        _ troubles: MergeTroubles,
        compacts: Bool = false,
        redacts: Bool = false
    ) throws -> (dropped: Int, erased: Int, filled: Int) {
        let agreement = MergeAgreement(compacts: compacts, redacts: redacts) {
            MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
        }
        var (dropped, erased, filled) = (0, 0, 0)
        for plan in try Seeds.plans(from: first, count: count, changes: changes, troubles: troubles) {
            let outcome = try agreement.check(plan)
            dropped += outcome.droppedWriteCount
            erased += outcome.erasedWriteCount
            filled += outcome.repairedChangeCount
        }
        #expect(!compacts || dropped > 0)
        return (dropped, erased, filled)
    }

    @Test func `honest peers come to the state of the naive model`() throws {
        try self.check(first: 1, count: 60, [])
    }

    @Test func `changes from fast clocks are held until they are due`() throws {
        try self.check(first: 1000, count: 40, [.fastClocks])
    }

    @Test func `a clock that is set back takes out of the state what it holds then`() throws {
        try self.check(first: 2000, count: 40, [.fastClocks, .clocksSetBack])
    }

    @Test func `a restamp counts by right alone, and wherever it stands`() throws {
        try self.check(first: 7000, count: 40, [.restamps])
        try self.check(first: 8000, count: 60, [.fastClocks, .restamps])
    }

    @Test func `a peer that lies about time and about what it had seen changes nothing for the others`() throws {
        try self.check(first: 3000, count: 40, [.lies])
    }

    @Test func `all forks of a chain count`() throws {
        try self.check(first: 4000, count: 60, [.forks])
    }

    @Test func `what a branch holds counts from the change on that has seen it`() throws {
        try self.check(first: 9000, count: 60, [.branches])
        try self.check(first: 9500, count: 100, [.branches, .forks, .fastClocks, .clocksSetBack])
    }

    /// One id is another object in each circle, and nothing that is named, said or erased in one is about another.
    ///
    /// What is in a circle beside shows in the place of what is there, and decides about nothing else.
    @Test(arguments: [
        (Charter.home, Charter.elsewhere), (.elsewhere, .home), (.elsewhere, .beside), (.beside, .elsewhere),
        (.home, .beside),
    ])
    func `what is in another circle changes nothing`(_ charter: Charter, other: Charter) throws {
        let troubles = MergeTroubles.all.union([.rights, .branches, .erasures])
        let plans = try Seeds.plans(from: 34_000, count: 30, changes: 25, troubles: troubles)
        let others = try Seeds.plans(from: 35_000, count: 30, changes: 25, troubles: troubles)
        for (number, plan) in plans.enumerated() {
            let agreement = MergeAgreement(
                compacts: number % 3 == 0,
                in: charter,
                beside: GeneratedHistory(others[number], under: other)
            ) {
                MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
            }
            try agreement.check(plan)
        }
    }

    /// What has been said of rights turns what others wrote, whenever it comes, also by forks of those who said it.
    @Test(arguments: [
        MergeTroubles.rights, [.rights, .forks], [.rights, .fastClocks, .restamps], [.rights, .lies],
        [.rights, .branches], [.rights, .fastClocks, .clocksSetBack], MergeTroubles.all.union(.rights),
    ])
    func `an edit counts by right alone, whenever that is said`(troubles: MergeTroubles) throws {
        try self.check(first: 50_000, count: 60, changes: 40, troubles)
        try self.check(first: 51_000, count: 60, changes: 40, troubles, compacts: true, redacts: true)
    }

    @Test func `names that look alike are different properties`() throws {
        try self.check(first: 6000, count: 10, changes: 15, [.lookalikes])
    }

    @Test(arguments: [
        MergeTroubles.variety, [.variety, .forks], [.variety, .fastClocks, .restamps], [.variety, .lies],
        [.variety, .branches], .all,
    ])
    func `nodes that drop writes come to the state of those that keep them`(troubles: MergeTroubles) throws {
        let done = try self.check(first: 20_000, count: 60, changes: 40, troubles, compacts: true)
        // What was dropped before the write came that made it needless is filled in again.
        #expect(done.filled > 0)
    }

    /// A node that misses nothing has the state of those that were told the truth, and one that misses something comes
    /// to it as soon as it gets that.
    @Test(arguments: [
        MergeTroubles.variety, [.variety, .forks], [.variety, .fastClocks, .restamps], [.variety, .lies],
        [.variety, .branches], [.variety, .fastClocks, .clocksSetBack], .all,
    ])
    func `a relay that redacts what is needed hides it until somebody has it`(troubles: MergeTroubles) throws {
        for compacts in [false, true] {
            let first: UInt64 = compacts ? 41_000 : 40_000
            let done = try self.check(
                first: first,
                count: 60,
                changes: 40,
                troubles,
                compacts: compacts,
                redacts: true
            )
            #expect(done.filled > 0)
        }
    }

    @Test(arguments: [
        MergeTroubles.variety, [.variety, .forks], [.variety, .fastClocks, .restamps], [.variety, .lies],
        [.variety, .branches], .all,
    ])
    func `nodes that erase come to the state of those that keep everything`(troubles: MergeTroubles) throws {
        let troubles = troubles.union(.erasures)
        #expect(try self.check(first: 30_000, count: 60, changes: 40, troubles).erased > 0)
        #expect(try self.check(first: 31_000, count: 30, changes: 40, troubles, compacts: true).erased > 0)
    }

    @Test func `all of it at once`() throws {
        try self.check(first: 5000, count: 100, changes: 30, .all)
    }
}
