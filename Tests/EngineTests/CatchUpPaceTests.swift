import CRDTCore
import MergeModel
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// Many restamps, each of which orders much anew, and many late moves.
struct CatchUpPaceTests {
    private let note = ObjectID(bytes: Bytes16(high: 7, low: 7))

    private func title(_ network: TestNetwork) throws -> String {
        try String(network.export(0).split(separator: "\"title\":")[1].prefix { $0 != "," && $0 != "}" })
    }

    /// A network of one device with a note.
    private func network() throws -> TestNetwork {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        _ = try network.add(identity, seed: 2)
        try network.write(0, .create(.init(id: .given(self.note), type: "note")))
        return network
    }

    /// A device that wrote a title in the midst of a member's titles, which that member then restamps one by one, from
    /// the last to the first.
    private func world() throws -> TestNetwork {
        let network = try self.network()
        let member = try RawPeer.member(of: network, invitedBy: 0, seed: 9)
        var hashes: [Hash256] = []
        var runs: [Message] = []
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        peer.send(peer.hello)
        for number in 0..<60 as Range<Int64> {
            let edit = Edit.set(self.note, name: "title", value: .int(number))
            let first = number == 0 ? 1 : UInt64(number) + 2
            let run = peer.chain([[edit]], nonce: 1, from: first, previous: hashes.last)
            hashes += run.hashes
            runs.append(.run(run.run))
            network.sleep(seconds: 1)
            if number == 30 { try network.write(0, .set(self.note, name: "title", value: .string("ours"))) }
        }
        let talk = try RawPeer(member, to: 0, of: network, connection: 2)
        talk.send(talk.hello)
        for run in runs { talk.send(run) }
        #expect(try self.title(network) == "59")
        let replica = talk.chain([], nonce: 1).run.replica
        var last: Hash256?
        for sequence in (2...61 as ClosedRange<UInt64>).reversed() {
            let hash = hashes[Int(sequence) - 1]
            let restamp = Restamp(replica: replica, firstSequence: sequence, lastSequence: sequence, lastHash: hash)
            let first = last == nil ? 1 : 63 - sequence
            let run = talk.chain([[.restamp(restamp)]], nonce: 2, from: first, previous: last, at: .zero)
            last = run.hashes.last
            talk.send(.run(run.run))
        }
        #expect(!talk.isClosed)
        return network
    }

    @Test func `restamps that cost much wait and come together, and nothing else waits for them`() throws {
        let network = try self.world()
        #expect(network.machines[0].node.catchUpDeadline != nil)
        try network.write(0, .set(self.note, name: "other", value: .int(1)))
        #expect(try network.export(0).contains("\"other\":1"))
        #expect(network.machines[0].node.catchUpDeadline != nil)
        network.sleep(seconds: 5)
        #expect(network.machines[0].node.catchUpDeadline == nil)
        #expect(try self.title(network) == "\"ours\"")
    }

    @Test func `who ends while restamps wait has settled them when he starts again`() throws {
        let network = try self.world()
        #expect(network.machines[0].node.catchUpDeadline != nil)
        try network.restart(0, with: network.copyStore(of: 0), seed: 5)
        #expect(network.machines[0].node.catchUpDeadline == nil)
        #expect(try self.title(network) == "\"ours\"")
    }

    private static let lateCount = 20

    /// A device that has made many objects, and is then sent moves that come before all of these, one by one.
    private func lateWorld() throws -> TestNetwork {
        let network = try self.network()
        let member = try RawPeer.member(of: network, invitedBy: 0, seed: 9)
        let peer = try RawPeer(member, to: 0, of: network, connection: 1)
        var runs: [VerifiedRun] = []
        for number in 0..<Self.lateCount {
            let id = ObjectID(bytes: Bytes16(high: 9, low: UInt64(number)))
            let edits: [Edit] = [
                .create(id, type: "late", kind: ""), .move(id, Place(parent: self.note, position: .initial)),
            ]
            let first = number == 0 ? 1 : UInt64(number) + 2
            runs.append(peer.chain([edits], nonce: 1, from: first, previous: runs.last?.hashes.last))
        }
        network.sleep(seconds: 1)
        for number in 0..<60 as Range<UInt64> {
            let id = ObjectID(bytes: Bytes16(high: 8, low: number))
            try network.write(0, .create(.init(id: .given(id), type: "note", parent: self.note)))
        }
        peer.send(peer.hello)
        for run in runs { peer.send(.run(run.run)) }
        #expect(!peer.isClosed)
        return network
    }

