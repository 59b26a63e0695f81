import CRDTCore
import MergeModel
import Testing

@testable import Simulation
@testable import Simulator

/// Random plans on the merge alone, and the report of them.
struct MergeTrialTests {
    private func report(of seeds: Range<UInt64>, _ shape: MergeShape) throws -> MergeReport {
        shape.report(of: seeds, in: try MergeWorld(peerCount: shape.peerCount))
    }

    @Test(arguments: [(2, 30), (3, 60), (5, 60)])
    func `after a random plan all replicas are equal, and as the naive model has it`(
        _ peers: Int,
        _ steps: Int
    ) throws {
        let shape = MergeShape(peerCount: peers, stepCount: steps, thoroughEvery: 4)
        let report = try self.report(of: 1..<61, shape)
        #expect(report.findings == [])
        #expect(report.comparedCount == 15)
        #expect(report.trialCount == 60)
        // The others copy and restore databases and set clocks.
        #expect(report.changeCount + report.deliveryCount > 57 * steps)
        #expect(zip(MergeMarks.names, report.markCounts).filter { $0.1 == 0 }.map(\.0) == [])
    }

    @Test func `a plan with lies, doubles and new replicas comes to one state in every way`() throws {
        for seed in 1..<61 as Range<UInt64> {
            let plan = MergePlanGenerator.plan(seed: seed, changes: 25, troubles: .all)
            let world = try MergeWorld(peerCount: plan.peerCount)
            let outcome = MergeTrial.outcome(of: plan, in: world, isThorough: true)
            #expect(outcome.finding == nil, "--case '\(plan.text)'")
        }
    }

    @Test func `one seed makes one plan and one state, whatever it is run beside`() throws {
        let shape = MergeShape(thoroughEvery: 1_000)
        var parts = MergeReport()
        parts.add(try self.report(of: 115..<130, shape))
        parts.add(try self.report(of: 100..<115, shape))
        let whole = try self.report(of: 100..<130, shape)
        #expect(parts.digest == whole.digest)
        #expect(whole.digest != (try self.report(of: 101..<131, shape)).digest)
    }

    @Test func `a plan is read back as it was written down`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let plan = MergeShape(peerCount: 2 + Int(seed % 6), stepCount: 40).plan(seed: seed)
            #expect(try MergePlan(text: plan.text) == plan)
        }
        let plan = try MergePlan(text: "3@2:0+3c1s1.2.5m1.-.0,1<0.2,2=1,0~2.1,1u1.2d1m0.1.4")
        #expect(plan.text == "3@2:0+3c1s1.2.5m1.-.0,1<0.2,2=1,0~2.1,1u1.2d1m0.1.4")
        #expect(plan.steps.count == 5)
        for text in [
            "3:0(,0c1,0),0u1.2r2.1.3,0!1,1!0,2!2", "7@6+coarse+alike+late+back#18446744073709551615:",
            "3+late#7:+400,0!+45,0c1.5n2.4.999x150.4,1&,1c0,0<3.1,0~3.1,2r3.1.1,0),0)2,1?8.65535,1d0",
        ] { #expect(try MergePlan(text: text).text == text) }
    }

    @Test(
        arguments: [
            "", "3", "3:x", "1:0c1", "8:0c1", "3@3:0c1", "3:3c1", "3:0c6", "3:0s1.9.0", "3:0s1.1.99", "3:0m1.6.0",
            "3:0m1.-.7", "3:0<0.1", "3:0<1.0", "3:0=0", "3:0~1.0", "3:0+300c1", "3:0c", "3:0", "3:0c1 ", "3:0c1:",
            "3:0s1,2.3", "3:3(", "3:0(1", "3:0!3", "3:0!", "3:0r3.1.1", "3:0r1.0.1", "3:0r1.1.0",
            "3+new:0c1", "3#:0c1", "3#1#2:0c1", "3:0c1.6", "3:0x99.0", "3:0x100.5", "3:0)3", "3:0<3.1", "3:0<3.1,0&",
            "3:0?9.0", "3:0?0.65536", "3:+0", "3:+", "3:0!+", "3:0!+256", "3:0&1",
        ]
    )
    func `a plan that cannot be is refused`(_ name: String) {
        #expect(throws: UnknownPlan.self) { try MergePlan(text: name) }
    }

    /// As if it were a failure that a conflict is listed: something that is not there at first must come about.
    private static func find(_ plan: MergePlan) -> Finding? {
        guard let world = try? MergeWorld(peerCount: plan.peerCount) else { return nil }
        let outcome = MergeTrial.outcome(of: plan, in: world, isThorough: false)
        guard outcome.marks.contains(.conflictShown) else { return outcome.finding }
        return Finding(property: .divergence, message: "\(plan.steps.count) steps make a conflict")
    }

    @Test func `a failing plan becomes a few steps that fail in the same way`() throws {
        let plan = MergeShape().plan(seed: 3)
        var shrinker = try #require(MergePlanShrinker(plan) { MergeTrialTests.find($0)?.kind })
        shrinker.shrink()
        // Two peers write one property, neither having heard of the other.
        #expect(shrinker.plan.peerCount == 2)
        #expect(shrinker.plan.steps.count == 2, "\(shrinker.plan.text)")
        #expect(MergeTrialTests.find(shrinker.plan) != nil)
        let empty = MergePlan(peerCount: 2, steps: [])
        #expect(MergePlanShrinker(empty) { MergeTrialTests.find($0)?.kind }.map(\.plan) == nil)
    }

    @Test func `a failure is reported with the least plan and lines that run it again`() {
        var report = MergeReport()
        var outcome = MergeOutcome()
        outcome.finding = Finding(property: .divergence, message: "peers 0 and 1 differ")
        for seed in [7, 9] as [UInt64] { report.add(outcome, seed: seed, isThorough: true) }
        let summary = MergeSummary(report, MergeShape(), seconds: 1, jobs: 2) { $0 == 7 ? "2:0c1" : nil }
        #expect(!summary.isClean)
        for words in [
            "FAILED       divergence in 2 histories", "histories --first 7 --seeds 1 --peers 3 --steps 60",
            "shrunk       to 1 steps", "histories --case '2:",
        ] { #expect(summary.text.contains(words)) }
        #expect(summary.json.contains("\"histories\":2"))
        let nothing = MergeSummary(MergeReport(), MergeShape(), seconds: 1, jobs: 2) { _ in nil }
        #expect(nothing.isClean)
    }
}

/// That what is wrong in a state is seen.
struct StateDigestTests {
    /// A store with a folder and something in it, changed by hand.
    private func digest(_ change: (inout MemoryTransaction) -> Void) throws -> StateDigest {
        var replica = try MergeWorld(peerCount: 2).replicas[0]
        let nobody = ReplicaID(bytes: Bytes16(high: 0, low: 0))
        let edits: [PlannedEdit] = [
            .create(0), .create(1), .move(1, parent: 0, position: 1), .set(1, name: 0, value: 5),
        ]
        _ = try replica.commit(
            edits.map { $0.edit([], replica: { _ in nobody }, change: { _, _ in nil }) },
            as: ChainHoldings.Place(chain: 0, position: 1),
            at: PlanVocabulary.start,
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
