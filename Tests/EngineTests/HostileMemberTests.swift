import CRDTCore
import PeerCrypto
import SyncProtocol
import Synchronization
import Testing

@testable import Engine

/// What a member can do that keeps to the letter of the messages and not to their sense: it costs the others little,
/// and makes no two of them differ.
struct HostileMemberTests {
    private let objectID = ObjectID(bytes: Bytes16(high: 7, low: 7))

    private func world() throws -> (TestNetwork, RawPeer.IdentityBox) {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        try network.write(first, .create(.init(type: "note", properties: ["title": .string("kept")])))
        return (network, try RawPeer.member(of: network, invitedBy: first, seed: 9))
    }

    private func peer(_ member: RawPeer.IdentityBox, of network: TestNetwork, _ number: UInt64) throws -> RawPeer {
        let peer = try RawPeer(member, to: 0, of: network, connection: number)
        peer.send(peer.hello)
        return peer
    }

    /// Two machines that were told the same by different peers: one by the author, one by a relay that lies.
    @Test(arguments: [false, true])
    func `what a relay redacts is there as soon as somebody comes who has it`(restarts: Bool) throws {
        let (network, _) = try self.world()
        let newcomer = try network.join(0, name: "newcomer", seed: 21)
        let member = try RawPeer.member(of: network, invitedBy: newcomer, seed: 10)
        network.cut(0, newcomer)
        let creation = Transaction.Creation(type: "note", properties: ["title": .string("first")])
        let note = try network.write(0, .create(creation)).created[0]
        try network.write(0, .set(note, name: "title", value: .string("second")))
        let branch = Mutex<BranchID?>(nil)
        try network.write(0) { local throws(WriteRefusal) in
            let id = try local.openBranch(named: "draft", leaving: nil, at: nil)
            branch.withLock { $0 = id }
        }
        let opened = try #require(branch.withLock { $0 })
        try network.write(0, on: opened) { local throws(WriteRefusal) in
            try local.perform(.set(note, name: "title", value: .string("draft")))
        }
        let peer = try RawPeer(member, to: newcomer, of: network, connection: 1)
        peer.send(peer.hello)
        for run in try network.redactedRuns(of: 0) { peer.send(.run(run)) }
        #expect(try network.frontier(newcomer) == network.frontier(0))
        #expect(try !network.export(newcomer).contains("second"))
        if restarts { try network.restart(newcomer, with: network.copyStore(of: newcomer), seed: 22) }
        network.healAll()
        network.settle(seconds: 60)
        #expect(try network.export(newcomer) == network.export(0))
        #expect(try network.export(newcomer).contains("second"))
        #expect(try !network.export(newcomer).contains("draft"))
        // What is needed, and nothing else: "first" was seen by "second".
        var store = network.copyStore(of: newcomer)
        try store.read { transaction throws(StoreError) in #expect(try transaction.isComplete()) }
        #expect(!peer.isClosed)
    }

    @Test func `a device that claims to be many machines has four sessions`() throws {
        let (network, member) = try self.world()
        var peers: [RawPeer] = []
        for number in 1...9 as ClosedRange<UInt64> {
            let peer = try RawPeer(member, to: 0, of: network, connection: number)
            peer.send(peer.hello(of: UInt32(number)))
            network.sleep(seconds: 1)
            peers.append(peer)
        }
        #expect(network.connectionCounts[0] == 4)
        let connections = network.machines[0].node.connections
        #expect(peers.suffix(4).allSatisfy { connections[$0.id] != nil })
    }

    /// Only what we have signed shows that our database went back in time.
    @Test func `a liar who claims that we have forgotten changes does not make us take a new replica id`() throws {
        let (network, member) = try self.world()
        var replicas: Set<ReplicaID> = []
        for number in 1...5 as ClosedRange<UInt64> {
            let peer = try self.peer(member, of: network, number)
            let claims = try network.frontier(0).entries.map {
                FrontierEntry(replica: $0.replica, sequence: $0.sequence + 5, hash: .zero)
            }
            peer.send(.ranges([FrontierRange(end: nil, claim: .entries(claims))]))
            try network.write(0, .create(.init(type: "note")))
            replicas.formUnion(try network.frontier(0).entries.map(\.replica))
        }
        #expect(replicas.count == 1)
    }

    /// The frontier of neither hello holds the fork, so the two may well be equal.
    @Test func `a fork that comes between our hello and the peer's is sent to the peer`() throws {
        let (network, member) = try self.world()
        let other = try RawPeer.member(of: network, invitedBy: 0, seed: 10)
        let late = try RawPeer(other, to: 0, of: network, connection: 2)
        guard case .hello(let heard) = late.received.first, case .hello(var hello) = late.hello else {
            throw TestFailure("no hello")
        }
        let liar = try self.peer(member, of: network, 1)
        let chains = [1, 2].map { liar.chain([[.set(self.objectID, name: "n", value: .int($0))]], nonce: 1) }
        for chain in chains { liar.send(.run(chain.run)) }
        hello.fingerprint = heard.fingerprint
        late.send(.hello(hello))
        let sent = late.received.reduce(into: 0) { count, message in
            if case .run(let run) = message, run.replica == chains[0].run.replica { count += run.changes.count }
        }
        #expect(sent == 3)
    }

    @Test func `frontiers of replicas that do not exist are forgotten beyond a limit`() throws {
        let (network, member) = try self.world()
        let peer = try self.peer(member, of: network, 1)
        var next: UInt64 = 1
        for _ in 0..<40 where !peer.isClosed {
            let entries = (0..<UInt64(MessageLimits.rangeEntryCountMax)).map { offset in
                let replica = ReplicaID(bytes: Bytes16(high: next, low: offset))
                return FrontierEntry(replica: replica, sequence: 1, hash: .zero)
            }
            peer.send(.ranges([FrontierRange(end: nil, claim: .answer(entries))]))
            // As many forks of one chain.
            let forks = entries.map {
                FrontierEntry(
                    replica: entries[0].replica,
                    sequence: 2,
                    hash: Hash256(bytes: Bytes32(next, $0.replica.bytes.low, 0, 0))
                )
            }
            peer.send(.stored(forks))
            next += 1
        }
        #expect(network.machines[0].node.footprint.excess == nil)
        #expect(!peer.isClosed)
    }

    @Test func `a comparison in ever more pieces ends the session`() throws {
        let (network, member) = try self.world()
        let peer = try self.peer(member, of: network, 1)
        for message in 0..<40 as Range<UInt64> where !peer.isClosed {
            let ranges = (0..<2_000 as Range<UInt64>).map { place in
                let end = ReplicaID(bytes: Bytes16(high: message << 32 | place, low: 0))
                return FrontierRange(end: end, claim: place % 2 == 1 ? .answer([]) : .skip)
            }
            peer.send(.ranges(ranges))
        }
        #expect(peer.isClosed)
        #expect(network.machines[0].node.footprint.excess == nil)
    }

    @Test func `who asks and asks and takes nothing of the answers is dropped`() throws {
        let (network, member) = try self.world()
        // A long frontier, which is listed to whoever lists an empty one.
        let writer = try self.peer(member, of: network, 1)
        for nonce in 1...400 as ClosedRange<UInt64> { writer.send(.run(writer.chain([], nonce: nonce).run)) }
        let peer = try self.peer(member, of: network, 2)
        let question = Message.ranges([FrontierRange(end: nil, claim: .entries([]))])
        for _ in 0..<1_000 where !peer.isClosed {
            peer.send(question)
            #expect(network.machines[0].node.footprint.excess == nil)
        }
        #expect(peer.isClosed)
        #expect(peer.rawBytes.count < 40 << 20)
    }
}
