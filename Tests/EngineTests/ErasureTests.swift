import CRDTCore
import Synchronization
import Testing

@testable import Engine

/// The past of a property, erased on one machine and carried to the others.
@Suite struct ErasureTests {
    /// Three machines that have met, and an object whose property was written three times.
    private func world() throws -> (network: TestNetwork, object: ObjectID) {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "a", entropy: &entropy) else { throw TestFailure("keys") }
        _ = try network.add(identity, seed: 11)
        _ = try network.join(0, name: "b", seed: 2)
        _ = try network.join(0, name: "c", seed: 3)
        network.settle()
        let creation = Transaction.Creation(type: "note", properties: ["text": .string("first secret")])
        let created = try network.write(0, .create(creation)).created
        let object = try #require(created.first)
        network.settle()
        _ = try network.write(1, .set(object, name: "text", value: .string("second secret")))
        network.settle()
        _ = try network.write(0, .set(object, name: "text", value: .string("open")))
        network.settle()
        return (network, object)
    }

    private func forget(_ network: TestNetwork, _ machine: Int, _ object: ObjectID) throws -> Int64? {
        let count = Mutex<Int64?>(nil)
        try network.write(machine) { local throws(WriteRefusal) in
            let found = try local.erasePast(of: "text", on: object)
            count.withLock { $0 = found }
        }
        return count.withLock { $0 }
    }

    /// The values of all writes that the log of a machine holds.
    private func values(_ network: TestNetwork, _ machine: Int) throws -> Set<String> {
        var store = network.copyStore(of: machine)
        return try store.read { transaction throws(StoreError) in
            var found: Set<String> = []
            for segment in transaction.segmentIndices {
                var next = transaction.segment(segment).firstSequence
                let limits = RunLimits(changeCountMax: 64)
                while let run = transaction.loadRun(of: segment, from: next, limits: limits, signed: false) {
                    next = run.lastSequence + 1
                    for change in run.changes {
                        for position in change.operationRange {
                            guard case .set(_, "text", .string(let text))? = try? run.edit(run.operations[position])
                            else { continue }
                            found.insert(text)
                        }
                    }
                }
            }
            return found
        }
    }

    @Test func `an erasure is carried to all machines, and changes no state`() throws {
        let (network, object) = try self.world()
        let before = try self.values(network, 2)
        #expect(before == ["first secret", "second secret", "open"])
        #expect(try self.forget(network, 0, object) == 2)
        network.settle()
        for machine in 0..<3 {
            #expect(try self.values(network, machine) == ["open"], "machine \(machine)")
            #expect(try network.export(machine) == network.export(0))
            #expect(try network.export(machine).contains("open"))
        }
        // There is nothing more to erase.
        #expect(try self.forget(network, 1, object) == 0)
    }

    @Test func `an open branch bars an erasure on the machine that knows of it, until it is closed`() throws {
        let (network, object) = try self.world()
        network.cut(0, 2)
        network.cut(1, 2)
        network.settle()
        let branch = Mutex<BranchID?>(nil)
        try network.write(2) { local throws(WriteRefusal) in
            let id = try local.openBranch(named: "plan", leaving: nil, at: nil)
            branch.withLock { $0 = id }
        }
        // Made at the same time: the branch shows what the erasure covers.
        _ = try network.write(0, .set(object, name: "text", value: .string("later")))
        _ = try self.forget(network, 0, object)
        network.settle()
        #expect(try self.values(network, 1) == ["later"])
        network.healAll()
        network.settle(seconds: 300)
        let opened = try #require(branch.withLock { $0 })
        #expect(try self.values(network, 2).contains("open"))
        #expect(try self.shown(network, 2, on: opened, object) == .string("open"))
        // Where it was erased before the branch was heard of, the branch cannot be read there.
        try network.write(2) { local throws(WriteRefusal) in
            try local.closeBranch(opened, discardingAtMost: .max)
        }
        network.settle()
        for machine in 0..<3 { #expect(try self.values(network, machine) == ["later"], "machine \(machine)") }
    }

    /// The branches times the chains come to more than one step of an erasure may cost.
    @Test func `beside however many open branches, what none of them shows is erased`() throws {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "a", entropy: &entropy) else { throw TestFailure("keys") }
        _ = try network.add(identity, seed: 11)
        let count = 260
        #expect(count * count > Erasing.stepOperationCountMax)
        for number in 0..<count {
            let branch = Mutex<BranchID?>(nil)
            try network.write(0) { local throws(WriteRefusal) in
                let id = try local.openBranch(named: "branch \(number)", leaving: nil, at: nil)
                branch.withLock { $0 = id }
            }
            try network.write(0, on: branch.withLock { $0 }) { local throws(WriteRefusal) in
                try local.perform(.create(Transaction.Creation(type: "note")))
            }
        }
        let creation = Transaction.Creation(type: "note", properties: ["text": .string("secret")])
        let object = try #require(try network.write(0, .create(creation)).created.first)
        _ = try network.write(0, .set(object, name: "text", value: .string("open")))
        #expect(try self.forget(network, 0, object) == 1)
        network.settle()
        #expect(try self.values(network, 0) == ["open"])
    }

    /// What a branch shows on a machine.
    private func shown(
        _ network: TestNetwork,
        _ machine: Int,
        on branch: BranchID,
        _ object: ObjectID
    ) throws -> Value? {
        var store = network.copyStore(of: machine)
        return try store.read { transaction throws(StoreError) in
            let key = RegisterKey(
                object: transaction.objectIndex(of: object),
                name: transaction.nameIndex(of: "text")
            )
            var history = History(try transaction.view(of: branch))
            return try history.value(at: key, in: &transaction)
        }
    }

    @Test func `an erasure without a write behind it has no effect`() throws {
        let (network, object) = try self.world()
        try network.write(1) { local throws(WriteRefusal) in
            try local.plan.note(Erasure(object: object, name: "text"), in: .home)
        }
        network.settle()
        for machine in 0..<3 {
            #expect(try self.values(network, machine) == ["first secret", "second secret", "open"])
        }
    }

    @Test func `a write that had not seen the erasure stays`() throws {
        let (network, object) = try self.world()
        network.cut(0, 2)
        network.cut(1, 2)
        network.settle()
        _ = try network.write(2, .set(object, name: "text", value: .string("from afar")))
        _ = try self.forget(network, 0, object)
        network.settle()
        network.healAll()
        network.settle(seconds: 300)
        for machine in 0..<3 {
            #expect(try self.values(network, machine) == ["open", "from afar"], "machine \(machine)")
            #expect(try network.export(machine) == network.export(0))
        }
    }
}
