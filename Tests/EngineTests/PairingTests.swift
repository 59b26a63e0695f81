import CRDTCore
import Engine
import Testing

/// Devices that were paired and never come, and invites that time should end.
struct PairingTests {
    private let network = TestNetwork()

    private func founder() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func invite(_ machine: Int) throws -> Invite {
        let moment = self.network.moment(of: machine)
        return try self.network.machines[machine].node.makeInvite(addresses: ["10.0.0.1"], port: 1, at: moment)
    }

    private func peers(_ machine: Int) throws -> [String] {
        try self.network.machines[machine].node.status(at: self.network.moment(of: machine)).peers.map(\.name)
    }

    @Test func `a device whose welcome was lost is forgotten in time even over a restart`() throws {
        let first = try self.founder()
        try self.network.pairInVain(first, invite: self.invite(first), name: "second", seed: 3)
        #expect(try self.peers(first) == ["second"])
        self.network.sleep(seconds: 6 * 86_400)
        #expect(try self.peers(first) == ["second"])
        try self.network.restart(first, with: self.network.copyStore(of: first), seed: 9)
        self.network.sleep(seconds: 2 * 86_400)
        #expect(try self.peers(first) == [])
        #expect(self.network.machines[first].notices.contains(.pairingLapsed(device: "second")))
        try self.network.restart(first, with: self.network.copyStore(of: first), seed: 10)
        #expect(try self.peers(first) == [])
    }

    @Test func `whoever has come once is not forgotten`() throws {
        let first = try self.founder()
        let second = try self.network.join(first, name: "second", seed: 3)
        // Not even the introduction of the other may come over, only the greeting.
        self.network.settle(seconds: 1)
        self.network.cut(first, second)
        self.network.sleep(seconds: 30 * 86_400)
        #expect(try self.peers(first) == ["second"])
        #expect(self.network.machines[first].notices.allSatisfy { $0 != .pairingLapsed(device: "second") })
    }

    @Test func `a clock that shows years ahead for a moment forgets nobody`() throws {
        let first = try self.founder()
        try self.network.pairInVain(first, invite: self.invite(first), name: "second", seed: 3)
        self.network.machines[first].clockOffsetMilliseconds = 10 * 365 * 86_400_000
        self.network.sleep(seconds: 60)
        try self.network.restart(first, with: self.network.copyStore(of: first), seed: 9)
        self.network.sleep(seconds: 60)
        self.network.machines[first].clockOffsetMilliseconds = 0
        self.network.sleep(seconds: 2 * 86_400)
        #expect(try self.peers(first) == ["second"])
    }

    @Test func `a clock that is set back makes no invite last longer`() throws {
        let first = try self.founder()
        let invite = try self.invite(first)
        self.network.machines[first].clockOffsetMilliseconds = -86_400_000
        self.network.sleep(seconds: 9 * 60)
        let other = try self.invite(first)
        self.network.sleep(seconds: 2 * 60)
        try self.network.pairInVain(first, invite: invite, name: "late", seed: 3)
        #expect(try self.peers(first) == [])
        try self.network.pairInVain(first, invite: other, name: "in time", seed: 4)
        #expect(try self.peers(first) == ["in time"])
        // What was open when the process ended is open for ten minutes at most after it starts again.
        let third = try self.invite(first)
        self.network.machines[first].clockOffsetMilliseconds = -2 * 86_400_000
        try self.network.restart(first, with: self.network.copyStore(of: first), seed: 9)
        self.network.sleep(seconds: 11 * 60)
        try self.network.pairInVain(first, invite: third, name: "late", seed: 5)
        #expect(try self.peers(first) == ["in time"])
    }

    // MARK: - Who may invite

    /// Devices of which each was invited by the one before, as many as can be.
    private func longChain() throws -> [Int] {
        var machines = [try self.founder()]
        while machines.count < Limits.certificateCountMax {
            let number = machines.count + 1
            let machine = try self.network.join(
                machines[number - 2],
                name: "device \(number)",
                seed: UInt64(100 + number)
            )
            machines.append(machine)
            // With its first write a device introduces itself.
            for writer in machines.suffix(2) {
                try self.network.write(writer, .create(.init(id: .random, type: "note")))
            }
            self.network.settle(seconds: 5)
        }
        return machines
    }

    private func refusal(_ machine: Int) -> InviteRefusal? {
        do throws(InviteRefusal) {
            let moment = self.network.moment(of: machine)
            _ = try self.network.machines[machine].node.makeInvite(addresses: [], port: 1, at: moment)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the last device of the longest chain names the first, and whoever is nearest without it`() throws {
        let machines = try self.longChain()
        let last = machines[machines.count - 1]
        #expect(self.refusal(machines[machines.count - 2]) == nil)
        #expect(self.refusal(last) == .tooFarFromRoot(nearest: "first"))
        // That device has joined, and is as good as any other.
        try self.network.write(last, .create(.init(id: .random, type: "note")))
        self.network.settle()
        #expect(try self.peers(machines[0]).count == machines.count - 1)
        // A device that is gone cannot invite.
        self.network.cut(last, machines[0])
        let status = try self.network.machines[machines[0]].node.status(at: self.network.moment(of: machines[0]))
        #expect(try self.network.machines[last].node.forget(status.device))
        #expect(self.refusal(last) == .tooFarFromRoot(nearest: "device 2"))
    }

    @Test func `no device has more certificates than all accept`() throws {
        let inviter = try self.longChain()[Limits.certificateCountMax - 2]
        let last = try RawPeer.member(of: self.network, invitedBy: inviter, seed: 900)
        let beyond = try RawPeer.invented(by: last, seed: 1)
        let areTaken = [last, beyond].map { box in
            let identity = DeviceIdentity.decode(box.value.encoded())
            return identity != nil
        }
        #expect(areTaken == [true, false])
        var payload: [UInt8] = []
        beyond.value.introduction(nonce: Bytes16(high: 1, low: 2)).encode(to: &payload)
        #expect(throws: WireError.self) { try Introduction(decoding: payload[...]) }
    }

    @Test func `a device is said to have joined when it comes, and not when it is welcomed`() throws {
        let first = try self.founder()
        try self.network.pairInVain(first, invite: self.invite(first), name: "lost", seed: 3)
        let second = try self.network.join(first, name: "second", seed: 4)
        #expect(!self.network.machines[first].notices.contains(.paired(device: "second")))
        self.network.settle(seconds: 10)
        try self.network.restart(second, with: self.network.copyStore(of: second), seed: 9)
        self.network.settle(seconds: 10)
        let notices = self.network.machines[first].notices
        #expect(notices.count { $0 == .paired(device: "second") } == 1)
        #expect(!notices.contains(.paired(device: "lost")))
    }
}