    private func lateObjectCount(_ network: TestNetwork) throws -> Int {
        try network.export(0).split(separator: "\"type\":\"late\"").count - 1
    }

    @Test func `moves that come late wait if they cost much, and nothing else waits for them`() throws {
        let network = try self.lateWorld()
        #expect(network.machines[0].node.catchUpDeadline != nil)
        #expect(try self.lateObjectCount(network) < Self.lateCount)
        try network.write(0, .set(self.note, name: "other", value: .int(1)))
        #expect(try network.export(0).contains("\"other\":1"))
        network.sleep(seconds: 5)
        #expect(network.machines[0].node.catchUpDeadline == nil)
        #expect(try self.lateObjectCount(network) == Self.lateCount)
    }

    @Test func `moves of one stamp are late for each other, whichever replica comes first`() throws {
        var history = GeneratedHistory()
        let objects = (0..<2).map { ObjectID(bytes: Bytes16(high: 3, low: $0)) }
        var moves: [NaiveChange] = []
        for number in 0..<2 {
            let device = TestDevice(number: UInt64(number) + 1, user: TestDevice.user)
            let nonce = Bytes16(high: 4, low: UInt64(number))
            let replica = device.replica(nonce: nonce)
            history.devices[replica] = device
            let move = Edit.move(objects[number], Place(parent: objects[1 - number], position: .initial))
            let edits = [
                .introduce(device.introduction(nonce: nonce)), .create(objects[number], type: "note", kind: ""), move,
            ]
            moves.append(history.append(replica, stamp: Stamp(milliseconds: 1_000), edits))
        }
        for order in [[0, 1], [1, 0]] {
            var store = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
            for number in order {
                try store.write { (transaction: inout MemoryTransaction) throws(StoreError) in
                    var policy = MergePolicy(now: WallTime(milliseconds: 1_000), founder: TestDevice.user)
                    policy.redoneMoveCountMax = 0
                    var merge = Merge(policy)
                    _ = try merge.receive(history.sealed([moves[number]]), in: &transaction)
                    try merge.finish(in: &transaction)
                }
            }
            let pending = try store.read { (transaction: inout MemoryTransaction) throws(StoreError) in
                (0..<2).map { transaction.progress(of: SegmentIndex(rawValue: $0)).isPending }
            }
            #expect(pending == [false, true])
        }
    }

    @Test func `who ends while late moves wait has them when he starts again`() throws {
        let network = try self.lateWorld()
        #expect(network.machines[0].node.catchUpDeadline != nil)
        try network.restart(0, with: network.copyStore(of: 0), seed: 5)
        #expect(network.machines[0].node.catchUpDeadline == nil)
        #expect(try self.lateObjectCount(network) == Self.lateCount)
    }

    @Test func `what was looked at is made up for by time`() {
        var pace = CatchUpPace(LateWorkLimits().lateMoves)
        pace.advance(to: 1_000)
        pace.note(cost: pace.limits.costMax)
        #expect(pace.nextTime == 1_000)
        pace.note(cost: 1_000)
        #expect(pace.nextTime == 1_000 + 1_000 / UInt64(pace.limits.costPerMillisecond))
        let due = pace.nextTime
        pace.advance(to: due - 1)
        #expect(pace.nextTime == due)
        pace.advance(to: due)
        #expect(pace.nextTime == due)
        pace.advance(to: .max)
        pace.note(cost: pace.limits.costMax + 1)
        #expect(pace.nextTime == .max)
    }
}
