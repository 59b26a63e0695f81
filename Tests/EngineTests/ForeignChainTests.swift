import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Engine

/// Chains that a guest sends about circles that others do not read: they part nobody from anybody, show nothing to who
/// was given nothing, and tell nobody what he does not read.
struct ForeignChainTests {
    private let network = TestNetwork()
    private let spam = ObjectID(bytes: Bytes16(high: 7, low: 7))

    /// The owner, another machine of his, and two guests who read a list of his, of whom the first says what he likes.
    private func world() throws -> (owner: Int, phone: Int, guest: Int, other: Int, list: ObjectID) {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let owner = try self.network.add(identity, seed: 2)
        let list = try self.network.create(owner, "list")
        let guest = try self.network.join(owner, name: "guest", person: "guest", seed: 3)
        let other = try self.network.join(owner, name: "other", person: "other", seed: 4)
        let phone = try self.network.join(owner, name: "phone", seed: 5)
        self.network.settle(seconds: 60)
        for machine in [guest, other] {
            let user = self.network.users[machine].user
            try self.network.write(owner) { local throws(WriteRefusal) in
                _ = try local.share(list, with: user, as: .writer)
            }
            self.network.settle(seconds: 60)
        }
        return (owner, phone, guest, other, list)
    }

    private func guest(_ guest: Int, to owner: Int, _ number: UInt64) throws -> RawPeer {
        for machine in self.network.machines.indices where machine != guest { self.network.cut(machine, guest) }
        self.network.settle(seconds: 60)
        let peer = try RawPeer(
            RawPeer.machine(guest, of: self.network),
            to: owner,
            of: self.network,
            connection: number
        )
        peer.send(peer.hello)
        return peer
    }

    /// A statement of the first change of a chain that edits something.
    private func statement(of run: VerifiedRun) throws -> StatementID {
        let hash = try #require(run.hashes.last)
        let change = NamedChange(replica: run.run.replica, sequence: run.run.lastSequence, hash: hash)
        return StatementID(change: change, index: 0)
    }

