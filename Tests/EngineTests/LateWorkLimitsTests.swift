import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// The limits that users get.
///
/// Small worlds set others, so that no other test would notice if these were nonsense. What is expected is said in
/// numbers of its own, and not in those of the limits.
struct LateWorkLimitsTests {
    private let note = ObjectID(bytes: Bytes16(high: 7, low: 7))

    /// A device with a note, and a member of its workspace that has not said anything yet.
    private func world() throws -> (network: TestNetwork, member: RawPeer.IdentityBox) {
        let network = TestNetwork()
        network.lateWork = LateWorkLimits()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        _ = try network.add(identity, seed: 2)
        try network.write(0, .create(.init(id: .given(self.note), type: "note")))
        return (network, try RawPeer.member(of: network, invitedBy: 0, seed: 9))
    }

    /// The member comes, with a new connection.
    private func greet(_ network: TestNetwork, as member: RawPeer.IdentityBox) throws -> RawPeer {
        let peer = try RawPeer(member, to: 0, of: network, connection: 2)
        peer.send(peer.hello)
        return peer
    }

    /// Lets as much time pass as it takes until nothing is deferred any more; returns the milliseconds.
    private func wait(_ network: TestNetwork) throws -> UInt64 {
        let start = network.time
        for _ in 0..<10 {
            guard let deadline = network.machines[0].node.catchUpDeadline else { return network.time - start }
            let rest = deadline - min(deadline, network.time)
            guard rest < 3_600_000 else { throw TestFailure("what was deferred waits for \(rest) ms") }
            network.sleep(milliseconds: rest)
        }
        throw TestFailure("what was deferred is not settled when it is due")
    }

    // MARK: - Late moves

    /// Creates objects, and puts each below the note.
    private func creations(_ numbers: Range<Int>, _ kind: UInt64) -> [Edit] {
        numbers.flatMap { number -> [Edit] in
            let id = ObjectID(bytes: Bytes16(high: kind, low: UInt64(number)))
            return [.create(id, type: "t", kind: ""), .move(id, Place(parent: self.note, position: .initial))]
        }
    }

    /// Runs of changes with one move each, written second by second, and a run with many moves that were made later.
    private func moves(
        of author: RawPeer,
        runCount: Int,
        changesPerRun: Int,
        laterCount: Int
    ) -> (late: [VerifiedRun], later: VerifiedRun) {
        var late: [VerifiedRun] = []
        for first in stride(from: 0, to: runCount * changesPerRun, by: changesPerRun) {
            let edits = (first..<first + changesPerRun).map { self.creations($0..<$0 + 1, 9) }
            // The first run begins with the introduction.
            let sequence = first == 0 ? 1 : UInt64(first) + 2
            late.append(author.chain(edits, nonce: 1, from: sequence, previous: late.last?.hashes.last))
            author.network.sleep(seconds: 1)
        }
        return (late, author.chain([self.creations(0..<laterCount, 8)], nonce: 2))
    }

    /// How many changes of a chain count, but for its introduction.
    private func appliedCount(of run: VerifiedRun, in network: TestNetwork) throws -> Int {
        let replica = run.run.replica
        return try network.machines[0].node.read { transaction throws(StoreError) -> Int in
            guard let segment = transaction.firstSegment(of: replica) else { return 0 }
            return Int(transaction.progress(of: segment).appliedSequence) - 1
        }
    }

    /// One by one they cost the most: all later moves are done again for each of them.
    @Test(arguments: [1, 500])
    func `a device that comes back with 500 late moves has them taken in within a second`(runCount: Int) throws {
        let (network, member) = try self.world()
        let author = try RawPeer(member, to: 0, of: network, connection: 1)
        let (late, later) = self.moves(
            of: author,
            runCount: runCount,
            changesPerRun: 500 / runCount,
            laterCount: 100
        )
        let peer = try self.greet(network, as: member)
        peer.send(.run(later.run))
        for (number, run) in late.enumerated() {
            peer.send(.run(run.run))
            // 20,000 may be done again, and for each of them it is a hundred.
            #expect(network.machines[0].node.catchUpDeadline == nil || number >= 150, "run \(number)")
        }
        let waited = try self.wait(network)
        #expect(waited < 1_000, "\(waited) ms")
        #expect(!peer.isClosed)
        #expect(try self.appliedCount(of: late[0], in: network) == 500)
    }

