import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// What members know each other by that have not met: a new one whenever somebody is removed (SH21).
struct MembershipKeyTests {
    private let network = TestNetwork()

    private func founder() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func keys(_ machine: Int) -> [Bytes32] { self.network.machines[machine].node.membershipKeys }

    private func device(_ machine: Int) -> DeviceID { self.network.machines[machine].node.identity.device }

    private func remove(_ machine: Int, by other: Int) throws {
        let device = self.device(machine)
        try self.network.write(other) { local throws(WriteRefusal) in
            _ = try local.remove(device: device, takingOthers: true)
        }
    }

    private func say(_ key: Bytes32, number: UInt64, _ machine: Int) throws {
        try self.network.write(machine) { local throws(WriteRefusal) in
            try local.plan.append(.rights(.membershipKey(.init(number: number, key: key))), in: .roster)
        }
    }

    /// Whether a machine takes what another one says of itself to the local network for that of a member.
    private func recognises(_ machine: Int, beaconOf other: Int) -> Bool {
        let beacon = Beacon(
            device: self.device(other),
            staticKey: self.network.machines[other].node.identity.publicStaticKey,
            port: 1,
            time: self.network.moment(of: other).wall
        )
        let bytes = beacon.signed(SecretBytes(self.keys(other)[0].array)) {
            self.network.machines[other].node.identity.signingKey.signature(of: $0)
        }
        return Beacon(verifying: bytes, self.keys(machine), SodiumCryptography()) != nil
    }

    private func isConnected(_ machine: Int, with other: Int) throws -> Bool {
        let status = try self.network.machines[machine].node.status(at: self.network.moment(of: machine))
        return status.peers.contains { $0.device == self.device(other) && $0.isConnected }
    }

    @Test func `who is removed does not know the others again, and those who missed it meet by the old key`() throws {
        let laptop = try self.founder()
        let thief = try self.network.join(laptop, name: "thief", seed: 3)
        let second = try self.network.join(laptop, name: "second", seed: 4)
        self.network.settle(seconds: 10)
        self.network.stop(second)
        let third = try self.network.join(laptop, name: "third", seed: 5)
        self.network.settle(seconds: 10)
        self.network.stop(third)
        #expect(self.recognises(thief, beaconOf: laptop))
        try self.remove(thief, by: laptop)
        let tablet = try self.network.join(laptop, name: "tablet", seed: 6)
        self.network.settle(seconds: 30)
        #expect(self.keys(laptop).count == 2)
        #expect(self.keys(tablet) == [self.keys(laptop)[0]])
        #expect(!self.recognises(thief, beaconOf: laptop))
        #expect(self.recognises(laptop, beaconOf: thief), "an old key still shows that somebody was here")

        // Neither has heard of the new key, nor of the other.
        self.network.stop(laptop)
        for machine in [second, third] { self.network.machines[machine].isUp = true }
        self.network.handle(second, .addAddress(self.address(of: third)))
        self.network.settle(seconds: 60)
        #expect(try self.isConnected(second, with: third))
        #expect(self.keys(second).count == 1)
    }

    /// A machine that is off while so many others are removed, and one that has heard of all of it and does not know
    /// that one; nobody else is there.
    private func late(by removalCount: Int) throws -> (late: Int, other: Int) {
        let laptop = try self.founder()
        let late = try self.network.join(laptop, name: "late", seed: 3)
        self.network.settle(seconds: 10)
        self.network.stop(late)
        let other = try self.network.join(laptop, name: "other", seed: 4)
        for number in 0..<removalCount {
            let lost = try self.network.join(laptop, name: "lost", seed: UInt64(10 + number))
            self.network.settle(seconds: 10)
            try self.remove(lost, by: laptop)
            self.network.stop(lost)
        }
        self.network.settle(seconds: 30)
        #expect(self.keys(other) == self.keys(laptop))
        self.network.stop(laptop)
        self.network.machines[late].isUp = true
        return (late, other)
    }

    private func address(of machine: Int) -> NetworkAddress {
        NetworkAddress(host: self.network.machines[machine].host, port: TestNetwork.port)
    }

    @Test(arguments: [7, 8])
    func `a device answers to the last eight keys`(_ removalCount: Int) throws {
        let (late, other) = try self.late(by: removalCount)
        #expect(self.keys(other).count == 8)
        self.network.handle(late, .addAddress(self.address(of: other)))
        self.network.settle(seconds: 60)
        #expect(try self.isConnected(late, with: other) == (removalCount == 7))
    }

    @Test(arguments: [1, 7])
    func `who knows the new key dials with older ones where nobody answers to that`(_ removalCount: Int) throws {
        let (late, other) = try self.late(by: removalCount)
        self.network.handle(other, .addAddress(self.address(of: late)))
        self.network.settle(seconds: 300)
        #expect(try self.isConnected(other, with: late))
        #expect(self.keys(late) == self.keys(other))
    }

    @Test func `nobody keeps his key the newest by a high number, or takes the place of others by many keys`() throws {
        let laptop = try self.founder()
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        try self.say(Bytes32(1, 1, 1, 1), number: .max, ann)
        for number in 1...20 { try self.say(Bytes32(2, 2, 2, UInt64(number)), number: UInt64(number), ann) }
        self.network.settle(seconds: 30)
        #expect(self.keys(laptop).count == 2)
        let original = self.keys(phone)[1]
        try self.remove(phone, by: laptop)
        self.network.settle(seconds: 30)
        let newest = self.keys(laptop)[0]
        #expect(newest != original)
        #expect(self.keys(phone)[0] != newest)
        for machine in [laptop, ann] {
            #expect(self.keys(machine).count == 3)
            #expect(self.keys(machine)[0] == newest)
            #expect(self.keys(machine).last == original)
        }
    }
}
