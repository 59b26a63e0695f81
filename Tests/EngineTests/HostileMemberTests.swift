import CRDTCore
import PeerCrypto
import SyncProtocol
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

    /// The run with what its changes say left out, but for introductions: the signature still holds.
    private func leavingOut(_ whole: Run) throws -> Run {
        let cryptography = SodiumCryptography()
        var builder = RunBuilder(replica: whole.replica, firstSequence: whole.firstSequence)
        for change in whole.changes {
            let isPartial = change.operationRange.contains { whole.operations[$0].kind != .introduce }
            let salts = ChainHash.salts(of: change, in: whole, cryptography).prefix(Int(change.operationCount) * 16)
            builder.beginChange(
                stamp: change.stamp,
                context: whole.contextEntries[change.contextRange],
                blinding: isPartial ? Array(salts) : Array(whole.blinding(of: change)),
                hasLeftOut: isPartial
            )
            for (place, position) in change.operationRange.enumerated() {
                let operation = whole.operations[position]
                let salt = Array(salts)[place * 16..<place * 16 + 16]
                let leaf = ChainHash.leaf(of: operation, in: whole, salt: salt, cryptography)
                builder.append(operation.kind == .introduce ? try whole.edit(operation) : .leftOut(leaf: leaf))
            }
        }
        return builder.signed(whole.signature)
    }

    @Test func `a signed change whose operations were left out on the way is not taken for the change`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try self.peer(member, of: network, 1)
        let whole = peer.chain([[.set(self.objectID, name: "n", value: .int(1))]], nonce: 1).run
        peer.send(.run(try self.leavingOut(whole)))
        #expect(peer.isClosed)
        #expect(try network.export(0) == before)
        let again = try self.peer(member, of: network, 2)
        again.send(.run(whole))
        #expect(try network.export(0).contains("\"n\":1"))
    }

    @Test func `a liar who claims that we have forgotten changes makes us take a new replica id once`() throws {
        let (network, member) = try self.world()
        var replicas: Set<ReplicaID> = []
        for number in 1...5 as ClosedRange<UInt64> {
            let peer = try self.peer(member, of: network, number)
            let claims = try network.frontier(0).entries.map {
                FrontierEntry(replica: $0.replica, sequence: $0.sequence + 5, hash: .zero, isForked: false)
            }
            peer.send(.ranges([FrontierRange(end: nil, claim: .entries(claims))]))
            try network.write(0, .create(.init(type: "note")))
            replicas.formUnion(try network.frontier(0).entries.map(\.replica))
        }
        #expect(replicas.count == 2)
    }

    /// The frontier of neither hello holds the fork, so the two may well be equal.
    @Test func `a fork that is proved between our hello and the peer's is told to the peer`() throws {
        let (network, member) = try self.world()
        let other = try RawPeer.member(of: network, invitedBy: 0, seed: 10)
        let late = try RawPeer(other, to: 0, of: network, connection: 2)
        guard case .hello(let heard) = late.received.first, case .hello(var hello) = late.hello else {
            throw TestFailure("no hello")
        }
        let liar = try self.peer(member, of: network, 1)
        liar.send(.run(liar.chain([[.set(self.objectID, name: "n", value: .int(1))]], nonce: 1).run))
        liar.send(.run(liar.chain([[.set(self.objectID, name: "n", value: .int(2))]], nonce: 1).run))
        #expect(try network.frontier(0).entries.contains(where: \.isForked))
        hello.fingerprint = heard.fingerprint
        late.send(.hello(hello))
        let proofCount = late.received.count { if case .forkProof = $0 { true } else { false } }
        #expect(proofCount == 1)
    }

    /// Otherwise the session would end before the proof, which is under way, has reached the other side; then again.
    @Test func `what goes on behind a proved fork does not end the session`() throws {
        let (network, member) = try self.world()
        let peer = try self.peer(member, of: network, 1)
        let edit = Edit.set(self.objectID, name: "n", value: .int(1))
        let other = peer.chain([[.set(self.objectID, name: "n", value: .int(2))]], nonce: 1)
        peer.send(.run(peer.chain([[edit]], nonce: 1).run))
        peer.send(.run(other.run))
        peer.send(.run(peer.chain([[edit]], nonce: 1, from: 3, previous: other.hashes.last).run))
        #expect(!peer.isClosed)
        #expect(try network.frontier(0).entries.contains { $0.replica == other.run.replica && $0.sequence == 1 })
    }

    @Test func `frontiers of replicas that do not exist are forgotten beyond a limit`() throws {
        let (network, member) = try self.world()
        let peer = try self.peer(member, of: network, 1)
        var next: UInt64 = 1
        for _ in 0..<40 where !peer.isClosed {
            let entries = (0..<UInt64(MessageLimits.rangeEntryCountMax)).map { offset in
                let replica = ReplicaID(bytes: Bytes16(high: next, low: offset))
                return FrontierEntry(replica: replica, sequence: 1, hash: .zero, isForked: true)
            }
            peer.send(.ranges([FrontierRange(end: nil, claim: .answer(entries))]))
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
        // What can be packed would not be much to send.
        var entropy = TestNetwork.entropy(3)
        try network.write(0, .create(.init(type: "note", properties: ["data": .bytes(entropy.bytes(500_000))])))
        let last = try network.frontier(0).entries[0]
        let peer = try self.peer(member, of: network, 1)
        let root = ChainPoint(sequence: 0, hash: ChainHash.origin(network.machines[0].node.author.membership.workspace))
        let request = BranchRequest(replica: last.replica, points: [root])
        for _ in 0..<60 where !peer.isClosed {
            peer.send(.branchRequest(request))
            #expect(network.machines[0].node.footprint.excess == nil)
        }
        #expect(peer.isClosed)
        #expect(peer.rawBytes.count < 40 << 20)
    }

    /// A fork whose proof no message could carry would part honest peers for good.
    @Test func `runs too large to prove a fork with are refused`() throws {
        let (network, member) = try self.world()
        let second = try network.join(0, name: "second", seed: 31)
        // Whoever has introduced himself is known to all.
        let introducing = try self.peer(member, of: network, 10)
        let introduction = introducing.chain([], nonce: 5)
        introducing.send(.run(introduction.run))
        network.settle()
        network.cut(0, second)
        for (target, value) in [(0, 1), (second, 2)] as [(Int, Int64)] {
            let peer = try RawPeer(member, to: target, of: network, connection: UInt64(20 + target))
            peer.send(peer.hello)
            let edit = Edit.set(self.objectID, name: "n", value: .int(value))
            peer.send(.run(peer.largeChain(edit, after: introduction)))
            #expect(peer.isClosed)
        }
        for machine in [0, second] {
            let end = try network.machines[machine].node.read { transaction throws(StoreError) in
                transaction.replica(transaction.replicaIndex(of: introduction.run.replica)).storedHash
            }
            #expect(end == introduction.hashes[0])
        }
        network.healAll()
        network.settle(seconds: 300)
        #expect(try network.frontier(0) == network.frontier(second))
        #expect(try network.export(0) == network.export(second))
    }

    @Test func `many changes that are written again at once are signed in parts that a run can carry`() throws {
        let (network, _) = try self.world()
        network.machines[0].clockOffsetMilliseconds = 86_400_000
        let requests = (0..<600 as Range<UInt64>).map { number in
            let steps = [Transaction.Step.create(.init(type: "note", properties: ["n": .int(Int64(number))]))]
            return WriteRequest(id: RequestID(rawValue: 1_000_000 + number), transaction: Transaction(steps))
        }
        network.handle(0, .write(requests))
        network.machines[0].clockOffsetMilliseconds = 0
        try network.write(0, .create(.init(type: "last")))
        let longest = try network.machines[0].node.read { transaction throws(StoreError) -> Int in
            var longest = 0
            for position in 0..<transaction.replicaCount {
                let index = ReplicaIndex(rawValue: UInt32(position))
                var next: UInt64 = 1
                let one = RunLimits(changeCountMax: 1)
                while let run = transaction.loadRun(of: index, from: next, limits: one, signed: true) {
                    longest = max(longest, run.changes.count)
                    next = run.lastSequence + 1
                }
            }
            return longest
        }
        #expect(longest > 1)
        #expect(longest <= 256)
    }
}

extension RawPeer {
    /// Few changes with very large headers, signed once, that follow an introduction.
    fileprivate func largeChain(_ edit: Edit, after introduction: VerifiedRun) -> Run {
        var builder = RunBuilder(replica: introduction.run.replica, firstSequence: 2)
        var stamp = Stamp(milliseconds: self.network.moment(of: self.target).wall.milliseconds)
        for number in 0..<8 as Range<UInt64> {
            let context = (0..<10_000 as Range<UInt64>).map { place in
                Dot(replica: ReplicaID(bytes: Bytes16(high: number, low: place)), sequence: 1)
            }
            builder.beginChange(stamp: stamp, context: context, blinding: [UInt8](repeating: 3, count: 16))
            builder.append(edit)
            stamp = stamp.successor ?? stamp
        }
        return VerifiedRun.seal(builder, previous: introduction.hashes[0], SodiumCryptography()) {
            self.identity.value.signingKey.signature(of: $0)
        }.run
    }
}
