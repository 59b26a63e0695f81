import CRDTCore
import SyncProtocol
import Synchronization
import Testing

@testable import Engine

/// What a machine does with writes whose content a relay has withheld.
struct MissingContentTests {
    private let object = ObjectID(bytes: Bytes16(high: 7, low: 7))

    /// Two machines of one user, and a relay that the second one has invited.
    private struct World {
        let network = TestNetwork()
        let relay: RawPeer.IdentityBox
        private let first: DeviceID
        private(set) var peer: RawPeer?

        init() throws {
            var entropy = TestNetwork.entropy(1)
            guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
                throw TestFailure("no identity")
            }
            self.first = identity.device
            let first = try self.network.add(identity, seed: 2)
            let second = try self.network.join(first, name: "second", seed: 21)
            self.relay = try RawPeer.member(of: self.network, invitedBy: second, seed: 10)
            self.network.settle()
        }

        /// Hands all that the first machine has to the second one, without any content.
        mutating func relayAll() throws {
            let peer = try RawPeer(self.relay, to: 1, of: self.network, connection: 1)
            peer.send(peer.hello)
            peer.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
            for run in try self.network.redactedRuns(of: 0) { peer.send(.run(run)) }
            self.peer = peer
            #expect(try self.network.frontier(0) == self.network.frontier(1))
        }

        func meet() throws {
            self.network.healAll()
            self.network.settle(seconds: 60)
            #expect(try self.network.export(0) == self.network.export(1))
        }

        /// Takes back, on the second machine, what the first one wrote last.
        func reverse(isRedo: Bool) throws -> UndoReport? {
            let scope = UndoScope(device: self.first, label: "")
            let report = Mutex<UndoReport?>(nil)
            try self.network.write(1) { local throws(WriteRefusal) in
                let found = try local.reverse(isRedo: isRedo, scope: scope)?.reports.first
                report.withLock { $0 = found }
            }
            return report.withLock { $0 }
        }

