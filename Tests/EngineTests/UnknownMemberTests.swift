import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// Members that nobody has told of each other, and members that claim to be others.
struct UnknownMemberTests {
    private let network = TestNetwork()

    private func founder() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func address(_ machine: Int) -> NetworkAddress {
        NetworkAddress(host: self.network.machines[machine].host, port: TestNetwork.port)
    }

    private func status(_ machine: Int) throws -> NodeStatus {
        try self.network.machines[machine].node.status(at: self.network.moment(of: machine))
    }

    private func areEqual(_ left: Int, _ right: Int) throws -> Bool {
        try self.network.export(left) == self.network.export(right)
            && self.network.frontier(left) == self.network.frontier(right)
    }

    @Test func `two that joined through a third that is lost meet at an address, and again after a restart`() throws {
        let first = try self.founder()
        let second = try self.network.join(first, name: "second", seed: 3)
        try self.network.write(second, .create(.init(type: "from second")))
        self.network.settle(seconds: 10)
        self.network.machines[second].isUp = false
        let third = try self.network.join(first, name: "third", seed: 4)
        try self.network.write(third, .create(.init(type: "from third")))
        self.network.machines[first].isUp = false
        self.network.machines[second].isUp = true
        self.network.settle(seconds: 60)
        #expect(try !self.areEqual(second, third))
        self.network.handle(second, .addAddress(self.address(third)))
        self.network.settle(seconds: 60)
        #expect(try self.areEqual(second, third))
        #expect(try self.status(second).peers.contains { $0.name == "third" && $0.isConnected })
        #expect(self.network.machines[third].notices.contains(.memberMet(device: "second")))
        for machine in [second, third] {
            try self.network.restart(machine, with: self.network.copyStore(of: machine), seed: UInt64(40 + machine))
        }
        try self.network.write(third, .create(.init(type: "later")))
        self.network.settle(seconds: 60)
        #expect(try self.areEqual(second, third))
    }

    @Test func `a device that was put back to before another joined knows it again`() throws {
        let first = try self.founder()
        try self.network.write(first, .create(.init(type: "note")))
        let old = self.network.copyStore(of: first)
        let second = try self.network.join(first, name: "second", seed: 3)
        self.network.settle(seconds: 10)
        try self.network.write(second, .create(.init(type: "from second")))
        self.network.settle(seconds: 10)
        try self.network.restart(first, with: old, token: 9, seed: 8)
        self.network.settle(seconds: 120)
        #expect(try self.areEqual(first, second))
        #expect(try self.status(first).peers.contains { $0.name == "second" && $0.isConnected })
    }