    @Test func `a flood of late moves is deferred, and taken in when its work is a small part of the time`() throws {
        try #require(LateWorkLimits().lateMoves.costPerMillisecond > 0)
        let (network, member) = try self.world()
        let author = try RawPeer(member, to: 0, of: network, connection: 1)
        let (late, later) = self.moves(of: author, runCount: 75, changesPerRun: 1, laterCount: 4_000)
        let peer = try self.greet(network, as: member)
        peer.send(.run(later.run))
        // Each has 4,000 moves done again. 20,000 may be, so that about five of them are taken in.
        for run in late[..<70] { peer.send(.run(run.run)) }
        let taken = try self.appliedCount(of: late[0], in: network)
        #expect((4...7).contains(taken), "\(taken)")
        #expect(network.machines[0].node.catchUpDeadline != nil)
        // The others come in together, which costs no more than one of them.
        let first = try self.wait(network)
        #expect(first < 1_000, "\(first) ms")
        #expect(try self.appliedCount(of: late[0], in: network) == 70)
        // From then on each waits for a tenth of a second: 40 moves may be done again in a millisecond.
        var waited: UInt64 = 0
        for run in late[70...] {
            peer.send(.run(run.run))
            waited += try self.wait(network)
        }
        #expect((250...1_000).contains(waited), "\(waited) ms")
        #expect(try self.appliedCount(of: late[0], in: network) == 75)
        #expect(!peer.isClosed)
    }

    // MARK: - Restamps

    /// A chain with one large change, written a second after the introduction; and what orders a restamp of it.
    private func large(_ number: UInt64, of author: RawPeer) throws -> (runs: [VerifiedRun], restamp: Restamp) {
        let start = author.chain([], nonce: number)
        author.network.sleep(seconds: 1)
        let edits = (0..<12_000).map { position -> Edit in
            let id = ObjectID(bytes: Bytes16(high: number, low: UInt64(position / 100)))
            return .set(id, name: "\(position % 100)", value: .int(Int64(position)))
        }
        let run = author.chain([edits], nonce: number, from: 2, previous: start.hashes.last)
        let last = try #require(run.hashes.last)
        let restamp = Restamp(replica: run.run.replica, firstSequence: 2, lastSequence: 2, lastHash: last)
        return ([start, run], restamp)
    }

    /// The stamp by which the second change of a chain is ordered.
    private func stamp(of run: VerifiedRun, in network: TestNetwork) throws -> Stamp {
        let replica = run.run.replica
        return try network.machines[0].node.read { transaction throws(StoreError) -> Stamp in
            guard let segment = transaction.firstSegment(of: replica) else { throw .damaged("no segment") }
            return try transaction.effectiveStamp(at: SegmentPoint(segment: segment, sequence: 2))
        }
    }

    @Test func `a flood of restamps is deferred, and settled after a time that its work is a small part of`() throws {
        try #require(LateWorkLimits().restamps.costPerMillisecond > 0)
        let (network, member) = try self.world()
        let author = try RawPeer(member, to: 0, of: network, connection: 1)
        let chains = try (1...4).map { try self.large($0, of: author) }
        let peer = try self.greet(network, as: member)
        for run in chains.flatMap(\.runs) { peer.send(.run(run.run)) }
        var waits: [UInt64] = []
        var previous: Hash256?
        for (number, chain) in chains.enumerated() {
            let first = number == 0 ? 1 : UInt64(number) + 2
            let edit = Edit.restamp(chain.restamp)
            let order = author.chain([[edit]], nonce: 9, from: first, previous: previous, at: .zero)
            previous = order.hashes.last
            let own = chain.runs[1].run.changes[0].stamp
            #expect(try self.stamp(of: chain.runs[1], in: network) == own)
            peer.send(.run(order.run))
            waits.append(try self.wait(network))
            #expect(try self.stamp(of: chain.runs[1], in: network) < own)
        }
        // Each looks at 12,000 operations. 20,000 may be looked at, and 4 more in a millisecond: the third waits for
        // the rest of the second, and the fourth for all of the third.
        #expect(waits[0] == 0 && waits[1] == 0, "\(waits)")
        #expect((500...2_000).contains(waits[2]), "\(waits)")
        #expect((1_500...6_000).contains(waits[3]), "\(waits)")
        #expect(!peer.isClosed)
    }
}
