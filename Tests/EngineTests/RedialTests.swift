import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// Whom a node dials, when, and where: what others say must not keep it from those who mean well.
struct RedialTests {
    private func world() throws -> (TestNetwork, RawPeer.IdentityBox) {
        let network = TestNetwork()
        network.discovers = true
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        return (network, try RawPeer.member(of: network, invitedBy: first, seed: 9))
    }

    /// A session in which a member says hello, and then breaks the protocol.
    private func breakProtocol(_ network: TestNetwork, _ member: RawPeer.IdentityBox, _ number: UInt64) throws {
        let peer = try RawPeer(member, to: 0, of: network, connection: number)
        peer.send(peer.hello)
        peer.send(peer.hello)
        #expect(peer.isClosed)
    }

    private func avoidance(_ network: TestNetwork, _ key: PeerKeys) -> UInt64 {
        let until = network.machines[0].node.book[key]?.avoidedUntil ?? 0
        return until - min(until, network.time)
    }

    @Test func `who breaks the protocol again and again is dialled ever more seldom`() throws {
        let (network, member) = try self.world()
        let key = try #require(network.machines[0].node.book.sortedKeys.first)
        for number in 0..<12 {
            // Whoever comes before his time is not let in.
            network.sleep(seconds: self.avoidance(network, key) / 1_000 + 1)
            try self.breakProtocol(network, member, UInt64(number))
        }
        #expect(self.avoidance(network, key) > ConnectionTimes.backoffMax / 2 - 2_000)
        network.machines[0].node.book.note(NetworkAddress(host: "10.9.9.9", port: 7), of: key)
        network.machines[0].node.book[key]?.nextDial = network.time
        let next = network.machines[0].node.nextDialTime
        #expect(next == network.time + self.avoidance(network, key))
        network.handle(0, .timer)
        #expect(network.machines[0].node.connections.isEmpty)
        // It is forgotten in time.
        network.sleep(seconds: 3 * ConnectionTimes.backoffMax / 1_000 + 1)
        try self.breakProtocol(network, member, 99)
        #expect(self.avoidance(network, key) <= ConnectionTimes.backoffFirst)
    }

    @Test func `what has just worked is dialled first when a session ends`() throws {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: 2)
        let second = try network.join(first, name: "second", seed: 3)
        let real = NetworkAddress(host: network.machines[first].host, port: TestNetwork.port)
        let key = try #require(network.machines[second].node.book.sortedKeys.first)
        network.machines[second].node.remember(NetworkAddress(host: "10.9.9.9", port: 7), of: key)
        network.machines[second].node.remember(real, of: key)
        network.settle(seconds: 60)
        #expect(network.dialled.first == real)
        var entry = try #require(network.machines[second].node.book[key])
        #expect(entry.takeAddress() == real)
    }

    @Test func `a recorded beacon that comes from many hosts does not push out where a device is`() throws {
        let (network, member) = try self.world()
        let key = try #require(network.machines[0].node.book.sortedKeys.first)
        let real = NetworkAddress(host: "10.9.9.9", port: 7)
        network.machines[0].node.remember(real, of: key)
        for number in 0..<20 {
            let beacon = Beacon(
                device: member.value.device,
                staticKey: key.staticKey,
                port: 7,
                time: network.moment(of: 0).wall
            )
            let bytes = beacon.signed(member.value.membershipKey) { member.value.signingKey.signature(of: $0) }
            network.handle(0, .beacon(bytes, fromHost: "10.7.7.\(number)"))
            network.settle(seconds: 1)
        }
        let entry = network.machines[0].node.book[key]
        #expect(entry?.addresses == [real])
        #expect(entry?.heardAddresses.count == 4)
        #expect(network.dialled.contains(real))
        #expect(network.dialled.contains { $0 != real })
    }
}
