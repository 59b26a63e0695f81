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

    /// A beacon of a member, which the first machine hears from some host.
    private func sendBeacon(
        of member: RawPeer.IdentityBox,
        _ key: PeerKeys,
        from host: String,
        to network: TestNetwork
    ) {
        let beacon = Beacon(
            device: member.value.device,
            staticKey: key.staticKey,
            port: 7,
            time: network.moment(of: 0).wall
        )
        let bytes = beacon.signed(member.value.membershipKey) { member.value.signingKey.signature(of: $0) }
        network.handle(0, .beacon(bytes, fromHost: host))
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

    @Test func `a dial that began before everyone was to be dialled is not their answer`() throws {
        let (network, _) = try self.world()
        let key = try #require(network.machines[0].node.book.sortedKeys.first)
        let absent = NetworkAddress(host: "10.9.9.9", port: 7)
        network.machines[0].node.book.note(absent, of: key)
        network.machines[0].node.book[key]?.nextDial = network.time
        network.handle(0, .timer)
        func dials() -> [PeerConnection] { network.machines[0].node.connections.values.filter(\.isDialled) }
        let early = try #require(dials().first)
        network.handle(0, .dialAll)
        #expect(dials().map(\.id) == [early.id])
        network.handle(0, .dialFailed(early.id))
        #expect(dials().isEmpty && network.machines[0].node.isDialling, "it will be dialled once more")
        network.sleep(seconds: 1)
        network.handle(0, .timer)
        let late = try #require(dials().first)
        network.handle(0, .dialFailed(late.id))
        #expect(dials().isEmpty && !network.machines[0].node.isDialling)
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

    /// Which of two machines has the smaller key, and so whose dial wins, is chance.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `a machine that moves right after it was met is met again within two seconds`(seed: UInt64) throws {
        let network = TestNetwork()
        var entropy = TestNetwork.entropy(seed)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: seed + 100)
        let second = try network.join(first, name: "second", seed: seed + 200)
        network.settle(seconds: 20)
        // Either one dials, so that its session is the one that stands, and either one moves.
        for number in 0..<4 {
            let (dialler, mover) = (number < 2 ? first : second, number % 2 == 0 ? first : second)
            network.cut(first, second)
            network.healAll()
            network.handle(dialler, .dialAll)
            network.settle(seconds: 1)
            #expect(network.connectionCounts == [1, 1])
            network.move(mover, to: "10.0.9.\(number + 1)")
            network.settle(seconds: 2)
            // A session counts if what one writes reaches the other.
            try network.write(first, .create(.init(type: "note")))
            network.settle(seconds: 0)
            #expect(try network.frontier(first) == network.frontier(second), "dialled by \(dialler), moved \(mover)")
            network.settle(seconds: 30)
            #expect(network.connectionCounts == [1, 1])
        }
    }

    @Test func `a recorded beacon that comes from many hosts does not push out where a device is`() throws {
        let (network, member) = try self.world()
        let key = try #require(network.machines[0].node.book.sortedKeys.first)
        let real = NetworkAddress(host: "10.9.9.9", port: 7)
        network.machines[0].node.remember(real, of: key)
        for number in 0..<20 {
            self.sendBeacon(of: member, key, from: "10.7.7.\(number)", to: network)
            network.settle(seconds: 1)
        }
        let entry = network.machines[0].node.book[key]
        #expect(entry?.addresses == [real])
        #expect(entry?.heardAddresses.count == 4)
        #expect(network.dialled.contains(real))
        #expect(network.dialled.contains { $0 != real })
    }

    /// Which of two machines has the smaller key, and so dials at once, is chance.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `machines that were off and came back at other addresses meet at the first beacon`(seed: UInt64) throws {
        let network = TestNetwork()
        (network.discovers, network.carriesBeacons) = (true, true)
        var entropy = TestNetwork.entropy(seed)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try network.add(identity, seed: seed + 100)
        let second = try network.join(first, name: "second", seed: seed + 200)
        network.settle(seconds: 20)
        for machine in [first, second] {
            network.silentHosts.insert(network.machines[machine].host)
            network.machines[machine].isUp = false
            network.move(machine, to: "10.0.9.\(machine + 1)")
        }
        // Nobody answers where each looks for the other, and only the later one's beacon is heard by both.
        for machine in seed % 2 == 0 ? [first, second] : [second, first] {
            try network.restart(machine, with: network.copyStore(of: machine), seed: seed + 300 + UInt64(machine))
            network.machines[machine].isUp = true
            network.settle(seconds: 2)
        }
        try network.write(first, .create(.init(type: "note")))
        try network.write(second, .create(.init(type: "note")))
        network.settle(seconds: 0)
        #expect(try network.frontier(first) == network.frontier(second))
        #expect(network.connectionCounts == [1, 1])
        let dialCount = network.dialled.count
        network.settle(seconds: 60)
        #expect(network.dialled.count == dialCount)
        #expect(network.connectionCounts == [1, 1])
    }

    @Test func `a device that tells of one address after another is dialled at two of them at a time`() throws {
        let (network, member) = try self.world()
        let key = try #require(network.machines[0].node.book.sortedKeys.first)
        for number in 0..<60 { network.silentHosts.insert("10.7.7.\(number)") }
        var most = 0
        for number in 0..<60 {
            self.sendBeacon(of: member, key, from: "10.7.7.\(number)", to: network)
            network.settle(seconds: 1)
            most = max(most, network.connectionCounts[0])
        }
        #expect(most == 2)
        // Each dial takes ten seconds to come to nothing.
        #expect(network.dialled.count <= 2 * (60 / 10 + 1))
    }
}
