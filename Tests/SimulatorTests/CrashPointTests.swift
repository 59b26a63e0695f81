import Testing

@testable import Simulator

/// P28, exhaustively: every store call of a commit is a point at which the machine may end.
struct CrashPointTests {
    private func world() -> World {
        let plan = Plan(
            peerCount: 1,
            topology: .mesh,
            links: .lan,
            faults: [],
            checkpointPageCount: 5,
            duration: .seconds(10),
            actions: [],
            core: [0]
        )
        let world = World(plan: plan, tape: ChoiceTape(seed: 3))
        world.found()
        world.run(until: .seconds(1))
        world.write([.set(0, property: 0), .twins], on: world.machines[0])
        return world
    }

    @Test(arguments: [.kill] + PowerLoss.allCases.map { Ending.powerCut($0) })
    func `after an end at any store call of a commit, all that was acknowledged is there`(_ ending: Ending) {
        var call = 1
        while true {
            let world = self.world()
            let machine = world.machines[0]
            let acknowledged = world.work.acknowledgedCount
            #expect(acknowledged == 1)
            machine.disk.faults.ending = (machine.disk.callCount + call, ending)
            machine.plannedDowntime = .seconds(1)
            world.write([.set(1, property: 1), .twins, .delete(0)], on: machine)
            let hasEnded = machine.condition == .down
            world.run(until: .seconds(5))
            world.inspect()
            world.settle(core: [0])
            #expect(world.record.findings == [], "\(ending) at call \(call)")
            #expect(machine.isUp)
            if !hasEnded {
                #expect(world.work.acknowledgedCount == 2)
                break
            }
            call += 1
        }
        #expect(call > 10)
    }

    /// Found by the simulator, seed 11419: what a killed process had written and not synced was taken for durable.
    @Test func `a commit that is found after a kill survives the power cut that follows`() {
        var call = 1
        while true {
            let world = self.world()
            let machine = world.machines[0]
            machine.disk.faults.ending = (machine.disk.callCount + call, .kill)
            machine.plannedDowntime = .seconds(1)
            world.write([.set(1, property: 1), .twins, .delete(0)], on: machine)
            let hasEnded = machine.condition == .down
            world.run(until: .seconds(5))
            world.end(machine, .powerCut(.losesAll), downtime: .seconds(1))
            world.run(until: .seconds(10))
            #expect(world.record.findings == [], "call \(call)")
            #expect(machine.isUp)
            if !hasEnded { break }
            call += 1
        }
        #expect(call > 10)
    }
}