    @Test func `a chain that names a grant of another circle is taken in by nobody`() throws {
        let (owner, phone, guest, other, list) = try self.world()
        let user = self.network.users[guest].user
        let granted = try self.network.machines[guest].node.read {
            transaction throws(StoreError) -> (circle: Circle, grant: StatementID?) in
            let circle = try transaction.circle(of: list)
            guard let place = transaction.rights.rights(in: circle)?.formerGrants(to: user).first else {
                return (transaction.circles[circle], nil)
            }
            return (transaction.circles[circle], try transaction.statementID(at: place))
        }
        let grant = try #require(granted.grant)
        let peer = try self.guest(guest, to: owner, 1)
        let own = Circle.shared(owner: user, nonce: Bytes16(high: 5, low: 5))
        let aside = peer.chain([[.rights(.grants(.init(to: user, .writer, name: "me")))]], nonce: 1, in: own)
        peer.send(.run(aside.run))
        #expect(!peer.isClosed)
        let poison = peer.chain(
            [[.set(list, name: "title", value: .string("poison"))]],
            nonce: 2,
            in: granted.circle,
            under: [grant, try self.statement(of: aside)]
        )
        peer.send(.run(poison.run))
        #expect(peer.isClosed)
        // What the owner writes afterwards reaches everybody.
        try self.network.write(owner, .set(list, name: "title", value: .string("after")))
        self.network.settle(seconds: 60)
        for machine in [owner, phone, other] { #expect(try self.network.titles(machine)[list] == "after") }
    }

    /// Two sides of two forks, on two machines: one side of each names what only the other machine has.
    @Test func `a chain that a peer cannot take in holds up nothing else`() throws {
        let (owner, _, guest, other, list) = try self.world()
        let user = self.network.users[guest].user
        let roster = try self.network.machines[guest].node.read {
            transaction throws(StoreError) -> StatementID? in
            guard let roster = transaction.circles.index(of: .roster),
                let place = transaction.rights.rights(in: roster)?.formerGrants(to: user).first
            else { return nil }
            return try transaction.statementID(at: place)
        }
        let granted = try #require(roster)
        self.network.cut(owner, other)
        let made = UserID(bytes: Bytes32(9, 9, 9, 9))
        for (number, machine) in [owner, other].enumerated() {
            let peer = try self.guest(guest, to: machine, UInt64(number) + 1)
            self.network.cut(owner, other)
            func edits(_ count: Int) -> [[Edit]] {
                // The sides differ by the machine that they are for.
                let mention = Edit.rights(.grants(.init(to: user, .reader, name: "\(number)")))
                let invented = Edit.rights(.grants(.init(to: made, .reader, name: "\(number)")))
                return Array(repeating: [mention, invented], count: count)
            }
            let (first, second): (UInt64, UInt64) = number == 0 ? (11, 12) : (12, 11)
            let short = peer.chain(edits(1), nonce: first, in: .roster, under: [granted])
            peer.send(.run(short.run))
            let long = peer.chain(
                edits(5),
                nonce: second,
                in: .roster,
                under: [granted, try self.statement(of: short)].sorted { $0.change.hash < $1.change.hash }
            )
            peer.send(.run(long.run))
            #expect(!peer.isClosed)
        }
        self.network.healAll()
        try self.network.write(owner, .set(list, name: "title", value: .string("after")))
        self.network.settle(seconds: 60)
        #expect(try self.network.titles(other)[list] == "after")
        try self.network.write(other, .set(list, name: "title", value: .string("back")))
        self.network.settle(seconds: 60)
        #expect(try self.network.titles(owner)[list] == "back")
        // Nothing was sent that the other one could not take in, which would have ended the session.
        #expect([owner, other].allSatisfy { self.network.machines[$0].node.counters.disputedRunCount == 0 })
    }

    @Test func `what nobody has given shows nowhere, and is nothing that one could leave`() throws {
        let (owner, _, guest, _, _) = try self.world()
        let peer = try self.guest(guest, to: owner, 1)
        let own = Circle.shared(owner: self.network.users[guest].user, nonce: Bytes16(high: 5, low: 5))
        let edits: [Edit] = [
            .create(self.spam, type: "note", kind: ""), .set(self.spam, name: "title", value: .string("spam")),
        ]
        let chain = peer.chain([edits], nonce: 1, in: own)
        peer.send(.run(chain.run))
        #expect(!peer.isClosed)
        #expect(try self.network.titles(owner)[self.spam] == nil)
        let (network, spam) = (self.network, self.spam)
        #expect(throws: WriteRefusal.self) {
            try network.write(owner) { local throws(WriteRefusal) in try local.leave(spam) }
        }
        // Once it is given it shows.
        let given = peer.chain(
            [edits, [.rights(.grants(.init(to: self.network.users[owner].user, .reader, name: "owner")))]],
            nonce: 2,
            in: own
        )
        peer.send(.run(given.run))
        #expect(try self.network.titles(owner)[self.spam] == "spam")
    }

    @Test func `whoever was removed does not learn how long a chain is now`() throws {
        let (owner, _, guest, _, list) = try self.world()
        let user = self.network.users[guest].user
        try self.network.write(owner) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        self.network.settle(seconds: 60)
        let held = try self.network.machines[guest].node.read {
            transaction throws(StoreError) -> (replica: ReplicaID, sequence: UInt64)? in
            let circle = try transaction.circle(of: list)
            let segment = transaction.segmentIndices.first { transaction.progress(of: $0).circle == circle }
            return segment.map { (transaction.replicaID($0), transaction.progress(of: $0).storedSequence) }
        }
        let (replica, last) = try #require(held)
        for (number, sequence) in [UInt64(2), last, last + 50].enumerated() {
            let peer = try self.guest(guest, to: owner, UInt64(number) + 1)
            var run = peer.chain([[]], nonce: 1, from: sequence, previous: .zero).run
            run.replica = replica
            let before = self.network.machines[owner].notices.count
            peer.send(.run(run))
            #expect(peer.isClosed)
            let news = self.network.machines[owner].notices[before...]
            #expect(!news.contains { if case .protocolViolation = $0 { true } else { false } })
        }
    }
}

extension StoreTransaction {
    /// The circle of the last object with an id.
    fileprivate mutating func circle(of id: ObjectID) throws(StoreError) -> CircleIndex {
        guard let object = try self.objects(of: id).last else { return .home }
        return try self.object(object).circle
    }
}