    @Test func `an address that leads to no member is named with the reason`() throws {
        let first = try self.founder()
        var entropy = TestNetwork.entropy(77)
        guard let stranger = DeviceIdentity.founding(name: "stranger", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let other = try self.network.add(stranger, seed: 78)
        let nowhere = NetworkAddress(host: "10.99.0.1", port: 1)
        self.network.handle(first, .addAddress(self.address(other)))
        self.network.handle(first, .addAddress(nowhere))
        self.network.settle(seconds: 30)
        let failures = Dictionary(
            uniqueKeysWithValues: try self.status(first).failingAddresses.map { ($0.address, $0.failure) }
        )
        #expect(failures == [self.address(other): .hungUp, nowhere: .unreachable])
        let told = self.network.machines[first].notices.filter {
            if case .addressFailed = $0 { true } else { false }
        }
        #expect(told.count == 2)
        #expect(try self.status(other).peers.isEmpty)
    }

    // MARK: - Members that claim to be others

    /// Two devices that know each other, and a member that is no honest one.
    private func worldWithImpostor() throws -> (first: Int, second: Int, impostor: RawPeer.IdentityBox) {
        let first = try self.founder()
        let second = try self.network.join(first, name: "second", seed: 3)
        self.network.settle(seconds: 10)
        return (first, second, try RawPeer.member(of: self.network, invitedBy: first, seed: 9))
    }

    /// What opens the chain of a device that a member has made up.
    private func introduction(
        of device: DeviceID,
        _ staticKey: StaticKey,
        by impostor: RawPeer.IdentityBox,
        nonce: Bytes16
    ) -> Introduction {
        Introduction(
            user: impostor.value.user,
            deviceName: "invented",
            nonce: nonce,
            certificates: impostor.value.certify(device, staticKey: staticKey)
        )
    }

    @Test func `who certifies a device of his own with the static key of another keeps nobody apart`() throws {
        let (first, second, impostor) = try self.worldWithImpostor()
        let peer = try RawPeer(impostor, to: first, of: self.network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        let victims = [first, second]
        // Several of each, so that whoever takes any device with the right static key takes a wrong one.
        for number in 0..<16 {
            let victim = victims[number % 2]
            guard let key = SigningKey(seed: SecretBytes([UInt8](repeating: UInt8(50 + number), count: 32))) else {
                throw TestFailure("no key")
            }
            let device = DeviceID(bytes: key.publicKey.bytes32)
            let nonce = Bytes16(high: 5, low: UInt64(number))
            let victimKey = self.network.machines[victim].node.replica.author.identity.publicStaticKey
            let replica = ReplicaID(device: device, nonce: nonce, SodiumCryptography())
            var builder = RunBuilder(replica: replica, firstSequence: 1)
            let stamp = Stamp(milliseconds: self.network.moment(of: first).wall.milliseconds)
            builder.beginChange(stamp: stamp, context: [], blinding: [UInt8](repeating: 1, count: 16))
            builder.append(.introduce(self.introduction(of: device, victimKey, by: impostor, nonce: nonce)))
            let origin = ChainHash.origin(impostor.value.workspace)
            let run = VerifiedRun.sealUnchecked(builder, previous: origin, SodiumCryptography()) {
                key.signature(of: $0)
            }
            peer.send(.run(run.run))
        }
        #expect(!peer.isClosed)
        self.network.settle(seconds: 10)
        #expect(try self.network.frontier(second).entries.count == self.network.frontier(first).entries.count)
        for _ in 0..<3 {
            self.network.cut(first, second)
            self.network.settle(seconds: 5)
            self.network.healAll()
            try self.network.write(second, .create(.init(type: "note")))
            self.network.settle(seconds: 60)
            #expect(try self.areEqual(first, second))
            for (victim, other) in [(first, second), (second, first)] {
                let device = self.network.machines[victim].node.replica.author.identity.device
                let connected = try self.status(other).peers.filter { $0.isConnected && $0.name != "raw" }
                #expect(connected.map(\.device) == [device])
            }
        }
        // Nobody looks for the made-up ones where the real one was reached.
        try self.network.restart(first, with: self.network.copyStore(of: first), token: 1, seed: 30)
        self.network.settle(seconds: 60)
        #expect(try self.areEqual(first, second))
        let device = self.network.machines[second].node.replica.author.identity.device
        #expect(try self.status(first).peers.filter { $0.address != nil && $0.name != "raw" }.map(\.device) == [device])
    }

    @Test func `nobody joins under the id of another device`() throws {
        let (first, second, _) = try self.worldWithImpostor()
        let invite = try self.network.machines[first].node.makeInvite(
            addresses: [],
            port: 1,
            at: self.network.moment(of: first)
        )
        var entropy = TestNetwork.entropy(60)
        guard let own = AgreementKey(seed: entropy.secret(32)), let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let signing = SigningKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(
                .pairing,
                secret: SecretBytes(invite.secret.array),
                own: own,
                ephemeral: ephemeral
            )
        else { throw TestFailure("no handshake") }
        let id = ConnectionID(rawValue: 1 << 63 | 1 << 42)
        let toNode = start.bytes
        var link = start.takeLink()
        self.network.handle(first, .accepted(id, from: NetworkAddress(host: "10.8.8.8", port: 1)))
        var answer: [UInt8] = []
        let moment = self.network.moment(of: first)
        for effect in self.network.machines[first].node.handle(.received(id, toNode), at: moment) {
            if case .send(id, let bytes) = effect { answer += bytes }
        }
        struct Nobody: LinkAuthority {
            func admits(_ key: StaticKey) -> Bool { false }
            func inviteSecrets() -> PresharedKeys { PresharedKeys() }
            func membershipSecrets() -> PresharedKeys { PresharedKeys() }
        }
        let output = link.receive(answer, own: own, authority: Nobody(), now: 1) { nil }
        let message = HandshakeProof.message(handshakeHash: link.handshakeHash, isDialler: true)
        let request = JoinRequest(
            device: self.network.machines[second].node.replica.author.identity.device,
            deviceName: "other",
            proof: signing.signature(of: message)
        )
        let before = try self.status(first).peers.count
        self.network.handle(first, .received(id, output.bytes + link.seal(.join(request), now: 1)))
        #expect(self.network.machines[first].node.counters.protocolViolationCount == 1)
        #expect(try self.status(first).peers.count == before)
        // The invite is not used up by it.
        #expect(self.network.machines[first].node.admissions.invites.count == 1)
    }

    @Test func `a recorded first message that comes again and again does not stop dialling`() throws {
        let (first, second, _) = try self.worldWithImpostor()
        var entropy = TestNetwork.entropy(61)
        let target = self.network.machines[first].node.replica.author.identity.publicStaticKey
        guard let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(
                target,
                own: self.network.machines[second].node.replica.author.identity.staticKey,
                ephemeral: ephemeral
            )
        else { throw TestFailure("no handshake") }
        self.network.machines[second].isUp = false
        self.network.cut(first, second)
        self.network.settle(seconds: 30)
        self.network.healAll()
        for number in 0..<30 {
            let id = ConnectionID(rawValue: 1 << 63 | 1 << 43 | UInt64(number))
            self.network.handle(first, .accepted(id, from: NetworkAddress(host: "10.7.7.7", port: 1)))
            self.network.handle(first, .received(id, start.bytes))
            self.network.settle(seconds: 2)
        }
        let dials = self.network.dialled.count
        for number in 30..<60 {
            let id = ConnectionID(rawValue: 1 << 63 | 1 << 43 | UInt64(number))
            self.network.handle(first, .accepted(id, from: NetworkAddress(host: "10.7.7.7", port: 1)))
            self.network.handle(first, .received(id, start.bytes))
            self.network.settle(seconds: 2)
        }
        #expect(self.network.dialled.count > dials)
    }

    @Test func `devices that a member makes up take no more than its share of sessions`() throws {
        let (first, second, impostor) = try self.worldWithImpostor()
        var ghosts: [RawPeer] = []
        for number in 0..<ConnectionLimits.deviceCountMaxByCertifier + 6 {
            let ghost = try RawPeer.invented(by: impostor, seed: UInt64(number))
            let peer = try RawPeer(ghost, asMemberTo: first, of: self.network, connection: UInt64(100 + number))
            peer.send(.member(ghost.value.introduction(nonce: .init(high: 0, low: 0))))
            peer.send(peer.hello)
            ghosts.append(peer)
        }
        #expect(ghosts.count { !$0.isClosed } == ConnectionLimits.deviceCountMaxByCertifier)
        let refusals = self.network.machines[first].notices.filter {
            if case .tooManySessions = $0 { true } else { false }
        }
        #expect(refusals.count == 6)
        // Nor are more of them remembered than that, however often they come and go.
        for ghost in ghosts { self.network.handle(first, .closed(ghost.id)) }
        let before = try self.status(first).peers.count
        for number in 200..<210 {
            let ghost = try RawPeer.invented(by: impostor, seed: UInt64(number))
            let peer = try RawPeer(ghost, asMemberTo: first, of: self.network, connection: UInt64(200 + number))
            peer.send(.member(ghost.value.introduction(nonce: .init(high: 0, low: 0))))
            peer.send(peer.hello)
            #expect(peer.isClosed)
        }
        #expect(try self.status(first).peers.count == before)
        // Nobody else is refused.
        self.network.cut(first, second)
        self.network.settle(seconds: 2)
        self.network.healAll()
        self.network.settle(seconds: 40)
        #expect(try self.status(first).peers.contains { $0.name == "second" && $0.isConnected })
    }
}
