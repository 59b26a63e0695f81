import CRDTCore
import Testing

@testable import Engine
@testable import Simulation

/// What the oracles of branches find when it is there to be found.
struct BranchOracleTests {
    private func world() -> World {
        let world = World.watched()
        world.perform(.write(peer: 0, [.set(0, property: 0)]))
        world.perform(.branch(peer: 0, .open(0, leaving: nil, isOfThePast: false)))
        return world
    }

    private func states(of machine: Machine) throws -> BranchStates {
        try #require(
            try machine.read { transaction throws(StoreError) in try BranchStates(of: &transaction) }
        )
    }

    @Test func `branches are looked at with each write and merge, and in the end on all machines`() {
        let world = self.world()
        world.perform(.branch(peer: 0, .write(0, [.set(0, property: 0), .create(1, parent: 0)])))
        world.perform(.branch(peer: 0, .open(1, leaving: 0, isOfThePast: false)))
        world.perform(.branch(peer: 0, .write(1, [.set(0, property: 1)])))
        #expect(!world.record.marks.contains(.branchMerged))
        world.perform(.branch(peer: 0, .merge(0, into: nil)))
        world.settle(core: [0, 1])
        #expect(world.record.findings == [])
        #expect(
            world.record.marks.isSuperset(of: [.branchWritten, .branchMerged, .branchesCompared, .branchOfBranch])
        )
    }

    @Test func `machines that show a branch differently are told`() throws {
        let world = self.world()
        let before = try self.states(of: world.machines[0])
        world.perform(.branch(peer: 0, .write(0, [.set(0, property: 0)])))
        let after = try self.states(of: world.machines[0])
        #expect(!before.isAt(after))
        #expect(before.difference(from: before) == nil)
        #expect(before.difference(from: after)?.hasPrefix("the state of b0: ") == true)
        world.perform(.branch(peer: 0, .close(0)))
        let closed = try self.states(of: world.machines[0])
        #expect(after.difference(from: closed) == "only one of them lists b0")
    }

    @Test(arguments: ["A: merges b into b", "A: on main set k.p \"1\"", "A: drops main", "expect seen undone on b"])
    func `a line about branches that means nothing is refused`(_ line: String) {
        #expect(throws: ScenarioError.self) { try ScenarioParser.parse("peers A B\n\(line)\nsettle\n") }
    }
}
