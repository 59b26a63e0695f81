import SyncProtocol
import Testing

@testable import CRDTCore
@testable import Engine

/// Equal frontiers mean equal states: what was altered behind a node's back is found by its peers, and put right.
struct ComparisonTests {
    private struct Pair {
        let network: TestNetwork
        let note: ObjectID
    }

    private func pair() throws -> Pair {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        _ = try network.join(first, name: "second", seed: 3)
        let creation = Transaction.Creation(type: "note", properties: ["title": .string("one")])
        let note = try network.write(first, .create(creation)).created[0]
        try network.write(first, .set(note, name: "title", value: .string("two")))
        for number in 0..<50 {
            let other = Transaction.Creation(type: "note", properties: ["title": .string("other \(number)")])
            try network.write(first, .create(other))
        }
        network.settle(seconds: 30)
        return Pair(network: network, note: note)
    }

    /// Writes so many times a thousand operations on the second machine.
    private func lengthenLog(of network: TestNetwork, by count: Int) throws {
        let names = (0..<1000).map { ExactText("property \($0)") }
        for number in 0..<count {
            let properties = Dictionary(uniqueKeysWithValues: names.map { ($0, Value.int(Int64(number))) })
            try network.write(1, .create(Transaction.Creation(type: "large", properties: properties)))
        }
    }

    /// Alters the rows of a machine, as another program would.
    private func alter(
        _ pair: Pair,
        _ machine: Int,
        _ body: (inout MemoryTransaction, RegisterKey, Register) throws(StoreError) -> Void
    ) throws {
        try pair.network.machines[machine].node.keep { transaction throws(StoreError) in
            let object = transaction.objectIndex(of: pair.note)
            let key = RegisterKey(object: object, name: transaction.nameIndex(of: "title"))
            guard let register = transaction.register(key) else { throw .damaged("the test has no register") }
            try body(&transaction, key, register)
        }
        pair.network.handle(machine, .databaseChanged)
    }

    /// Waits until both name the object, and then until both have nothing to name.
    private func expectNamedAndMended(_ pair: Pair) throws {
        let network = pair.network
        var named: Set<Int> = []
        for _ in 0..<60 {
            network.settle(seconds: 1)
            for machine in 0..<2 {
                let peers = try network.machines[machine].node.status(at: network.moment(of: machine)).peers
                if peers.contains(where: { $0.difference?.objects == [pair.note] }) { named.insert(machine) }
            }
        }
        #expect(named == [0, 1])
        for machine in 0..<2 {
            let status = try network.machines[machine].node.status(at: network.moment(of: machine))
            #expect(status.peers.allSatisfy { $0.difference == nil && $0.isInSync })
            let notices = network.machines[machine].notices
            let name = ["second", "first"][machine]
            #expect(notices.contains(.stateDiffers(device: name, objects: [pair.note])))
            #expect(notices.contains(.stateAgrees(device: name)))
        }
        #expect(try network.export(0) == network.export(1))
        #expect(try network.export(0).contains("two"))
        #expect(network.machines[0].node.settledSums != nil)
        #expect(network.machines[0].node.settledSums == network.machines[1].node.settledSums)
    }

    @Test(arguments: [0, 1])
    func `a register that was altered is named on both sides, and mended from the log`(machine: Int) throws {
        let pair = try self.pair()
        try self.alter(pair, machine) { transaction, key, register in
            var altered = register
            altered.winner.sequence -= 1
            transaction.setRegister(altered, at: key)
        }
        #expect(try pair.network.export(0) != pair.network.export(1))
        try self.expectNamedAndMended(pair)
    }

    @Test(arguments: [0, 1])
    func `a value that was altered in the log is named on both sides, and got from the peer`(machine: Int) throws {
        let pair = try self.pair()
        try self.alter(pair, machine) { transaction, _, register throws(StoreError) in
            let place = register.winner.point
            let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
            guard var run = transaction.loadRun(of: place.segment, from: place.sequence, limits: one, signed: false)
            else { throw .damaged("the test has no run") }
            run.payload[run.payload.count - 1] ^= 1
            let indexes = RunIndexes(segment: place.segment, objects: [], names: [])
            transaction.repairChange(at: place, by: run, indexes: indexes, places: [])
        }
        #expect(try pair.network.export(0) != pair.network.export(1))
        try self.expectNamedAndMended(pair)
    }

    @Test func `what is written while the log is read for an object stays`() throws {
        let pair = try self.pair()
        let network = pair.network
        // The log takes several steps, the chain that is written to first.
        try self.lengthenLog(of: network, by: 20)
        network.settle(seconds: 30)
        try self.alter(pair, 0) { transaction, key, register in
            var altered = register
            altered.winner.sequence -= 1
            transaction.setRegister(altered, at: key)
        }
        var waited = 0
        while network.machines[0].node.own.mending == nil, waited < 60_000 {
            network.settle(milliseconds: 1)
            waited += 1
        }
        network.settle(milliseconds: OwnState.quietInterval + 1)
        try network.write(0, .set(pair.note, name: "title", value: .string("three")))
        #expect(network.machines[0].node.own.mending != nil)
        network.settle(seconds: 60)
        #expect(network.machines[0].node.own.mending == nil)
        #expect(try network.export(0) == network.export(1))
        #expect(try network.export(0).contains("three"))
    }

    /// Nothing of what a liar says is taken over, and the log is read once for all that he says in ten minutes.
    @Test func `a member that claims another state has the log read once in ten minutes`() throws {
        let pair = try self.pair()
        let network = pair.network
        // So that to read it takes more than one step.
        try self.lengthenLog(of: network, by: 5)
        let member = try RawPeer.member(of: network, invitedBy: 0, seed: 9)
        network.settle(seconds: 5)
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.listen()
        peer.send(peer.hello)
        let frontier = Frontier.fingerprint(try network.frontier(0).entries, SodiumCryptography())
        peer.send(.ranges([FrontierRange(end: nil, claim: .fingerprint(frontier))]))
        peer.send(.caughtUp)
        let sums = Array(repeating: UInt64(7), count: SettledDigest.groupCount)
        let groups = Array(0..<MessageLimits.listedGroupCountMax)
        let invented = ObjectDigest(id: ObjectID(bytes: Bytes16(high: 7, low: 7)), digest: 7)
        var readCounts: [Int] = [0, 0]
        for round in 0..<140 {
            network.settle(seconds: 5)
            peer.send(.state(StateClaim(frontier: frontier, root: .zero)))
            peer.send(.sums(StateSums(frontier: frontier, sums: sums)))
            peer.send(.objects(StateObjects(frontier: frontier, groups: groups, objects: [invented])))
            if network.machines[0].node.own.mending != nil { readCounts[round < 100 ? 0 : 1] += 1 }
        }
        #expect(readCounts == [1, 1])
        #expect(!peer.isClosed)
        #expect(try network.export(0) == before)
        #expect(try network.export(1) == before)
        // One answer to each of his, and none to the sums that he was not to tell.
        #expect(peer.received.count { if case .objects = $0 { true } else { false } } <= 140)
    }
}
