import CRDTCore
import MergeModel
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// What is left with others for who is out of reach (SH18).
struct ParcelTests {
    private let network = TestNetwork()
    private static let secret = "a-secret-of-24-bytes-or-s"

    /// The owner's machine, and those of two people who are in the workspace.
    private func people() throws -> (first: Int, ann: Int, bob: Int) {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try self.network.add(identity, seed: 2)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 3)
        let bob = try self.network.join(first, name: "bob's laptop", person: "bob", seed: 4)
        self.network.settle(seconds: 60)
        let address = NetworkAddress(host: self.network.machines[bob].host, port: TestNetwork.port)
        self.network.handle(ann, .addAddress(address))
        self.network.settle(seconds: 60)
        return (first, ann, bob)
    }

    private func share(_ object: ObjectID, _ machine: Int, with other: Int, as role: Role = .writer) throws {
        let user = self.network.users[other].user
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    private func carried(_ machine: Int) throws -> (count: Int, byteCount: Int) {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in transaction.parcelCounts() }
    }

    /// Whether anything that a machine has stored holds a text: its log, or what it carries.
    private func holds(_ text: String, _ machine: Int) throws -> Bool {
        let devices = self.network.machines.map { $0.node.identity.device }
        return try self.network.machines[machine].node.read { transaction throws(StoreError) in
            var parts = transaction.segmentIndices.map { segment in
                transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)?.encoded() ?? []
            }
            for device in devices { parts.append(transaction.nextParcel(for: device) ?? []) }
            return parts.contains { $0.firstRange(of: Array(text.utf8)) != nil }
        }
    }

    private func violations(_ machine: Int) -> [Notice] {
        self.network.machines[machine].notices.filter { if case .protocolViolation = $0 { true } else { false } }
    }

    @Test func `two who never meet have the same by way of one who reads nothing of it`() throws {
        let (first, ann, bob) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 60)
        // From here on the owner and ann meet bob alone, one after the other.
        self.network.cut(first, ann)
        self.network.cut(bob, ann)
        let task = try self.network.create(first, Self.secret, below: list)
        self.network.settle(seconds: 60)
        #expect(try self.carried(bob).count == 1)
        #expect(try self.holds(Self.secret, first))
        #expect(try !self.holds(Self.secret, bob))
        #expect(try self.network.titles(bob).isEmpty)
        self.network.healAll()
        self.network.cut(first, ann)
        self.network.cut(first, bob)
        self.network.settle(seconds: 60)
        #expect(try self.network.titles(ann) == [list: "list", task: Self.secret])
        #expect(try self.carried(bob).count == 0)

        // The way back. What ann has by now is left with nobody again.
        try self.network.write(ann, .set(task, name: "title", value: .string("by ann")))
        self.network.settle(seconds: 60)
        #expect(try self.carried(bob).count == 1)
        self.network.healAll()
        self.network.cut(first, ann)
        self.network.cut(bob, ann)
        self.network.settle(seconds: 120)
        #expect(try self.network.titles(first) == [list: "list", task: "by ann"])
        #expect(try self.carried(bob).count == 0)
        self.network.settle(seconds: 600)
        #expect(try self.carried(bob).count == 0)
        for machine in [first, ann, bob] { #expect(self.violations(machine) == []) }
    }

    @Test func `nothing is left for who is removed, or is in reach, or reads it itself`() throws {
        let (first, ann, bob) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 60)
        _ = try self.network.create(first, "in reach", below: list)
        self.network.settle(seconds: 60)
        #expect(try self.carried(bob).count == 0)
        self.network.cut(first, ann)
        self.network.cut(bob, ann)
        let user = self.network.users[ann].user
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        _ = try self.network.create(first, Self.secret, below: list)
        self.network.settle(seconds: 60)
        #expect(try self.carried(bob).count == 0)
        try self.share(list, first, with: bob)
        self.network.settle(seconds: 60)
        #expect(try self.carried(bob).count == 0)
    }

    @Test func `more than fits into one parcel goes into several`() throws {
        let (first, ann, bob) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 60)
        self.network.cut(first, ann)
        self.network.cut(bob, ann)
        var random = SplitMix64(seed: 5)
        var expected: [ObjectID: String] = [list: "list"]
        for _ in 0..<24 {
            let title = String(decoding: (0..<120_000).map { _ in UInt8(32 + random.below(90)) }, as: UTF8.self)
            expected[try self.network.create(first, title, below: list)] = title
        }
        self.network.settle(seconds: 120)
        let (count, byteCount) = try self.carried(bob)
        #expect(count > 1)
        #expect(byteCount < 5 << 20)
        self.network.healAll()
        self.network.cut(first, ann)
        self.network.cut(first, bob)
        self.network.settle(seconds: 60)
        #expect(try self.network.titles(ann) == expected)
    }
}
