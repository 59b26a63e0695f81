import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// Everything a member or a stranger can do wrong: the session ends, nothing is kept, and the node goes on.
struct ViolationTests {
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

    private func expectViolation(
        _ network: TestNetwork,
        _ peer: RawPeer,
        _ before: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(peer.isClosed, sourceLocation: sourceLocation)
        #expect(
            network.machines[0].notices.contains { if case .protocolViolation = $0 { true } else { false } },
            sourceLocation: sourceLocation
        )
        #expect(try network.export(0) == before, sourceLocation: sourceLocation)
        // The node still does its work.
        try network.write(0, .create(.init(type: "after")))
    }

    private let objectID = ObjectID(bytes: Bytes16(high: 7, low: 7))

    @Test func `an honest raw peer is served, so that the others fail for what they do`() throws {
        let (network, member) = try self.world()
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        peer.send(.run(peer.chain([[.set(self.objectID, name: "n", value: .int(1))]], nonce: 1).run))
        #expect(!peer.isClosed)
        #expect(try network.export(0).contains("\"n\":1"))
        let runs = peer.received.filter { if case .run = $0 { true } else { false } }
        #expect(!runs.isEmpty)
    }

    @Test func `a message before the hello ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(.caughtUp)
        try self.expectViolation(network, peer, before)
    }

    @Test func `who breaks the protocol again and again has to wait, and costs no more lines in a log`() throws {
        let (network, member) = try self.world()
        for number in 1...50 as ClosedRange<UInt64> {
            let peer = try RawPeer(member, to: 0, of: network, connection: number)
            peer.send(peer.hello)
            peer.send(peer.hello)
            #expect(peer.isClosed)
        }
        #expect(network.machines[0].node.counters.protocolViolationCount == 1)
        let notices = network.machines[0].notices.count
        network.sleep(seconds: 60)
        let peer = try RawPeer(member, to: 0, of: network, connection: 60)
        peer.send(peer.hello)
        #expect(!peer.isClosed)
        #expect(network.machines[0].notices.count == notices + 1)
    }

    @Test func `more comparisons than any two frontiers take end the session`() throws {
        let (network, member) = try self.world()
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        for _ in 0..<TransferLimits.rangesCountMax {
            peer.send(.ranges([FrontierRange(end: nil, claim: .fingerprint(.zero))]))
        }
        #expect(!peer.isClosed)
        let before = try network.export(0)
        peer.send(.ranges([FrontierRange(end: nil, claim: .fingerprint(.zero))]))
        try self.expectViolation(network, peer, before)
    }

    @Test func `a second hello ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(peer.hello)
        try self.expectViolation(network, peer, before)
    }

    @Test func `a hello for another device than the handshake proved ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        guard case .hello(var hello) = peer.hello else { throw TestFailure("no hello") }
        hello.deviceStart += 1
        peer.send(.hello(hello))
        try self.expectViolation(network, peer, before)
    }

    @Test func `a message about a blob ends the session, since no node carries any`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.blob(.piece(BlobPiece(want: 0, leaf: 0, bytes: [1]))))
        try self.expectViolation(network, peer, before)
    }

    /// It may be of a fork that its sender takes us to hold: the frontiers are compared again.
    @Test func `a run that continues what is not stored ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        let edit = Edit.set(self.objectID, name: "n", value: .int(1))
        peer.send(.run(peer.chain([[edit]], nonce: 1, from: 5, previous: .zero).run))
        #expect(peer.isClosed)
        #expect(network.machines[0].node.counters.disputedRunCount == 1)
        #expect(try network.export(0) == before)
    }

    @Test func `a run that was changed after signing ends the session and keeps nothing`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        for position in 0..<4 {
            let peer = try RawPeer(member, to: 0, of: network, connection: UInt64(10 + position))
            peer.send(peer.hello)
            var run = peer.chain([[.set(self.objectID, name: "n", value: .string("text"))]], nonce: 1).run
            switch position {
            case 0: run.payload[run.payload.count - 1] ^= 1
            case 1: run.changes[1].stamp = Stamp(rawValue: run.changes[1].stamp.rawValue + 1)
            case 2: run.names[0] = "m"
            default: run.blinding[0] ^= 1
            }
            peer.send(.run(run))
            #expect(peer.isClosed)
        }
        #expect(try network.export(0) == before)
    }

    @Test func `a chain under another device's replica id ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let victim = try network.frontier(0).entries[0]
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        var run = peer.chain([[.delete(self.objectID)]], nonce: 1).run
        run.replica = victim.replica
        run.firstSequence = victim.sequence + 1
        run.changes.removeFirst()
        peer.send(.run(run))
        try self.expectViolation(network, peer, before)
    }

    @Test func `an unsigned run ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        var run = peer.chain([[.set(self.objectID, name: "n", value: .int(1))]], nonce: 1).run
        run.signature = nil
        peer.send(.run(run))
        try self.expectViolation(network, peer, before)
    }

    @Test func `more credit than was used ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.credit(.max))
        try self.expectViolation(network, peer, before)
    }

    @Test func `giving what nobody wanted ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.given)
        try self.expectViolation(network, peer, before)
    }

    @Test func `endless probes end the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        let entry = try network.frontier(0).entries[0]
        let probe = ChainProbe(replica: entry.replica, points: [ChainPoint(sequence: 1, hash: .zero)])
        for _ in 0..<TransferLimits.probeCountMax { peer.send(.probe(probe)) }
        #expect(!peer.isClosed)
        let unheld = Message.stored([FrontierEntry(replica: entry.replica, sequence: 0, hash: .zero)])
        #expect(peer.received.last == unheld)
        peer.send(.probe(probe))
        try self.expectViolation(network, peer, before)
    }

    @Test func `a welcome nobody asked for ends the session`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        let identity = member
        peer.send(
            .welcome(
                Welcome(
                    founder: identity.value.founder,
                    workspaceNonce: identity.value.workspaceNonce,
                    user: identity.value.user,
                    membershipKey: .zero,
                    inviter: identity.value.device,
                    certificates: identity.value.certificates
                )
            )
        )
        try self.expectViolation(network, peer, before)
    }

    @Test func `two changes that extend the same one both count, and the device is named`() throws {
        let (network, member) = try self.world()
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        let (one, two) = (
            Edit.set(self.objectID, name: "a", value: .int(1)), Edit.set(self.objectID, name: "b", value: .int(2))
        )
        let first = peer.chain([[one]], nonce: 1)
        let second = peer.chain([[two], [two]], nonce: 1)
        for run in [first.run, second.run, first.run] { peer.send(.run(run)) }
        #expect(!peer.isClosed)
        for text in ["\"a\":1", "\"b\":2"] { #expect(try network.export(0).contains(text)) }
        let status = try network.machines[0].node.status(at: network.moment(of: 0))
        #expect(status.forks.map(\.forkCount) == [2])
        #expect(status.forks.map(\.replica) == [first.run.replica])
        let ends = status.frontier.filter { $0.replica == first.run.replica }
        #expect(ends.map(\.hash) == [first.hashes[1], second.hashes[2]])
        let notices = network.machines[0].notices.count { $0 == .forked(device: "raw", sequence: 2) }
        #expect(notices == 1)
    }

    @Test func `what continues either fork is stored on that fork`() throws {
        let (network, member) = try self.world()
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        let edit = Edit.set(self.objectID, name: "n", value: .int(1))
        let chains = [peer.chain([[edit]], nonce: 1), peer.chain([[.unset(self.objectID, name: "n")]], nonce: 1)]
        for chain in chains { peer.send(.run(chain.run)) }
        // One names the change that it continues, the other leaves it to the receiver to find out.
        var ends: [Hash256] = []
        for (chain, isNamed) in zip(chains, [true, false]) {
            let tail = peer.chain([[edit]], nonce: 1, from: 3, previous: chain.hashes[1])
            var run = tail.run
            run.previous = isNamed ? ChangeName(chain.hashes[1]) : nil
            peer.send(.run(run))
            ends += tail.hashes
        }
        #expect(!peer.isClosed)
        let frontier = try network.frontier(0).entries.filter { $0.replica == chains[0].run.replica }
        #expect(Set(frontier.map(\.hash)) == Set(ends))
        #expect(frontier.map(\.sequence) == [3, 3])
    }

    @Test func `a stranger with an unknown key gets no answer at all`() throws {
        let (network, _) = try self.world()
        var entropy = TestNetwork.entropy(77)
        guard let identity = DeviceIdentity.founding(name: "stranger", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let stranger = RawPeer.IdentityBox(identity)
        let peer = try RawPeer(stranger, to: 0, of: network, connection: 3)
        #expect(peer.isClosed)
        #expect(peer.rawBytes.isEmpty)
    }

    @Test func `of 32 half-open strangers, and of 4 from one host, the oldest makes room for the next`() throws {
        let (network, member) = try self.world()
        func id(_ number: UInt64) -> ConnectionID { ConnectionID(rawValue: 1 << 63 | 1 << 50 | number) }
        /// Who is closed when one more comes.
        func closed(by number: UInt64, host: String) -> [ConnectionID] {
            let event = Event.accepted(id(number), from: NetworkAddress(host: host, port: 5))
            return network.machines[0].node.handle(event, at: network.moment(of: 0)).compactMap { effect in
                if case .close(let id, _) = effect { id } else { nil }
            }
        }
        for number in 0..<4 as Range<UInt64> { #expect(closed(by: number, host: "10.7.7.7").isEmpty) }
        #expect(closed(by: 4, host: "10.7.7.7") == [id(0)])
        #expect(closed(by: 5, host: "10.7.7.7") == [id(1)])
        for number in 6..<34 as Range<UInt64> { #expect(closed(by: number, host: "10.7.8.\(number)").isEmpty) }
        #expect(closed(by: 34, host: "10.7.9.1") == [id(2)])
        #expect(network.machines[0].node.connections.count == 32)
        // A device that does say who it is gets in beside them, and stays.
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        for number in 40..<80 as Range<UInt64> { _ = closed(by: number, host: "10.7.9.\(number)") }
        #expect(!peer.isClosed)
        // After the deadline there is room again.
        network.settle(seconds: 6)
        #expect(closed(by: 90, host: "10.7.9.1").isEmpty)
    }

    @Test func `a replayed first handshake message has no effect`() throws {
        let (network, member) = try self.world()
        let before = try network.export(0)
        let key = network.machines[0].node.replica.author.identity.publicStaticKey
        var entropy = TestNetwork.entropy(5)
        guard let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(key, own: member.value.staticKey, ephemeral: ephemeral)
        else { throw TestFailure("no handshake") }
        for number in 0..<20 {
            let id = ConnectionID(rawValue: 1 << 63 | 1 << 51 | UInt64(number))
            let address = NetworkAddress(host: "10.6.6.\(number)", port: 5)
            network.handle(0, .accepted(id, from: address))
            network.handle(0, .received(id, start.bytes))
        }
        let status = try network.machines[0].node.status(at: network.moment(of: 0))
        #expect(status.peers.allSatisfy { !$0.isConnected })
        #expect(try network.export(0) == before)
        network.settle(seconds: 6)
        #expect(network.machines[0].node.connections.isEmpty)
    }

    @Test func `an operation of an unknown kind is stored and forwarded unread`() throws {
        let (network, member) = try self.world()
        let second = try network.join(0, name: "second", seed: 31)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        let run = peer.chain([[.unknown(kind: 99, body: [1, 2, 3]), .unset(self.objectID, name: "n")]], nonce: 1).run
        peer.send(.run(run))
        network.settle()
        #expect(try network.frontier(second).entries.contains { $0.replica == run.replica && $0.sequence == 2 })
        #expect(try network.frontier(0) == network.frontier(second))
    }
}
