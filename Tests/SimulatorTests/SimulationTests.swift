import Engine
import Testing

@testable import Simulation
@testable import Simulator

struct SimulationTests {
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a seed run twice is the same to the last event, and nothing is found`(_ seed: UInt64) {
        let first = Simulation.run(seed: seed)
        let second = Simulation.run(seed: seed)
        #expect(first.hash == second.hash)
        #expect(first.eventCount == second.eventCount)
        #expect(first.record.findings == [], "Simulator replay \(seed)")
    }

    @Test func `each seed switches off about half of the faults`() {
        var counts: [Fault: Int] = [:]
        for seed in 0..<200 {
            for fault in PlanGenerator.faults(ChoiceTape(seed: UInt64(seed)), PlanLimits()) {
                counts[fault, default: 0] += 1
            }
        }
        #expect(Set(counts.keys) == Set(Fault.allCases))
        for (fault, count) in counts { #expect((20..<140).contains(count), "\(fault) in \(count) of 200") }
    }

    @Test func `a plan read back from its choices is the plan that was drawn`() {
        let tape = ChoiceTape(seed: 77)
        let plan = PlanGenerator.plan(tape, PlanLimits())
        #expect(PlanGenerator.plan(ChoiceTape(choices: tape.choices), PlanLimits()) == plan)
    }
}

/// Who can reach whom.
struct TopologyTests {
    @Test(arguments: Topology.allCases.filter { $0 != .sneakernet })
    func `all that a link joins are in session, long before it is healed`(_ topology: Topology) throws {
        let core = Array(0..<6)
        let plan = Plan(peerCount: 6, topology: topology, links: .wifi, duration: .seconds(60), core: core)
        let world = World(plan: plan, tape: ChoiceTape(seed: 1))
        world.begin()
        world.write([.set(0, property: 0)], on: world.machines[5])
        world.run(until: .seconds(60))
        for machine in world.machines {
            let peers = try #require(machine.observedStatus(at: world.time)).peers
            let inSession = Set(peers.filter(\.isConnected).map(\.name))
            let linked = (0..<6).filter { $0 != machine.number && world.network.hasLink($0, machine.number) }
            #expect(inSession == Set(linked.map { "peer\($0)" }), "peer\(machine.number)")
        }
    }
}

/// Oracles that find nothing must be known to be able to: each of these plants what an oracle is there for.
struct CanaryTests {
    private func world(peers: Int) -> World {
        let plan = Plan(peerCount: peers, duration: .seconds(10), core: Array(0..<peers))
        let world = World(plan: plan, tape: ChoiceTape(seed: 1))
        world.found()
        for _ in 1..<peers { world.join(world.machines[0]) }
        world.run(until: .seconds(5))
        return world
    }

    @Test func `an acknowledged write that is gone is found`() {
        let world = self.world(peers: 2)
        let image = world.machines[1].disk.image()
        world.network.partition([[0], [1]])
        world.write([.set(0, property: 0)], on: world.machines[1])
        world.end(world.machines[1], .powerCut(.keepsAll), downtime: .seconds(1))
        world.machines[1].disk.restore(image)
        world.machines[1].view = StoreContent()
        world.run(until: .seconds(15))
        world.settle(core: [0, 1])
        #expect(world.record.findings.first?.property == .lostWrite)
    }

    @Test func `a frontier that goes back is found`() {
        let world = self.world(peers: 2)
        let image = world.machines[1].disk.image()
        world.write([.set(0, property: 0)], on: world.machines[1])
        world.end(world.machines[1], .kill, downtime: .seconds(1))
        world.machines[1].disk.restore(image)
        world.run(until: .seconds(8))
        #expect(world.record.findings.map(\.property).contains(.frontierWentBack))
    }

    @Test func `what the clock holds by now, and is applied all the same, is found`() {
        let world = self.world(peers: 2)
        world.network.partition([[0], [1]])
        world.machines[1].clock.set(offsetMilliseconds: 3_600_000, at: world.time)
        world.write([.set(0, property: 0)], on: world.machines[1])
        // A disk that refuses everything, also what the clock takes out.
        world.machines[1].clock.set(offsetMilliseconds: 0, at: world.time)
        world.machines[1].highestWall = world.machines[0].highestWall
        world.machines[1].viewedChangeCount = -1
        world.oracles.look(at: world.machines[1], in: world)
        #expect(world.record.findings.map(\.property) == [.appliedTooEarly])
    }

    @Test(arguments: [true, false])
    func `a database that is put back alone is told from the original, and a whole disk is not`(_ isAlone: Bool) {
        let world = self.world(peers: 2)
        world.perform(.disk(peer: 1, .backUp))
        world.perform(.process(peer: 1, .restart(downtime: .seconds(1), clockBackMilliseconds: 0)))
        world.run(until: world.time + .seconds(5))
        world.network.partition([[0], [1]])
        world.perform(.disk(peer: 1, .restore(isDatabaseAlone: isAlone)))
        world.run(until: world.time + .seconds(5))
        world.write([.set(0, property: 0)], on: world.machines[1])
        #expect(world.record.marks.contains(.copyNoticed) == isAlone)
        #expect(world.hasHiddenCopy != isAlone)
        #expect(world.record.findings == [])
    }

    @Test func `what a connection has left over is said`() {
        var footprint = NodeFootprint()
        footprint.unsentByteCount = 5
        #expect(footprint.residue == nil)
        footprint.unknownEntryCount = 1
        #expect(footprint.residue == "1 entries of what a peer has")
        footprint.unacknowledgedByteCount = 64
        #expect(footprint.residue == "64 bytes under way")
    }

    /// That another state is found was seen with a merge in which the write that arrives last wins.
    @Test(arguments: [false, true])
    func `what conflicting writes came to is what their log makes in any order`(_ isReversed: Bool) {
        let world = self.world(peers: 2)
        world.network.partition([[0], [1]])
        for machine in world.machines {
            world.write([.set(0, property: 0), .set(1, property: 0)], on: machine)
            world.run(until: world.time + .seconds(1))
            world.write([.move(machine.number, parent: 1 - machine.number)], on: machine)
        }
        world.network.healPartition()
        world.releaseHeldLanes()
        world.run(until: .seconds(60))
        for machine in world.machines { world.compareWithReplay(machine, isReversed: isReversed) }
        #expect(world.record.findings == [])
        #expect(world.record.marks.contains(.comparedWithReplay))
    }

    /// No link of a core fails, so one of them writes so often that the other has never heard of the last write when
    /// they are compared.
    @Test func `a core that is not equal in time is found`() {
        let world = self.world(peers: 2)
        let writer = world.machines[1]
        for second in 1...World.settlingTime.milliseconds / 1_000 {
            let write = Event.write([world.work.request([.set(0, property: 0)], as: ActionContext())])
            world.schedule(after: .seconds(second) - .microseconds(100)) { $0.handle(writer, write) }
        }
        world.settle(core: [0, 1])
        #expect(world.record.findings.map(\.property) == [.notConverged])
        #expect(!world.record.marks.contains(.equalInTime))
    }

    @Test func `a core that is healed converges, and one that cannot meet does not`() {
        let world = self.world(peers: 2)
        world.network.partition([[0], [1]])
        world.write([.set(0, property: 0)], on: world.machines[1])
        #expect(world.machines[0].view.regression(from: world.machines[1].view) != nil)
        world.settle(core: [0, 1])
        #expect(world.record.findings.isEmpty)
        #expect(world.record.marks.contains(.equalInTime))
        world.network.partition([[0], [1]])
        world.write([.set(0, property: 0)], on: world.machines[1])
        world.run(until: world.time + World.settlingTime)
        #expect(world.machines[0].view.regression(from: world.machines[1].view) != nil)
    }
}
