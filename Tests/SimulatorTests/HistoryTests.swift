import CRDTCore
import Testing

@testable import Simulator

/// Random histories of the merge alone, and what is said of them.
struct HistoryTests {
    private func report(of seeds: Range<UInt64>, _ shape: HistoryShape) throws -> HistoryReport {
        shape.report(of: seeds, in: try HistoryWorld(peerCount: shape.peerCount))
    }

    @Test(arguments: [(2, 30), (3, 60), (5, 60)])
    func `after a random history all replicas are equal, and as the naive model has it`(
        _ peers: Int,
        _ steps: Int
    ) throws {
        let shape = HistoryShape(peerCount: peers, stepCount: steps, thoroughEvery: 4)
        let report = try self.report(of: 1..<61, shape)
        #expect(report.findings == [])
        #expect(report.comparedCount == 15)
        #expect(report.historyCount == 60)
        // The others copy and restore databases and set clocks.
        #expect(report.changeCount + report.deliveryCount > 57 * steps)
        #expect(zip(HistoryMarks.names, report.markCounts).filter { $0.1 == 0 }.map(\.0) == [])
    }

    @Test func `one seed makes one history and one state, whatever it is run beside`() throws {
        let shape = HistoryShape(thoroughEvery: 1_000)
        var parts = HistoryReport()
        parts.add(try self.report(of: 115..<130, shape))
        parts.add(try self.report(of: 100..<115, shape))
        let whole = try self.report(of: 100..<130, shape)
        #expect(parts.digest == whole.digest)
        #expect(whole.digest != (try self.report(of: 101..<131, shape)).digest)
    }

    @Test func `a history is read back as it was written down`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let plan = HistoryShape(peerCount: 2 + Int(seed % 6), stepCount: 40).plan(seed: seed)
            #expect(try HistoryPlan(named: plan.name) == plan)
        }
        let plan = try HistoryPlan(named: "3@2:0+3c1s1.2.5m1.-.0,1<0.2,2=1,0~2.1,1u1.2d1m0.1.4")
        #expect(plan.name == "3@2:0+3c1s1.2.5m1.-.0,1<0.2,2=1,0~2.1,1u1.2d1m0.1.4")
        #expect(plan.steps.count == 5)
        let troubled = "3:0(,0c1,0),0u1.2r2.1.3,0!1,1!0,2!2"
        #expect(try HistoryPlan(named: troubled).name == troubled)
    }

    @Test(
        arguments: [
            "", "3", "3:x", "1:0c1", "8:0c1", "3@3:0c1", "3:3c1", "3:0c6", "3:0s1.9.0", "3:0s1.1.99", "3:0m1.6.0",
            "3:0m1.-.7", "3:0<0.1", "3:0<1.0", "3:0=0", "3:0~1.0", "3:0+300c1", "3:0c", "3:0", "3:0c1 ", "3:0c1:",
            "3:0s1,2.3", "3:3(", "3:0(1", "3:0!3", "3:0!", "3:0r3.1.1", "3:0r1.0.1", "3:0r1.1.0",
        ]
    )
    func `a history that cannot be is refused`(_ name: String) {
        #expect(throws: UnknownCase.self) { try HistoryPlan(named: name) }
    }

    /// As if it were a failure that a conflict is listed: something that is not there at first must come about.
    private static func find(_ plan: HistoryPlan) -> Finding? {
        guard let world = try? HistoryWorld(peerCount: plan.peerCount) else { return nil }
        let outcome = HistoryRun.outcome(of: plan, in: world, isThorough: false)
        guard outcome.marks.contains(.conflictShown) else { return outcome.finding }
        return Finding(property: .divergence, message: "\(plan.steps.count) steps make a conflict")
    }

    @Test func `a failing history becomes a few steps that fail in the same way`() throws {
        let plan = HistoryShape().plan(seed: 3)
        var shrinker = try #require(HistoryShrinker(plan, find: HistoryTests.find))
        shrinker.shrink()
        // Two peers write one property, neither having heard of the other.
        #expect(shrinker.plan.peerCount == 2)
        #expect(shrinker.plan.steps.count == 2, "\(shrinker.plan.name)")
        #expect(HistoryTests.find(shrinker.plan) != nil)
        #expect(HistoryShrinker(HistoryPlan(peerCount: 2, steps: []), find: HistoryTests.find).map(\.plan) == nil)
    }

    @Test func `what failed is told with the least history and lines that run it again`() {
        var report = HistoryReport()
        var outcome = HistoryOutcome()
        outcome.finding = Finding(property: .divergence, message: "peers 0 and 1 differ")
        for seed in [7, 9] as [UInt64] { report.add(outcome, seed: seed, isThorough: true) }
        let summary = HistorySummary(report, HistoryShape(), seconds: 1, jobs: 2) { $0 == 7 ? "2:0c1" : nil }
        #expect(!summary.isClean)
        for words in [
            "FAILED       divergence in 2 histories", "histories --first 7 --seeds 1 --peers 3 --steps 60",
            "shrunk       to 1 steps", "histories --case '2:",
        ] { #expect(summary.text.contains(words)) }
        #expect(summary.json.contains("\"histories\":2"))
        let nothing = HistorySummary(HistoryReport(), HistoryShape(), seconds: 1, jobs: 2) { _ in nil }
        #expect(nothing.isClean)
    }
}

/// That what is wrong in a state is seen.
struct StateDigestTests {
    /// A store with a folder and something in it, changed by hand.
    private func digest(_ change: (inout MemoryTransaction) -> Void) throws -> StateDigest {
        var replica = try HistoryWorld(peerCount: 2).replicas[0]
        let edits: [HistoryEdit] = [
            .create(0), .create(1), .move(1, parent: 0, position: 1), .set(1, name: 0, value: 5),
        ]
        _ = try replica.commit(
            edits.map { HistoryWorld.edit($0, []) },
            as: HistoryHoldings.Place(chain: 0, position: 1),
            at: HistoryWorld.start,
            secret: Array(repeating: 1, count: 16)[...]
        )
        return try replica.read { transaction in
            change(&transaction)
            return StateDigest(of: &transaction)
        }
    }

    @Test func `a tree that is none is seen, and every part of a state counts`() throws {
        let whole = try self.digest { _ in }
        #expect(whole.problem == nil)
        let folder = ObjectIndex(rawValue: 0)
        let child = ObjectIndex(rawValue: 1)
        let cycle = try self.digest { transaction in
            transaction.update(folder) { $0.parent = child }
        }
        #expect(cycle.problem?.property == .brokenTree)
        let miscounted = try self.digest { transaction in
            transaction.update(folder) { $0.childCount = 2 }
        }
        #expect(miscounted.problem?.property == .brokenTree)
        let moved = try self.digest { transaction in
            transaction.update(child) { $0.position = .initial }
        }
        #expect(moved.problem == nil)
        #expect(moved.bits != whole.bits)
    }
}
