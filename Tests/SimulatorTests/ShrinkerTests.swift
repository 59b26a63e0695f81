import Testing

@testable import Simulation
@testable import Simulator

/// How failures are told from each other, and made smaller.
struct ShrinkerTests {
    private func kind(_ property: CheckedProperty, _ message: String) -> Finding.Kind {
        Finding(property: property, message: message).kind
    }

    @Test func `one failure of two runs is of one kind, whatever its names and numbers`() {
        #expect(
            self.kind(.frontierWentBack, "machine 1: 350250840ec17e59 went back from 7 to 6")
                == self.kind(.frontierWentBack, "machine 0: abcdefabcdefabcd went back from 3 to 2")
        )
        #expect(
            self.kind(.lostWrite, "b3b84c:3, held by [1], is gone from the core: set 0000.title 05; excluded: a")
                == self.kind(.lostWrite, "2f7e8b:2, held by [0], is gone from the core: create 0000 item/")
        )
        #expect(
            self.kind(.modelDisagrees, "machine 1:\n  got      03e8.left conflict 8de03c:2[0]@17.0 set 03e8.left 057")
                == self.kind(.modelDisagrees, "machine 0:\n  got      0000.title conflict 8de03c:2[0]@17.0 set 0000")
        )
    }

    @Test func `failures that are not the same are of different kinds`() {
        #expect(self.kind(.damage, "machine 1: a") != self.kind(.divergence, "machine 1: a"))
        #expect(
            self.kind(.violation, "an honest peer broke the protocol: a run that leaves a gap in its chain")
                != self.kind(.violation, "an honest peer broke the protocol: a run was refused: badSignature")
        )
        #expect(
            self.kind(.modelDisagrees, "machine 1:\n  got      03e8.left conflict 8de03c:2[0]")
                != self.kind(.modelDisagrees, "machine 1:\n  got      03e8 visible=true")
        )
    }

    @Test func `without a peer nothing is left that it did, and the others move up`() {
        let write = WorkStep.set(0, property: 0)
        let actions: [Action] = [
            .write(peer: 1, [write]), .network(.partition([[1, 0], [2, 3]])), .network(.partition([[1], [0, 2, 3]])),
            .network(.reset(1, 2)), .network(.healPartition), .process(peer: 3, .pause(.zero)),
        ]
        let left = actions.compactMap { $0.renumberingPeers { $0 == 1 ? nil : $0 > 1 ? $0 - 1 : $0 } }
        #expect(
            left == [.network(.partition([[0], [1, 2]])), .network(.healPartition), .process(peer: 2, .pause(.zero))]
        )
    }

    @Test func `no simpler form of an action leads back to it`() {
        var limits = PlanLimits()
        limits.faults = Fault.allCases
        var settled: Set<Action> = []
        func follow(_ action: Action, _ path: [Action]) {
            #expect(!path.contains(action), "\(path)")
            guard path.count < 200, !path.contains(action), settled.insert(action).inserted else { return }
            for form in action.simplerForms { follow(form, path + [action]) }
        }
        for seed in 0..<20 as Range<UInt64> {
            for timed in Recipe(seed: seed, limits: limits).plan.actions {
                if case .write = timed.action { continue }
                follow(timed.action, [])
            }
        }
    }

    /// As if it were a failure that a conflict is listed: something that is not there at first must come about.
    private static func run(_ scenario: Scenario, _ watchesSilence: Bool) -> ScenarioVerdict {
        var outcome = ScenarioRunner.run(scenario, watchesSilence: watchesSilence)
        if outcome.record.marks.contains(.conflictShown) {
            outcome.record.find(.divergence, "machine \(scenario.peers.count) lists a conflict")
        }
        return ScenarioVerdict(outcome)
    }

    @Test func `a failing run becomes a short script that fails in the same way`() throws {
        var limits = PlanLimits()
        limits.peerCount = 2
        limits.faults = [.partition, .kill, .clockDrift]
        limits.usesAll = true
        let recipes = (1...300 as ClosedRange<UInt64>).map { Recipe(seed: $0, limits: limits) }
        // No limit of time: a debug build on a busy machine is to come to the same script.
        let made = recipes.lazy.compactMap { Shrinker($0, seconds: .infinity, run: ShrinkerTests.run) }.first
        guard var shrinker = made else {
            Issue.record("no seed lists a conflict")
            return
        }
        #expect(shrinker.recipe.plan.actions.count > 10)
        let scenario = shrinker.shrink()
        #expect(scenario.lines.count < 10, "\(scenario.lines)")
        let again = try ScenarioParser.parse(scenario.lines.joined(separator: "\n"))
        #expect(ShrinkerTests.run(again, true).finding?.kind == shrinker.finding.kind)
    }

    @Test func `a run that does not fail is not shrunk`() {
        let made = Shrinker(Recipe(seed: 1, limits: PlanLimits()), seconds: 1)
        #expect(made.map(\.runCount) == nil)
    }
}
