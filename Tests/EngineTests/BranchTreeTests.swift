import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// What does not stand in the log of a chain that forks.
struct BranchTreeTests {
    private static let replica = ReplicaID(bytes: Bytes16(high: 1, low: 2))
    private static let object = ObjectID(bytes: Bytes16(high: 7, low: 7))

    /// To refuse to read them would end each session with whoever asks for them.
    @Test func `what cannot be read any more is as if it had never been kept`() throws {
        var store = MemoryStore(origin: .zero)
        try store.write { transaction throws(StoreError) in
            let index = transaction.replicaIndex(of: Self.replica)
            transaction.setFact(NodeFact.branches(Self.replica), [0xff])
            #expect(try BranchTree(of: index, origin: .zero, in: &transaction).parts.isEmpty)
            // A part of which the index alone can be read: nothing but its end is known.
            var part: [UInt8] = [1, 3]
            for _ in 0..<2 { part += [UInt8](repeating: 7, count: 32) }
            transaction.setFact(NodeFact.branches(Self.replica), part)
            transaction.setFact(NodeFact.branchHashes(Self.replica, part: 0), [1, 2, 3])
            transaction.setFact(NodeFact.branchRun(Self.replica, part: 0), [1, 2, 3])
            var tree = try BranchTree(of: index, origin: .zero, in: &transaction)
            #expect(tree.parts.count == 1)
            let root = ChainPoint(sequence: 0, hash: .zero)
            #expect(try tree.missing(after: [root], in: &transaction) == nil)
            #expect(try !tree.holds(ChainPoint(sequence: 2, hash: tree.parts[0].last.hash), in: &transaction))
            #expect(try tree.points(from: 1, told: [], atMost: 8, in: &transaction).contains(root))
        }
    }

    /// A member tells each of four devices another branch, and these fork again and again: in the end all of them, whom
    /// they meet being in a line, hold every change that any had been told.
    @Test(arguments: 0..<60 as Range<UInt64>) func `every branch comes to everyone`(seed: UInt64) throws {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let founder = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        try network.write(try network.add(founder, seed: 2), .create(.init(type: "note")))
        let member = try RawPeer.member(of: network, invitedBy: 0, seed: 9)
        for number in 1..<4 { _ = try network.join(number - 1, name: "device \(number)", seed: UInt64(30 + number)) }
        var random = TestNetwork.entropy(900 + seed)
        let paths = self.paths(&random)
        // Whoever has introduced himself is known to all. Made at one time, equal beginnings are the same changes.
        let introducing = try RawPeer(member, to: 0, of: network, connection: 10)
        introducing.send(introducing.hello)
        introducing.send(.run(introducing.chain([], nonce: 5).run))
        let chains = paths.map { path in
            introducing.chain(path.map { [.set(Self.object, name: "n", value: .int($0))] }, nonce: 5)
        }
        network.settle()
        for left in 0..<4 { for right in left + 1..<4 { network.cut(left, right) } }
        var told: Set<ChainPoint> = []
        for (target, chain) in chains.enumerated() {
            let peer = try RawPeer(member, to: target, of: network, connection: UInt64(20 + target))
            peer.send(peer.hello)
            peer.send(.run(chain.run))
            #expect(!peer.isClosed)
            told.formUnion(chain.hashes.enumerated().map { ChainPoint(sequence: UInt64($0) + 1, hash: $1) })
        }
        let replica = chains[0].run.replica
        network.healAll()
        for (left, right) in [(0, 2), (0, 3), (1, 3)] { network.cut(left, right) }
        network.settle(seconds: 300)
        let origin = ChainHash.origin(network.machines[0].node.author.membership.workspace)
        for machine in 0..<4 {
            #expect(try network.export(machine) == network.export(0))
            let lacking = try network.machines[machine].node.read { transaction throws(StoreError) in
                guard let index = transaction.existingReplicaIndex(of: replica) else { return told }
                var tree = try BranchTree(of: index, origin: origin, in: &transaction)
                var lacking: Set<ChainPoint> = []
                for point in told where try !tree.holds(point, in: &transaction) { lacking.insert(point) }
                return lacking
            }
            #expect(lacking.isEmpty, "machine \(machine) of \(paths)")
        }
    }

    /// Four ways through a tree: each begins as another does, and goes on by itself.
    private func paths(_ random: inout EntropyStream) -> [[Int64]] {
        func below(_ limit: Int) -> Int { Int(random.bytes(4).reduce(0) { $0 << 8 | UInt64($1) } % UInt64(limit)) }
        var paths: [[Int64]] = []
        for number in 0..<4 {
            var path: [Int64] = []
            if let other = paths.isEmpty ? nil : paths[below(paths.count)] {
                path = Array(other.prefix(below(other.count + 1)))
            }
            let count = below(3) == 0 ? 40 : 5
            for _ in 0..<below(count) { path.append(Int64(number * 1_000 + path.count)) }
            paths.append(path)
        }
        return paths
    }
}
