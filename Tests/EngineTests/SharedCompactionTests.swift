import CRDTCore
import MergeModel
import Testing

@testable import Engine

/// What compaction leaves where several people write (rule 15).
struct SharedCompactionTests {
    private let network = TestNetwork()
    private static let day: UInt64 = 86_400_000

    private func value(_ object: ObjectID, _ machine: Int) throws -> Value? {
        try self.network.machines[machine].node.read { transaction throws(StoreError) -> Value? in
            guard let index = try transaction.existingObjectIndex(of: object),
                let name = transaction.existingNameIndex(of: "title")
            else { return nil }
            return try transaction.value(of: name, on: index)
        }
    }

    private func compact(_ machine: Int, keepingDays days: UInt64) throws -> Int {
        let now = self.network.moment(of: machine)
        var run = try self.network.machines[machine].node.beginCompaction(
            keeping: days * Self.day,
            awaitingWithin: days * Self.day,
            isDryRun: false,
            at: now
        )
        while !run.isDone { try self.network.machines[machine].node.step(&run, at: now) }
        return run.summary.droppedWriteCount
    }

    @Test func `the last write of each user stays, and shows if all that another one wrote counts no more`() throws {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try self.network.add(identity, seed: 2)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 3)
        self.network.settle(seconds: 30)
        let user = self.network.users[ann].user
        let list = try self.network.write(first, .create(.init(type: "list"))).created[0]
        try self.network.write(first) { local throws(WriteRefusal) in
            _ = try local.share(list, with: user, as: .writer)
        }
        self.network.settle(seconds: 30)
        for (machine, title) in [(first, "a"), (first, "b"), (ann, "c"), (ann, "d")] {
            try self.network.write(machine, .set(list, name: "title", value: .string(title)))
            self.network.settle(seconds: 30)
        }
        self.network.time += 10 * Self.day
        self.network.settle(seconds: 60)
        // Of four writes "a" and "c" are needed by nobody.
        #expect(try self.compact(first, keepingDays: 5) == 2)
        #expect(try self.value(list, first) == .string("d"))
        try self.network.write(first) { local throws(WriteRefusal) in
            let circle = try WriteRefusal.from { () throws(StoreError) -> Circle in
                guard let index = try local.store.existingObjectIndex(of: list) else { return .home }
                return try local.store.circles[local.store.object(index).circle]
            }
            let removal = RightsStatement.Removal(of: user, from: Set(Role.allCases))
            try local.plan.append(.rights(.removes(removal)), in: circle)
        }
        #expect(try self.value(list, first) == .string("b"))
    }
}
