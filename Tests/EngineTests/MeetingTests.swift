import CRDTCore
import Testing

@testable import Engine

/// Devices that edit apart and meet: the whole node, without disk or sockets.
struct MeetingTests {
    private func pair() throws -> TestNetwork {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        _ = try network.add(identity, seed: 2)
        _ = try network.join(0, name: "second", seed: 3)
        return network
    }

    @Test func `a paired device gets everything and edits come together both ways`() throws {
        let network = try self.pair()
        let note = try network.write(0, .create(.init(type: "note", properties: ["title": .string("milk")])))
        network.settle()
        #expect(try network.export(0) == network.export(1))
        #expect(try network.export(1).contains("milk"))
        try network.write(1, .set(note.created[0], name: "title", value: .string("eggs")))
        network.settle(seconds: 1)
        #expect(try network.export(0).contains("eggs"))
        #expect(try network.export(0) == network.export(1))
        #expect(try network.frontier(0) == network.frontier(1))
    }

    @Test func `what is said to one peer in answer to one event goes out together`() throws {
        let network = try self.pair()
        _ = try network.join(0, name: "third", seed: 4)
        let note = try network.write(0, .create(.init(type: "note", properties: ["title": .string("milk")])))
        network.settle()
        for machine in 0..<3 {
            try network.write(machine, .set(note.created[0], name: "title", value: .string("eggs")))
            network.settle()
        }
        #expect(network.splitAnswerCount == 0)
    }

    @Test func `devices that never wrote learn of each other through the one that paired them`() throws {
        let network = try self.pair()
        _ = try network.join(0, name: "third", seed: 4)
        for machine in 0..<3 { network.handle(machine, .introduce) }
        // The second and the third were never paired with each other.
        network.settle()
        for machine in 0..<3 {
            let status = try network.machines[machine].node.status(at: network.moment(of: machine))
            let others = Set(["first", "second", "third"]).subtracting([status.deviceName])
            #expect(Set(status.peers.map(\.name)) == others)
            #expect(status.frontier.count == 3)
        }
        // Once is enough.
        let frontier = try network.frontier(1)
        network.handle(1, .introduce)
        #expect(try network.frontier(1) == frontier)
    }

    /// Found by the simulator: a flipped bit in the length of a record.
    @Test func `a record whose end never comes does not keep a connection alive`() throws {
        let network = try self.pair()
        network.settle(seconds: 5)
        let connection = try #require(network.machines[0].node.connections.keys.first)
        network.machines[0].notices = []
        // The longest record there may be, a byte every ten seconds; what the peer says in between becomes part of it.
        network.handle(0, .received(connection, [0xff, 0x00]))
        for _ in 0..<6 {
            network.settle(seconds: 10)
            network.handle(0, .received(connection, [0]))
            // So that the peer does not give up first.
            try network.write(0, .create(.init(type: "note")))
        }
        #expect(network.machines[0].notices.contains(.disconnected(device: "second")))
        network.settle()
        #expect(try network.machines[0].node.status(at: network.moment(of: 0)).peers.allSatisfy(\.isConnected))
    }

    @Test func `edits made apart for days come together on three devices`() throws {
        let network = try self.pair()
        let third = try network.join(0, name: "third", seed: 4)
        let root = try network.write(0, .create(.init(type: "folder"))).created[0]
        network.settle()
        for (left, right) in [(0, 1), (0, 2), (1, 2)] { network.cut(left, right) }
        for machine in 0..<3 {
            for number in 0..<20 {
                try network.write(
                    machine,
                    .create(.init(type: "item", parent: root, properties: ["n": .int(Int64(number))])),
                    .set(root, name: "last", value: .int(Int64(machine)))
                )
            }
        }
        network.settle(seconds: 86_400)
        #expect(try network.export(0) != network.export(1))
        network.healAll()
        network.settle()
        #expect(try network.frontier(0) == network.frontier(1))
        #expect(try network.frontier(0) == network.frontier(third))
        #expect(try network.export(0) == network.export(1))
        #expect(try network.export(0) == network.export(third))
        #expect(try network.export(0).split(separator: "\n").count == 2 + 61)
    }

