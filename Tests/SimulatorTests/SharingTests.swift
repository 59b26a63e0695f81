import Testing

@testable import Simulation

/// Worlds of several people.
struct SharingTests {
    private func plan(_ seed: UInt64, isShared: Bool?) -> Plan {
        var limits = PlanLimits()
        limits.isShared = isShared
        return PlanGenerator.plan(ChoiceTape(seed: seed), limits)
    }

    @Test func `every second seed is of several people, who share, and the others stay what they were`() {
        var sharedCount = 0
        for seed in 0..<400 as Range<UInt64> {
            let (drawn, alone) = (self.plan(seed, isShared: nil), self.plan(seed, isShared: false))
            if drawn.isShared { sharedCount += 1 } else { #expect(drawn == alone) }
            #expect(!alone.isShared && !alone.actions.contains { $0.action.isSharing })
            let shared = self.plan(seed, isShared: true)
            #expect(shared.users.count == shared.peerCount && shared.users[0] == 0)
            #expect(Set(shared.users) == Set(0...(shared.users.max() ?? 0)) && shared.isShared)
        }
        #expect(160...240 ~= sharedCount)
    }

    @Test func `the people of machines that are left are numbered anew`() {
        #expect(Plan.renumbered([0, 0, 0]) == [])
        #expect(Plan.renumbered([2, 0, 2, 1]) == [0, 1, 0, 2])
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `people in a random world have what they read, and nothing else`(_ seed: UInt64) {
        var limits = PlanLimits()
        limits.isShared = true
        let outcome = Simulation.run(seed: seed, limits: limits)
        #expect(outcome.record.findings == [])
    }

    /// A world of two people, in which the founder's machine has written.
    private func world(_ lines: String) throws -> World {
        let scenario = try ScenarioParser.parse("peers A B\nperson B\n" + lines)
        let plan = Plan(of: scenario, duration: .seconds(60), actions: [], core: [0, 1])
        let world = World(plan: plan, tape: ChoiceTape(seed: 1))
        world.begin()
        for case .action(let action) in scenario.statements.map(\.content) { world.perform(action) }
        world.run(until: world.time + .seconds(5))
        return world
    }

    @Test func `a secret on a disk of somebody else is found`() throws {
        let world = try self.world("A: create o1; set o1.title \"secret one.\"")
        world.checkSecrets()
        #expect(world.record.findings == [])
        let file = world.machines[1].disk.makeFile("/copy")
        Array("something secret one. and more".utf8).withUnsafeBytes { file.write($0, at: 0) }
        world.checkSecrets()
        #expect(world.record.findings.map(\.property) == [.leaked])
    }

    @Test func `a secret that is shared is none`() throws {
        let world = try self.world("A: create o1; set o1.title \"secret one.\"\nA: shares o1 with B")
        #expect(world.machines[1].hasText("secret one."))
        world.checkSecrets()
        #expect(world.record.findings == [])
    }
}
