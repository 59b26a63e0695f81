import CRDTCore
import SyncProtocol
import Testing

@testable import Engine

/// A device that erases the past of everything is noticed before the others have done so.
struct BulkErasureTests {
    private static let propertyCount = 1_500

    private struct Pair {
        let network: TestNetwork
        let note: ObjectID
    }

    /// The second of two devices erases the first value of each of many properties.
    private func pair() throws -> Pair {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        for round in 0..<2 {
            try network.write(first) { local throws(WriteRefusal) in
                for number in 0..<Self.propertyCount {
                    try local.perform(.set(note, name: "p\(number)", value: .int(Int64(round))))
                }
            }
        }
        network.settle(seconds: 30)
        try network.write(second) { local throws(WriteRefusal) in
            for number in 0..<Self.propertyCount { _ = try local.erasePast(of: "p\(number)", on: note) }
        }
        network.settle(seconds: 30)
        return Pair(network: network, note: note)
    }

    /// The values that a machine has erased.
    private func erasedCount(_ pair: Pair, _ machine: Int) throws -> Int64 {
        try pair.network.machines[machine].node.read { transaction throws(StoreError) in
            let object = transaction.objectIndex(of: pair.note)
            var count: Int64 = 0
            for number in 0..<Self.propertyCount {
                let key = RegisterKey(object: object, name: transaction.nameIndex(of: "p\(number)"))
                count += transaction.redactedWrites(at: key).reduce(0) { $0 + $1.count }
            }
            return count
        }
    }

    private func waiting(_ pair: Pair, _ machine: Int = 0) throws -> [DeviceErasures] {
        try pair.network.machines[machine].node.status(at: pair.network.moment(of: machine)).waitingErasures
    }

    @Test func `erasures of another device in bulk wait for a day, over a restart too`() throws {
        let pair = try self.pair()
        let network = pair.network
        // Two values each: the one that was superseded, and the one that is written once more.
        let all = Int64(2 * Self.propertyCount)
        #expect(try self.erasedCount(pair, 1) == all)
        #expect(try self.erasedCount(pair, 0) == Int64(ErasurePace.writeCountMax))
        #expect(try self.waiting(pair).map(\.count) == [Self.propertyCount - ErasurePace.writeCountMax / 2])
        #expect(try self.waiting(pair).map(\.deviceName) == ["second"])
        #expect(network.machines[0].notices.contains { if case .erasuresWait = $0 { true } else { false } })
        #expect(try network.export(0) == network.export(1))
        network.settle(seconds: 43_200)
        try network.restart(0, with: network.copyStore(of: 0), seed: 22)
        network.settle(seconds: 36_000)
        #expect(try self.erasedCount(pair, 0) == Int64(ErasurePace.writeCountMax))
        network.settle(seconds: 10_000)
        #expect(try self.erasedCount(pair, 0) == all)
        #expect(try self.waiting(pair).isEmpty)
    }

    @Test func `erasures that were stopped are not done, until they are allowed`() throws {
        let pair = try self.pair()
        let network = pair.network
        let device = try #require(try self.waiting(pair).first?.device)
        try network.machines[0].node.decideErasures(of: device, areAllowed: false)
        #expect(try self.waiting(pair).map(\.due) == [nil])
        // What it erases from now on waits as well, however little.
        let note = pair.note
        try network.write(0, .set(note, name: "p0", value: .int(7)))
        network.settle(seconds: 30)
        try network.write(1) { local throws(WriteRefusal) in _ = try local.erasePast(of: "p0", on: note) }
        network.settle(seconds: 200_000)
        #expect(try self.erasedCount(pair, 0) == Int64(ErasurePace.writeCountMax))
        try network.restart(0, with: network.copyStore(of: 0), seed: 22)
        network.settle(seconds: 100)
        #expect(try self.erasedCount(pair, 0) == Int64(ErasurePace.writeCountMax))
        try network.machines[0].node.decideErasures(of: device, areAllowed: true)
        network.settle(seconds: 100)
        #expect(try self.erasedCount(pair, 0) > Int64(2 * Self.propertyCount))
        #expect(try self.waiting(pair).isEmpty)
    }

    @Test func `what a device erases itself is done at once`() throws {
        let pair = try self.pair()
        #expect(try self.waiting(pair, 1).isEmpty)
    }

    /// A member may have any number of chains; those that erase little do not open the door to one that erases all.
    @Test func `of very many erasures of one property none is let through uncounted`() throws {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        let valueCount = ErasurePace.writeCountMax + 100
        for number in 0..<valueCount { try network.write(first, .set(note, name: "p0", value: .int(Int64(number)))) }
        // Each of the first erases one value more; the last four erase all.
        let littleCount = 36
        let points = try (0..<littleCount + 4).map { number in
            let sequence = number < littleCount ? UInt64(4 + number) : UInt64(valueCount)
            return try network.machines[first].node.read { transaction throws(StoreError) in
                let place = SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: sequence)
                let name = ChangeName(try transaction.hash(at: place) ?? .zero)
                return Point(replica: transaction.replicaID(place.segment), sequence: sequence, name: name)
            }
        }
        let member = try RawPeer.member(of: network, invitedBy: first, seed: 9)
        let peer = try RawPeer(member, to: first, of: network, connection: 1)
        peer.listen()
        peer.send(peer.hello)
        for (number, seen) in points.enumerated() {
            let edits: [Edit] = [
                .erase(Erasure(object: note, name: "p0")), .set(note, name: "p0", value: .int(Int64(number))),
            ]
            peer.send(.run(peer.chain([edits], nonce: 50 + UInt64(number), context: [seen]).run))
        }
        network.settle(seconds: 40)
        let pair = Pair(network: network, note: note)
        // Of those that are examined together some may wait with them.
        let waiting = try self.waiting(pair, first)
        #expect(waiting.count == 1 && (4...20).contains(waiting[0].count), "\(waiting)")
        #expect(try (2...Int64(littleCount + 4)).contains(self.erasedCount(pair, first)))
    }
}