    /// The token beside the database is the same if a directory was copied, and another if a backup was restored.
    @Test(arguments: [1, 2] as [UInt8])
    func `what copies of a device write reaches everyone while all of them run`(token: UInt8) throws {
        let network = try self.pair()
        try network.write(1, .create(.init(type: "note")))
        network.settle()
        let copy = try network.clone(1, token: token, seed: 99)
        network.settle(seconds: 10)
        var dialCount = network.dialled.count
        for round in 0..<5 {
            for machine in [0, 1, copy] { try network.write(machine, .create(.init(type: "note \(round)"))) }
            network.settle(seconds: 1)
            #expect(try network.frontier(0) == network.frontier(1), "round \(round)")
            #expect(try network.frontier(0) == network.frontier(copy), "round \(round)")
            // Where their chains part is found in another session.
            if round == 0 {
                network.settle(seconds: 10)
                dialCount = network.dialled.count
            }
        }
        let peer = try #require(try network.machines[0].node.status(at: network.moment(of: 0)).peers.first)
        #expect(peer.hasCopies)
        #expect(peer.isInSync)
        network.settle(seconds: 600)
        #expect(network.dialled.count == dialCount)
        #expect(network.connectionCounts == [2, 1, 1])
    }

    @Test func `copies that cannot be told apart take turns, and do not dial several times a second`() throws {
        let network = try self.pair()
        try network.write(1, .create(.init(type: "note")))
        network.settle()
        // As of a machine whose memory was copied while it ran.
        let copy = try network.clone(1, seed: 99)
        network.machines[copy].node.instance = network.machines[1].node.instance
        network.settle(seconds: 120)
        for machine in [1, copy] { try network.write(machine, .create(.init(type: "note of \(machine)"))) }
        network.settle(seconds: 120)
        #expect(try network.frontier(0) == network.frontier(1))
        #expect(try network.frontier(0) == network.frontier(copy))
        let before = network.machines[0].notices.count
        network.settle(seconds: 600)
        // Each copy waits two seconds at least, and each session is noticed when it begins and when it ends.
        #expect(network.machines[0].notices.count - before > 0)
        #expect(network.machines[0].notices.count - before <= 2 * 2 * 600 / 2)
    }

    @Test func `a copy that cannot dial is met at an address that was named`() throws {
        let network = try self.pair()
        network.settle()
        let copy = try network.clone(1, token: 2, seed: 99)
        let key = try #require(network.machines[copy].node.book.sortedKeys.first)
        network.machines[copy].node.book[key]?.addresses = []
        // What is at the address of the one is known, before the other is looked for.
        for machine in [1, copy] {
            let address = NetworkAddress(host: network.machines[machine].host, port: TestNetwork.port)
            network.handle(0, .addAddress(address))
            network.settle(seconds: 5)
        }
        #expect(network.connectionCounts == [2, 1, 1])
        let dialCount = network.dialled.count
        try network.write(copy, .create(.init(type: "note")))
        network.settle(seconds: 60)
        #expect(try network.frontier(1) == network.frontier(copy))
        #expect(network.dialled.count == dialCount)
        // Its session is opened again although the other's goes on.
        network.cut(0, copy)
        network.settle(seconds: 1)
        network.healAll()
        try network.write(copy, .create(.init(type: "note")))
        network.settle(seconds: 60)
        #expect(try network.frontier(1) == network.frontier(copy))
    }

    @Test func `a machine that was started again is no copy of itself`() throws {
        let network = try self.pair()
        network.settle()
        // It lost its power: the other end learns of nothing.
        try network.restart(1, with: network.copyStore(of: 1), seed: 99, isHeard: false)
        network.settle(seconds: 1)
        #expect(network.connectionCounts[0] == 2)
        try network.write(0, .create(.init(type: "note")))
        network.settle(seconds: 1)
        #expect(try network.frontier(0) == network.frontier(1))
        network.settle(seconds: 30)
        #expect(network.connectionCounts == [1, 1])
        let peer = try #require(try network.machines[0].node.status(at: network.moment(of: 0)).peers.first)
        #expect(!peer.hasCopies)
    }

    @Test func `equal peers exchange at most 161 bytes each way after the handshake, and 84 for their states`() throws {
        let network = try self.pair()
        try network.write(0, .create(.init(type: "note")))
        network.settle()
        network.cut(0, 1)
        network.settle(seconds: 1)
        let before = network.deliveredByteCount
        network.healAll()
        network.settle(seconds: 14)
        // Both handshake messages, the greeting, and what follows, for both sides together.
        let handshake = 8 + 2 + 96 + 2 + 48
        #expect(network.deliveredByteCount - before <= handshake + 2 * (161 + 84))
        #expect(network.deliveredByteCount - before > handshake)
    }
}
