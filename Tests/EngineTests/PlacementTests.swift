import CRDTCore
import MergeModel
import Testing

@testable import Engine

/// Where objects stand among those beside them.
struct PlacementTests {
    private let network = TestNetwork()

    private func machine() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func order(_ machine: Int, under parent: ObjectID? = nil) throws -> [ObjectID] {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            let index = parent.map { transaction.objectIndex(of: $0) }
            let records = transaction.children(of: index).map { transaction.object($0) }
            return records.filter(\.isVisible).map(\.id)
        }
    }

    @Test func `objects at the root stand in the order in which they were made, until they are moved`() throws {
        let machine = try self.machine()
        var expected: [ObjectID] = []
        for _ in 0..<12 { expected += try self.network.write(machine, .create(.init(type: "note"))).created }
        #expect(try self.order(machine) == expected)
        var random = SplitMix64(seed: 5)
        for _ in 0..<200 {
            let moved = expected.remove(at: random.below(expected.count))
            let place = random.below(expected.count + 1)
            let sibling = place < expected.count ? expected[place] : nil
            try self.network.write(machine, .move(moved, parent: nil, before: sibling))
            expected.insert(moved, at: place)
            #expect(try self.order(machine) == expected)
        }
    }

    @Test func `a place can be taken between those that two devices put at one place while apart`() throws {
        let first = try self.machine()
        let second = try self.network.join(first, name: "second", seed: 3)
        let folder = try self.network.write(first, .create(.init(type: "folder"))).created[0]
        self.network.settle(seconds: 10)
        self.network.cut(first, second)
        for _ in 0..<20 {
            for machine in [first, second] {
                try self.network.write(machine, .create(.init(type: "note", parent: folder)))
            }
        }
        self.network.healAll()
        self.network.settle(seconds: 60)
        var expected = try self.order(first, under: folder)
        #expect(expected.count == 40)
        var random = SplitMix64(seed: 7)
        for _ in 0..<60 {
            let moved = expected.remove(at: random.below(expected.count))
            let place = random.below(expected.count)
            try self.network.write(first, .move(moved, parent: folder, before: expected[place]))
            expected.insert(moved, at: place)
            #expect(try self.order(first, under: folder) == expected)
        }
        self.network.settle(seconds: 10)
        #expect(try self.order(second, under: folder) == expected)
    }
}

/// Transactions that a caller's own code makes as it reads.
struct LocalTransactionTests {
    private let network = TestNetwork()

    private func machine() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func write(
        _ machine: Int,
        _ body: @escaping @Sendable (inout LocalTransaction) throws(WriteRefusal) -> Void
    ) throws -> Result<WriteReceipt, WriteRefusal> {
        let id = RequestID(rawValue: 1 << 40)
        self.network.machines[machine].answers[id] = nil
        self.network.handle(machine, .write([WriteRequest(id: id, body: body)]))
        return try #require(self.network.machines[machine].answers[id])
    }

    @Test func `what was done in a transaction shows in it, and is written as one change`() throws {
        let machine = try self.machine()
        let kept = try self.network.write(
            machine,
            .create(.init(type: "note", properties: ["title": .string("old"), "gone": .int(1)]))
        ).created[0]
        let receipt = try self.write(machine) { transaction throws(WriteRefusal) in
            let folder = try transaction.create(.init(type: "folder", kind: "red"))
            #expect(try transaction.isVisible(folder))
            #expect(transaction.kind(ofNew: folder)?.kind == "red" && transaction.kind(ofNew: kept) == nil)
            #expect(try transaction.properties(of: kept) == ["title": .string("old"), "gone": .int(1)])
            try transaction.perform(.set(kept, name: "title", value: .string("new")))
            try transaction.perform(.unset(kept, name: "gone"))
            try transaction.perform(.move(kept, parent: folder, before: nil))
            #expect(try transaction.properties(of: kept) == ["title": .string("new")])
            #expect(try transaction.parent(of: kept) == folder)
            #expect(try transaction.children(of: folder) == [kept])
            #expect(try transaction.children(of: nil) == [folder])
            let item = try transaction.create(.init(type: "item", parent: folder))
            try transaction.perform(.delete(kept))
            #expect(try transaction.children(of: folder) == [item])
            #expect(try !transaction.isVisible(kept))
            // Made again, it begins anew.
            _ = try transaction.create(.init(id: .given(kept), type: "note"))
            #expect(try transaction.properties(of: kept).isEmpty)
        }.get()
        #expect(receipt.created.count == 3)
        let export = try self.network.export(machine)
        #expect(export.contains("folder") && !export.contains("\"old\"") && !export.contains("\"new\""))
        #expect(try self.network.frontier(machine).entries.map(\.sequence) == [3])
    }

    @Test func `a circle is refused among objects that one transaction makes`() throws {
        let machine = try self.machine()
        for count in 1...3 {
            let result = try self.write(machine) { transaction throws(WriteRefusal) in
                var chain = [try transaction.create(.init(type: "folder"))]
                for _ in 0..<count { chain.append(try transaction.create(.init(type: "folder", parent: chain.last))) }
                try transaction.perform(.move(chain[0], parent: chain[count], before: nil))
            }
            guard case .failure(.wouldCloseCycle) = result else {
                Issue.record("a circle of \(count + 1) is written")
                continue
            }
        }
    }

    @Test func `a step that was refused spoils the transaction, whatever the caller makes of it`() throws {
        let machine = try self.machine()
        let before = try self.network.export(machine)
        let missing = ObjectID(random: Bytes16(high: 1, low: 1))
        let answer = try self.write(machine) { transaction throws(WriteRefusal) in
            _ = try transaction.create(.init(type: "note"))
            do throws(WriteRefusal) {
                try transaction.perform(.delete(missing))
                Issue.record("nothing was thrown")
            } catch {}
        }
        #expect(answer == .failure(.noSuchObject(missing)))
        #expect(try self.write(machine) { _ throws(WriteRefusal) in throw .abandoned } == .failure(.abandoned))
        #expect(try self.network.export(machine) == before)
        #expect(try self.write(machine) { _ in }.get().dot == nil)
    }

    @Test func `a device meets others from when it takes part until it withdraws`() throws {
        let first = try self.machine()
        let second = try self.network.join(first, name: "second", seed: 3)
        self.network.settle(seconds: 10)
        self.network.handle(second, .withdraw)
        self.network.handle(first, .withdraw)
        self.network.settle(seconds: 1)
        let status = try self.network.machines[first].node.status(at: self.network.moment(of: first))
        #expect(status.peers.allSatisfy { !$0.isConnected })
        try self.network.write(second, .create(.init(type: "note")))
        self.network.handle(second, .takePart(Participation(listenPort: 1)))
        self.network.settle(seconds: 60)
        #expect(try self.network.export(first) == self.network.export(second))
    }
}
