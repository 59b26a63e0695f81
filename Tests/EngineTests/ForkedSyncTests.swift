import CRDTCore
import SyncProtocol
import Testing

@testable import Engine

/// Devices that hold different parts of chains that have forked again and again.
struct ForkedSyncTests {
    /// A change of a tree, signed alone.
    private struct Grown {
        var run: VerifiedRun
        var parent: Int?
    }

    private struct Dice {
        var state: UInt64

        mutating func below(_ bound: Int) -> Int {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(self.state >> 33) % bound
        }
    }

    /// A tree of one chain that grows at its ends or anywhere.
    private func tree(_ author: RawPeer, nonce: UInt64, _ dice: inout Dice) -> [Grown] {
        var tree = [Grown(run: author.chain([], nonce: nonce), parent: nil)]
        for _ in 0..<1 + dice.below(7) {
            var parent = dice.below(3) == 0 ? tree.count - 1 : dice.below(tree.count)
            for _ in 0..<1 + dice.below([3, 30, 90][dice.below(3)]) {
                let before = tree[parent].run
                // As different as the blinding of honest changes makes them.
                let object = ObjectID(bytes: Bytes16(high: nonce, low: UInt64(dice.below(5))))
                let edit = Edit.set(object, name: "n", value: .int(Int64(tree.count)))
                let run = author.chain(
                    [[edit]],
                    nonce: nonce,
                    from: before.run.lastSequence + 1,
                    previous: before.hashes[0]
                )
                tree.append(Grown(run: run, parent: parent))
                parent = tree.count - 1
            }
        }
        return tree
    }

    /// Some forks of a tree up to somewhere, in any order that a log can take.
    private func store(_ tree: [Grown], in machine: TestNetwork.Machine, at now: WallTime, _ dice: inout Dice) throws {
        var wanted: Set<Int> = []
        for _ in 0..<dice.below(5) {
            var next: Int? = dice.below(tree.count)
            while let position = next, wanted.insert(position).inserted { next = tree[position].parent }
        }
        var merge = Merge(now: now, founder: machine.node.replica.author.membership.founder)
        var ready = wanted.contains(0) ? [0] : []
        var children: [Int: [Int]] = [:]
        for position in wanted.sorted() {
            if let parent = tree[position].parent { children[parent, default: []].append(position) }
        }
        try machine.node.replica.store.write { transaction throws(StoreError) in
            while !ready.isEmpty {
                let position = ready.remove(at: dice.below(ready.count))
                let reception = try merge.receive(tree[position].run, in: &transaction)
                #expect(reception == .stored)
                ready += children[position] ?? []
            }
            try merge.finish(in: &transaction)
        }
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `whatever parts of a tree three devices hold, they come to hold all of it`(seed: UInt64) throws {
        var dice = Dice(state: seed &* 7_919 &+ 13)
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        let second = try network.join(first, name: "second", seed: 3)
        let third = try network.join(second, name: "third", seed: 4)
        for machine in [first, second, third] { network.handle(machine, .introduce) }
        let member = try RawPeer.member(of: network, invitedBy: first, seed: 9)
        let author = try RawPeer(member, to: first, of: network, connection: 1)
        network.settle(seconds: 60)
        network.cut(first, second)
        network.cut(second, third)
        network.settle(seconds: 1)
        let now = network.moment(of: first).wall
        for nonce in 1...3 as ClosedRange<UInt64> {
            let tree = self.tree(author, nonce: nonce, &dice)
            for machine in network.machines { try self.store(tree, in: machine, at: now, &dice) }
        }
        network.healAll()
        network.settle(seconds: 120)
        for machine in [first, second, third] {
            #expect(try network.frontier(machine) == network.frontier(first))
            #expect(try network.export(machine) == network.export(first))
            let footprint = network.machines[machine].node.footprint
            #expect(footprint.unknownEntryCount == 0)
            #expect(footprint.unacknowledgedByteCount == 0)
            let status = try network.machines[machine].node.status(at: network.moment(of: machine))
            let isInSync = status.peers.allSatisfy { !$0.isConnected || $0.isInSync }
            #expect(isInSync)
            #expect(status.counters.disputedRunCount == 0)
            #expect(status.counters.protocolViolationCount == 0)
            #expect(status.traffic.duplicateChangeCount <= 64)
        }
    }
}
