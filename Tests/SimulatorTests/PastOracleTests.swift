import CRDTCore
import Testing

@testable import Engine
@testable import Simulation

/// What the oracles of history find when it is there to be found.
struct PastOracleTests {
    @Test func `a state that reads otherwise than it was recorded is found on each machine`() throws {
        let world = World.watched()
        world.write([.set(0, property: 0)], on: world.machines[0])
        world.run(until: .seconds(5))
        world.checkVersions(world.machines)
        #expect(world.record.findings == [])
        #expect(world.record.marks.contains(.pastRead))
        var other = try #require(world.oracles.versions.all.last)
        other.export[3] ^= 1
        world.oracles.versions.add(other)
        world.checkVersions(world.machines)
        #expect(world.record.findings.map(\.property) == [.pastDiffers])
    }

    @Test func `a number of a version that goes back is found, unless something is not applied any more`() throws {
        let world = World.watched()
        let machine = world.machines[0]
        world.write([.set(0, property: 0)], on: machine)
        world.write([.set(0, property: 0)], on: machine)
        let twice = try #require(
            try machine.read { transaction throws(StoreError) in
                try StateFingerprint(of: VisibleObjects(of: &transaction), in: &transaction)
            }
        )
        var counts = WriteCounts()
        #expect(counts.fallen(to: twice, at: machine.view) == nil)
        let other = World.watched()
        other.write([.set(0, property: 0)], on: other.machines[0])
        let once = try #require(
            try other.machines[0].read { transaction throws(StoreError) in
                try StateFingerprint(of: VisibleObjects(of: &transaction), in: &transaction)
            }
        )
        var again = counts
        #expect(again.fallen(to: once, at: StoreContent()) == nil)
        #expect(counts.fallen(to: once, at: machine.view) != nil)
    }

    @Test func `undo and redo are looked at on the device that does them, and in the end on all`() {
        let world = World.watched()
        world.write([.set(0, property: 0)], on: world.machines[0])
        world.write([.set(0, property: 0)], on: world.machines[0])
        world.perform(.history(peer: 0, .undo))
        world.perform(.history(peer: 0, .redo))
        world.perform(.history(peer: 0, .undo))
        world.settle(core: [0, 1])
        #expect(world.record.findings == [])
        #expect(world.record.marks.isSuperset(of: [.undone, .redone, .undoneInOrder, .pastRead, .pastReadByTime]))
    }

    @Test func `an undo that does too much is told`() throws {
        let world = World.watched()
        let machine = world.machines[0]
        world.write([.set(0, property: 0)], on: machine)
        let now = WallTime(milliseconds: 1 << 45)
        func state() throws -> UndoCheck.State {
            try #require(
                try machine.read { transaction throws(StoreError) in
                    try UndoCheck.State(of: nil, in: &transaction, founder: machine.founder, now: now)
                }
            )
        }
        let before = try state()
        world.write([.set(0, property: 0), .create(1, parent: nil)], on: machine)
        let after = try state()
        #expect(after.follows(before, by: 1))
        #expect(!after.follows(before, by: 2))
        let nobody = DeviceID(bytes: Bytes32(0, 0, 0, 0))
        func check(_ report: UndoReport?, isRedo: Bool, before: UndoCheck.State) -> UndoCheck {
            let reports = report.map { [$0] } ?? []
            return UndoCheck(
                before: before,
                after: after,
                reports: reports,
                isRedo: isRedo,
                device: nobody,
                program: ""
            )
        }
        let nothing = check(nil, isRedo: false, before: before)
        #expect(nothing.problem == "nothing was taken back, and the state changed")
        let change = Point(replica: ReplicaID(bytes: Bytes16(high: 1, low: 1)), sequence: 1, name: ChangeName(.zero))
        let report = UndoReport(
            change: change,
            stamp: .zero,
            deviceName: nil,
            label: "",
            isMerged: false,
            isUndo: false,
            edits: [],
            kept: []
        )
        let undo = check(report, isRedo: false, before: before)
        #expect(undo.problem?.hasPrefix("an undo ") == true)
        var chain = UndoChain()
        #expect(chain.problem(with: undo) == nil)
        let redo = check(report, isRedo: true, before: after)
        #expect(chain.problem(with: redo)?.hasPrefix("a redo after an undo leaves") == true)
    }
}