        func missing() throws -> [String] {
            var store = self.network.copyStore(of: 1)
            return try store.read { transaction throws(StoreError) in
                var names: [String] = []
                for object in transaction.visibleObjects() {
                    names += try transaction.missingProperties(of: object)
                }
                return names
            }
        }
    }

    private func creation(_ properties: [ExactText: Value]) -> Transaction.Step {
        .create(.init(id: .given(self.object), type: "note", properties: properties))
    }

    @Test func `what is missing is taken back where the former value is here`() throws {
        var world = try World()
        try world.network.write(0, self.creation(["title": .string("first")]))
        world.network.settle()
        world.network.cut(0, 1)
        try world.network.write(0, .set(self.object, name: "title", value: .string("second")))
        try world.relayAll()
        #expect(try world.missing() == ["title"])
        let undo = try #require(try world.reverse(isRedo: false))
        #expect(undo.hasEffect && undo.kept.isEmpty)
        #expect(try world.network.export(1).contains("first"))
        #expect(try world.missing().isEmpty)
        // What came back then is nowhere here.
        let redo = try #require(try world.reverse(isRedo: true))
        #expect(!redo.hasEffect && redo.kept.map(\.part) == [.property("title")])
        try world.meet()
        #expect(try world.network.export(0).contains("first"))
    }

    @Test func `a property that was none before is none again, also if what it became is missing`() throws {
        var world = try World()
        try world.network.write(0, self.creation([:]))
        world.network.settle()
        world.network.cut(0, 1)
        try world.network.write(0, .set(self.object, name: "title", value: .string("second")))
        try world.relayAll()
        let undo = try #require(try world.reverse(isRedo: false))
        #expect(undo.hasEffect && undo.kept.isEmpty)
        try world.meet()
        #expect(try !world.network.export(0).contains("second"))
    }

    @Test func `an undo names what it cannot take back, since the former value was dropped as well`() throws {
        var world = try World()
        world.network.cut(0, 1)
        try world.network.write(0, self.creation(["title": .string("first")]))
        try world.network.write(0, .set(self.object, name: "title", value: .string("second")))
        try world.relayAll()
        let undo = try #require(try world.reverse(isRedo: false))
        #expect(!undo.hasEffect)
        #expect(undo.kept.map(\.part) == [.property("title")] && undo.kept.map(\.reason) == [.unknown])
        try world.meet()
        #expect(try world.network.export(0).contains("second"))
    }

    @Test func `an object that is made again gets nothing back of what is missing of its earlier life`() throws {
        var world = try World()
        try world.network.write(0, self.creation(["title": .string("first"), "kept": .string("first")]))
        world.network.settle()
        world.network.cut(0, 1)
        try world.network.write(0, .set(self.object, name: "title", value: .string("second")))
        try world.network.write(0, .set(self.object, name: "kept", value: .string("second, kept")))
        try world.network.write(0, .delete(self.object))
        try world.relayAll()
        let creation = Transaction.Creation(
            id: .given(self.object),
            type: "note",
            properties: ["text": .string("new")],
            keptNames: ["kept"]
        )
        try world.network.write(1, .create(creation))
        try world.meet()
        let export = try world.network.export(0)
        #expect(export.contains("new") && export.contains("second, kept") && !export.contains("title"))
    }

    @Test func `a restore takes away what came since then, also if it is missing`() throws {
        var world = try World()
        try world.network.write(0, self.creation(["title": .string("first")]))
        world.network.settle()
        let moment = HistoryView(at: world.network.moment(of: 1).wall)
        world.network.sleep(seconds: 5)
        world.network.cut(0, 1)
        try world.network.write(0, .set(self.object, name: "late", value: .string("late")))
        try world.network.write(0, .set(self.object, name: "later", value: .string("later")))
        try world.relayAll()
        let object = self.object
        try world.network.write(1) { local throws(WriteRefusal) in
            _ = try local.restore("later", of: object, to: moment)
        }
        #expect(try world.missing() == ["late"])
        try world.network.write(1) { local throws(WriteRefusal) in _ = try local.restore(object, to: moment) }
        try world.meet()
        #expect(try !world.network.export(0).contains("late"))
    }

    @Test func `an export names what is missing`() throws {
        var world = try World()
        try world.network.write(0, self.creation(["title": .string("first"), "text": .string("kept")]))
        world.network.settle()
        world.network.cut(0, 1)
        try world.network.write(0, .set(self.object, name: "title", value: .string("second")))
        try world.relayAll()
        #expect(try world.network.export(1).contains(#""missing":["title"]"#))
        try world.meet()
        #expect(try !world.network.export(1).contains("missing"))
    }

    // MARK: - Asking

    private func wanted(_ peer: RawPeer) -> [WantedContent] {
        peer.received.flatMap { message -> [WantedContent] in
            if case .wanted(let contents) = message { contents } else { [] }
        }
    }

    private func pass(_ peer: RawPeer, seconds: UInt64) {
        for _ in 0..<seconds {
            peer.network.time += 1_000
            peer.deliver(.timer)
        }
    }

    @Test func `a peer is asked for a change once in a session, and is not in sync before it has answered`() throws {
        var world = try World()
        world.network.cut(0, 1)
        try world.network.write(0, self.creation(["title": .string("first"), "text": .string("text")]))
        try world.relayAll()
        let peer = try #require(world.peer)
        func isInSync() throws -> Bool {
            let status = try world.network.machines[1].node.status(at: world.network.moment(of: 1))
            let device = world.relay.value.device
            return try #require(status.peers.first { $0.device == device }).isInSync
        }
        func storeAll() throws { peer.send(.stored(try world.network.frontier(1).entries)) }
        try storeAll()
        #expect(self.wanted(peer).isEmpty)
        peer.send(.caughtUp)
        self.pass(peer, seconds: 2)
        let first = self.wanted(peer)
        #expect(first.count == 1 && first[0].places.all == [1...2])
        #expect(try !isInSync())
        peer.send(.given)
        self.pass(peer, seconds: 2)
        #expect(try isInSync())
        // More is missing: it alone is asked for.
        try world.network.write(0, .set(self.object, name: "more", value: .string("more")))
        for run in try world.network.redactedRuns(of: 0) { peer.send(.run(run)) }
        try storeAll()
        self.pass(peer, seconds: 2)
        let second = self.wanted(peer).dropFirst(first.count)
        #expect(second.count == 1 && second.first?.change != first[0].change)
        peer.send(.given)
        // Another session asks for all.
        let other = try RawPeer(world.relay, to: 1, of: world.network, connection: 2)
        other.send(other.hello(of: 5))
        other.send(.ranges([FrontierRange(end: nil, claim: .entries([]))]))
        other.send(.stored(try world.network.frontier(1).entries))
        other.send(.caughtUp)
        self.pass(other, seconds: 2)
        #expect(self.wanted(other).count == 2)
    }

    @Test func `a peer that has asked is not in sync before it was given all`() throws {
        let world = try World()
        try world.network.write(1, self.creation(["title": .string("first")]))
        let peer = try RawPeer(world.relay, to: 1, of: world.network, connection: 1)
        peer.send(peer.hello)
        peer.send(.ranges([FrontierRange(end: nil, claim: .entries(try world.network.frontier(1).entries))]))
        peer.send(.caughtUp)
        let change = try #require(try world.network.frontier(1).entries.first)
        peer.send(.wanted([WantedContent(change: change, places: OperationRanges([0]))]))
        #expect(peer.received.contains(.given))
        #expect(!peer.isClosed)
    }
}
