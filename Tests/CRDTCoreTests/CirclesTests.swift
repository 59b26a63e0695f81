import CRDTCore
import MergeModel
import Testing

/// What is said in one circle is about nothing in another, also where it names changes of it.
@Suite struct CirclesTests {
    private static let object = ObjectID(bytes: Bytes16(high: 1, low: 1))
    private static let device = TestDevice(number: 1)
    private static let other = TestDevice(number: 2, user: TestDevice.otherUser)

    private var store = MemoryStore.ofTestWorkspace
    private var history = GeneratedHistory()
    private var tips: [ReplicaID: NaiveChange] = [:]

    /// Writes a change, and hands it to the store.
    @discardableResult
    private mutating func write(
        _ edits: [Edit],
        by device: TestDevice,
        in charter: Charter,
        seeing context: [Point] = [],
        at milliseconds: UInt64? = nil
    ) throws -> NaiveChange {
        let nonce = Bytes16(high: 0, low: 1)
        let replica = device.replica(nonce: nonce, in: charter.circle)
        let last = self.tips[replica]
        self.history.devices[replica] = device
        let introduction = last == nil ? [Edit.introduce(device.introduction(nonce: nonce, in: charter))] : []
        let change = self.history.append(
            replica,
            after: last?.hash,
            stamp: Stamp(milliseconds: milliseconds ?? 1_000 + UInt64(self.history.changes.count)),
            context: context,
            introduction + edits
        )
        self.tips[replica] = change
        try self.receive(self.history.sealed([change]))
        return change
    }

    private mutating func receive(_ run: VerifiedRun) throws {
        try self.store.receive(
            [run],
            by: Merge(now: WallTime(milliseconds: 1_000_000), founder: TestDevice.user)
        )
    }

    private mutating func value(in charter: Charter) throws -> Value? {
        try self.store.read { transaction throws(StoreError) in
            guard let circle = transaction.circles.index(of: charter.circle),
                let object = transaction.existingObjectIndex(of: Self.object, in: circle)
            else { return nil }
            return try transaction.property("a", of: object)
        }
    }

    private static func set(_ number: Int64) -> Edit { .set(Self.object, name: "a", value: .int(number)) }

    @Test mutating func `an id is another object in each circle`() throws {
        try self.write([Self.set(1)], by: Self.device, in: .home)
        try self.write([Self.set(2)], by: Self.device, in: .elsewhere)
        #expect(try self.value(in: .home) == .int(1) && self.value(in: .elsewhere) == .int(2))
        try self.write([.delete(Self.object)], by: Self.device, in: .elsewhere)
        let visible = try self.store.read { transaction throws(StoreError) in
            transaction.visibleObjects().map { transaction.object($0).circle }
        }
        #expect(visible == [.home])
    }

    /// Not everybody who reads a circle has what it had seen of another one, so nobody takes that for seen.
    @Test mutating func `a change that has seen another circle waits for ever`() throws {
        let seen = try self.write([Self.set(1)], by: Self.device, in: .home)
        try self.write([Self.set(2)], by: Self.device, in: .elsewhere)
        try self.write([Self.set(3)], by: Self.device, in: .elsewhere, seeing: [seen.point])
        #expect(try self.value(in: .elsewhere) == .int(2))
        let waits = try self.store.write { transaction throws(StoreError) in
            var merge = Merge(now: WallTime(milliseconds: 1_000_000), founder: TestDevice.user)
            try merge.rebuild(in: &transaction)
            return try merge.waits(in: &transaction)
        }
        #expect(Array(waits.values) == [.missing(seen.point)])
        #expect(try self.value(in: .elsewhere) == .int(2))
    }

    /// A chain in one circle that names the grant of another one, and a removal that is said in another one.
    @Test mutating func `a right in one circle is none in another`() throws {
        try self.receive(Charter.home.run)
        let nonce = Bytes16(high: 0, low: 7)
        let replica = Self.other.replica(nonce: nonce, in: Charter.elsewhere.circle)
        var introduction = Self.other.introduction(nonce: nonce, in: .elsewhere)
        introduction.grants = [Charter.home.grant]
        self.history.devices[replica] = Self.other
        let borrowed = self.history.append(
            replica,
            stamp: Stamp(milliseconds: 1_001),
            [.introduce(introduction), Self.set(1)]
        )
        try self.receive(self.history.sealed([borrowed]))
        #expect(try self.value(in: .elsewhere) == nil)
        try self.write([Self.set(2)], by: Self.other, in: .home)
        #expect(try self.value(in: .home) == .int(2))
        try self.receive(Charter.elsewhere.run)
        try self.write(
            [.rights(.removes(.init(of: TestDevice.otherUser, from: [.writer], heads: [])))],
            by: Self.device,
            in: .elsewhere
        )
        #expect(try self.value(in: .home) == .int(2) && self.value(in: .elsewhere) == nil)
        try self.write(
            [.rights(.removes(.init(of: TestDevice.otherUser, from: [.writer], heads: [])))],
            by: Self.device,
            in: .home
        )
        #expect(try self.value(in: .home) == nil)
    }

    /// Nor is a chain that is stamped by a wrong clock put right from another circle.
    @Test mutating func `a restamp reaches no other circle`() throws {
        let early = try self.write([Self.set(1)], by: Self.device, in: .home)
        try self.write([Self.set(2)], by: TestDevice(number: 3), in: .home)
        let late = try self.write([Self.set(3)], by: Self.device, in: .home, at: 100_000)
        #expect(try self.value(in: .home) == .int(3) && early.sequence == 1)
        let restamp = Restamp(replica: late.replica, firstSequence: 2, lastSequence: 2, lastHash: late.hash)
        try self.write([.restamp(restamp)], by: Self.device, in: .elsewhere)
        #expect(try self.value(in: .home) == .int(3))
        try self.write([.restamp(restamp)], by: TestDevice(number: 4), in: .home)
        #expect(try self.value(in: .home) == .int(2))
    }

    /// A chain belongs to the circle that its id is made with, on every fork of it.
    @Test func `a chain cannot be moved to another circle`() throws {
        let nonce = Bytes16(high: 0, low: 1)
        let replica = Self.device.replica(nonce: nonce)
        var history = GeneratedHistory()
        history.devices[replica] = Self.device
        let change = history.append(
            replica,
            stamp: Stamp(milliseconds: 1),
            [.introduce(Self.device.introduction(nonce: nonce, in: .elsewhere))]
        )
        #expect(throws: RunRejection.wrongReplica) { try history.carried([change]) }
    }
}
