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

    @Test func `two copies of a device that end each other's sessions do not dial several times a second`() throws {
        let network = try self.pair()
        try network.write(1, .create(.init(type: "note")))
        network.settle()
        _ = try network.clone(1, seed: 99)
        network.settle(seconds: 120)
        let before = network.machines[0].notices.count
        network.settle(seconds: 600)
        // Each copy waits two seconds at least, and each session is noticed when it begins and when it ends.
        #expect(network.machines[0].notices.count - before > 0)
        #expect(network.machines[0].notices.count - before <= 2 * 2 * 600 / 2)
    }

    @Test func `equal peers exchange at most 161 bytes each way after the handshake`() throws {
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
        #expect(network.deliveredByteCount - before <= handshake + 2 * 161)
        #expect(network.deliveredByteCount - before > handshake)
    }
}
