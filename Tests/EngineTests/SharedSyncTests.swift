import CRDTCore
import MergeModel
import PeerCrypto
import SyncProtocol
import Synchronization
import Testing

@testable import Engine

/// Several people in one workspace: each is sent what he may read, and nothing tells him of the rest.
struct SharedSyncTests {
    private let network = TestNetwork()
    private static let secret = "a-secret-of-24-bytes-or-s"

    private func first() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    private func share(_ object: ObjectID, _ machine: Int, with user: UserID, as role: Role) throws {
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    private func titles(_ machine: Int) throws -> [ObjectID: String] { try self.network.titles(machine) }

    /// The circles of which a machine has anything.
    private func circles(_ machine: Int) throws -> Set<Circle> {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            Set(transaction.segmentIndices.map { transaction.circles[transaction.progress(of: $0).circle] })
        }
    }

    /// All bytes of what a machine has stored, as it would send them.
    private func log(_ machine: Int) throws -> [UInt8] {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            transaction.segmentIndices.flatMap { segment in
                transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)?.encoded() ?? []
            }
        }
    }

    private func holds(_ text: String, in bytes: [UInt8]) -> Bool { self.holds(Array(text.utf8), in: bytes) }

    private func holds(_ part: [UInt8], in bytes: [UInt8]) -> Bool { bytes.firstRange(of: part) != nil }

    @Test func `somebody is sent what is shared with him, and what he writes comes back`() throws {
        let first = try self.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let folder = try self.network.create(first, Self.secret)
        let list = try self.network.create(first, "list", below: folder)
        let task = try self.network.create(first, "task", below: list)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        #expect(try self.titles(ann).isEmpty)
        #expect(try self.circles(ann) == [.roster])

        try self.share(list, first, with: self.network.users[ann].user, as: .writer)
        self.network.settle(seconds: 30)
        #expect(try self.titles(ann) == [list: "list", task: "task"])
        try self.network.write(ann, .set(task, name: "title", value: .string("done")))
        let step = try self.network.create(ann, "step", below: task)
        let own = try self.network.create(ann, "ann's own")
        self.network.settle(seconds: 30)
        let expected = [folder: Self.secret, list: "list", task: "done", step: "step"]
        for machine in [first, phone] { #expect(try self.titles(machine) == expected) }
        #expect(try self.titles(ann)[own] == "ann's own")

        // Nothing of the rest has come to her, and nothing of hers to others.
        #expect(try !self.circles(ann).contains(.home))
        #expect(try self.holds(Self.secret, in: self.log(first)))
        #expect(try !self.holds(Self.secret, in: self.log(ann)))
        #expect(try self.holds("ann's own", in: self.log(ann)))
        for machine in [first, phone] { #expect(try !self.holds("ann's own", in: self.log(machine))) }
        for machine in [first, phone, ann] {
            let violations = self.network.machines[machine].notices.filter {
                if case .protocolViolation = $0 { true } else { false }
            }
            #expect(violations == [])
        }
    }

    @Test func `who may write one property writes no other, whatever he could before`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        let user = self.network.users[ann].user
        func share(only names: [String]?) throws {
            let isHalfDone = Mutex(true)
            while isHalfDone.withLock({ $0 }) {
                try self.network.write(first) { local throws(WriteRefusal) in
                    let report = try local.share(list, with: user, as: .writer, names: names)
                    isHalfDone.withLock { $0 = report.isHalfDone }
                }
            }
            self.network.settle(seconds: 30)
        }
        for (round, names) in [["done"], nil, ["done", "other"], ["done"]].enumerated() {
            try share(only: names)
            try self.network.write(ann, .set(list, name: "done", value: .int(Int64(round))))
            if names == nil {
                try self.network.write(ann, .set(list, name: "title", value: .string("ann's")))
            } else {
                #expect(throws: WriteRefusal.notPermitted(.write("title"), list)) {
                    try self.network.write(ann, .set(list, name: "title", value: .string("refused")))
                }
                #expect(throws: WriteRefusal.notPermitted(.role(.writer), list)) {
                    try self.network.write(ann, .delete(list))
                }
            }
            self.network.settle(seconds: 30)
            let done = try self.network.machines[first].node.read { transaction throws(StoreError) -> Value? in
                guard let object = try transaction.existingObjectIndex(of: list),
                    let name = transaction.existingNameIndex(of: "done")
                else { return nil }
                return try transaction.value(of: name, on: object)
            }
            #expect(done == .int(Int64(round)))
            #expect(try self.titles(first) == [list: round == 0 ? "list" : "ann's"])
        }
    }

    @Test func `what is taken from somebody is not sent any more, and what he writes apart does not count`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let task = try self.network.create(first, "task", below: list)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        let user = self.network.users[ann].user
        try self.share(list, first, with: user, as: .writer)
        self.network.settle(seconds: 30)
        let kept = try self.network.create(ann, "kept", below: list)
        self.network.settle(seconds: 30)
        self.network.cut(first, ann)
        try self.network.write(ann, .set(task, name: "title", value: .string("in vain")))
        let lost = try self.network.create(ann, "lost", below: list)
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        try self.network.write(first, .set(task, name: "title", value: .string(Self.secret)))
        self.network.healAll()
        self.network.settle(seconds: 60)
        #expect(try self.titles(first) == [list: "list", task: Self.secret, kept: "kept"])
        #expect(try self.titles(first)[lost] == nil)
        #expect(try !self.holds(Self.secret, in: self.log(ann)))

        // What is given again lets her write again, and gives nothing back that did not count.
        try self.share(list, first, with: user, as: .writer)
        self.network.settle(seconds: 30)
        #expect(try self.titles(ann)[task] == Self.secret)
        let again = try self.network.create(ann, "again", below: list)
        self.network.settle(seconds: 30)
        let expected = [list: "list", task: Self.secret, kept: "kept", again: "again"]
        #expect(try self.titles(first) == expected)
        #expect(try self.titles(ann) == expected)
    }

    @Test func `each person is told of his own shares alone, and devices that never met find each other`() throws {
        self.network.discovers = true
        self.network.carriesBeacons = true
        let first = try self.first()
        let lists = try ["for ann", "for bob", "for both"].map { try self.network.create(first, $0) }
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        let bob = try self.network.join(first, name: "bob's laptop", person: "bob", seed: 5)
        let (annsUser, bobsUser) = (self.network.users[ann].user, self.network.users[bob].user)
        try self.share(lists[0], first, with: annsUser, as: .writer)
        try self.share(lists[1], first, with: bobsUser, as: .writer)
        for user in [annsUser, bobsUser] { try self.share(lists[2], first, with: user, as: .writer) }
        self.network.settle(seconds: 60)
        #expect(try Set(self.titles(ann).values) == ["for ann", "for both"])
        #expect(try Set(self.titles(bob).values) == ["for bob", "for both"])
        // Without the founder's machine they go on with what both have.
        self.network.machines[first].isUp = false
        let task = try self.network.create(ann, "from ann", below: lists[2])
        let own = try self.network.create(ann, "to the founder", below: lists[0])
        self.network.settle(seconds: 120)
        #expect(try self.titles(bob)[task] == "from ann")
        #expect(try self.titles(bob)[own] == nil)
        #expect(try !self.holds("for ann", in: self.log(bob)))
        // Another device of hers has all that she has.
        let phone = try self.network.join(ann, name: "ann's phone", seed: 6)
        self.network.settle(seconds: 120)
        #expect(try self.titles(phone) == self.titles(ann))
        try self.network.write(phone, .set(task, name: "title", value: .string("from the phone")))
        self.network.settle(seconds: 120)
        #expect(try self.titles(bob)[task] == "from the phone")
    }

    @Test func `who is removed from the workspace has no session any more, nor has a stranger`() throws {
        self.network.discovers = true
        self.network.carriesBeacons = true
        let first = try self.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let list = try self.network.create(first, "list")
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        let user = self.network.users[ann].user
        try self.share(list, first, with: user, as: .manager)
        self.network.settle(seconds: 60)
        #expect(try self.titles(ann) == [list: "list"])
        #expect(self.network.connectionCounts == [2, 2, 2])
        try self.network.write(first) { local throws(WriteRefusal) in try local.dismiss(user) }
        self.network.settle(seconds: 1)
        #expect(self.network.connectionCounts == [1, 1, 0])
        try self.network.write(phone, .set(list, name: "title", value: .string(Self.secret)))
        self.network.settle(seconds: 600)
        #expect(try self.titles(first) == [list: Self.secret])
        #expect(try !self.holds(Self.secret, in: self.log(ann)))
        // With the membership key, which she still has, she makes up somebody else.
        let paired = self.network.machines[phone].node.admissions.paired
        var entropy = TestNetwork.entropy(77)
        let keys = self.network.machines[ann].node.identity.membershipKeyBytes
        let entering = DeviceIdentity.entering(
            name: "made up",
            founder: self.network.users[first].founder,
            workspaceNonce: self.network.users[first].workspaceNonce,
            membershipKey: SecretBytes(keys.array),
            entropy: &entropy
        )
        guard let made = entering else { throw TestFailure("no identity") }
        let stranger = try self.network.add(made, seed: 78)
        let address = NetworkAddress(host: self.network.machines[phone].host, port: TestNetwork.port)
        self.network.handle(stranger, .addAddress(address))
        self.network.settle(seconds: 60)
        #expect(self.network.connectionCounts[stranger] == 0)
        #expect(self.network.machines[phone].node.admissions.paired == paired)
        #expect(try self.circles(stranger).isEmpty)
    }

    @Test func `a copy that somebody makes of what another has takes nobody's place`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let own = try self.network.create(first, "own", below: list)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        try self.share(list, first, with: self.network.users[ann].user, as: .reader)
        self.network.settle(seconds: 30)
        // So she knows of it; then it is nobody's but his.
        #expect(try self.titles(ann)[own] == "own")
        try self.network.write(first, .move(own, parent: nil, before: nil))
        self.network.settle(seconds: 30)
        let before = try self.titles(first)
        var lists: [ObjectID] = []
        for title in ["q1", "q2"] {
            lists.append(try self.network.create(ann, title))
            try self.share(lists[lists.count - 1], ann, with: self.network.users[first].user, as: .manager)
        }
        self.network.settle(seconds: 30)
        let copy = Transaction.Creation(
            id: .given(own),
            type: "note",
            parent: lists[0],
            properties: [ExactText("title"): .string("hijacked")]
        )
        try self.network.write(ann, .create(copy))
        let planted = try self.network.create(ann, "planted", below: own)
        try self.network.write(ann, .move(own, parent: lists[1], before: nil))
        self.network.settle(seconds: 30)
        var seen = try self.titles(first)
        #expect(seen[own] == "own")
        for id in lists + [planted] { seen[id] = nil }
        #expect(seen == before)
        #expect(try self.parent(of: planted, first) == nil)
        // What he writes there is his.
        try self.network.write(first, .set(own, name: "title", value: .string(Self.secret)))
        _ = try self.network.create(first, Self.secret, below: own)
        self.network.settle(seconds: 30)
        #expect(try !self.holds(Self.secret, in: self.log(ann)))
    }

    private func parent(of object: ObjectID, _ machine: Int) throws -> ObjectID? {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            guard let index = try state.existingObjectIndex(of: object), let parent = try state.object(index).parent
            else { return nil }
            return try state.object(parent).id
        }
    }

    @Test func `what somebody says who does not read home is said where he writes`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        try self.share(list, first, with: self.network.users[ann].user, as: .writer)
        self.network.settle(seconds: 30)
        try self.network.write(ann, .set(list, name: "title", value: .string("hers")))
        let note = try self.network.create(ann, "note")
        for _ in 0..<2 {
            try self.network.write(ann) { local throws(WriteRefusal) in _ = try local.reverse(isRedo: false) }
        }
        #expect(try self.titles(ann) == [list: "list"])
        #expect(throws: WriteRefusal.notPermitted(.role(.writer), nil)) {
            try self.network.write(ann) { local throws(WriteRefusal) in
                _ = try local.openBranch(named: "b", leaving: nil, at: nil)
            }
        }
        #expect(throws: WriteRefusal.notPermitted(.role(.manager), nil)) {
            try self.network.write(ann) { local throws(WriteRefusal) in
                _ = try local.erasePast(of: "title", on: list)
            }
        }
        self.network.settle(seconds: 30)
        #expect(try self.titles(first) == [list: "list"])
        #expect(try self.titles(first)[note] == nil)
        #expect(try !self.circles(ann).contains(.home))
        // What the owner erases of it is erased.
        try self.network.write(first, .set(list, name: "title", value: .string(Self.secret)))
        try self.network.write(first, .set(list, name: "title", value: .string("clean")))
        self.network.settle(seconds: 30)
        try self.network.write(first) { local throws(WriteRefusal) in _ = try local.erasePast(of: "title", on: list) }
        self.network.settle(seconds: 60)
        for machine in [first, ann] {
            #expect(try self.titles(machine)[list] == "clean")
            #expect(try !self.holds(Self.secret, in: self.log(machine)))
        }
        let violations = self.network.machines[first].notices.filter {
            if case .protocolViolation = $0 { true } else { false }
        }
        #expect(violations == [])
    }

    @Test func `who is removed is told by the owner alone, and writes in vain no more`() throws {
        let first = try self.first()
        let (list, own) = (try self.network.create(first, "list"), try self.network.create(first, "own"))
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        let user = self.network.users[ann].user
        for object in [list, own] { try self.share(object, first, with: user, as: .writer) }
        self.network.settle(seconds: 30)
        try self.network.write(ann, .set(list, name: "title", value: .string("hers")))
        self.network.settle(seconds: 5)
        // The word of somebody else ends nothing.
        let circles = try self.circles(ann).filter { $0.isOwned(by: self.network.users[first].user) }
        let ended = circles.map { EndedCircle($0) }
        self.network.machines[ann].node.noteEnded(ended, by: user, holding: SeenSegments())
        try self.network.write(ann, .set(list, name: "title", value: .string("hers again")))
        self.network.settle(seconds: 5)
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        self.network.settle(seconds: 5)
        #expect(try self.titles(ann) == [list: "hers again", own: "own"])
        #expect(throws: WriteRefusal.notPermitted(.write("title"), list)) {
            try self.network.write(ann, .set(list, name: "title", value: .string("in vain")))
        }
        try self.network.write(ann, .set(own, name: "title", value: .string("still")))
        // It is known after a restart, and no more once it is given again.
        try self.network.restart(ann, with: self.network.copyStore(of: ann), seed: 77)
        #expect(throws: WriteRefusal.notPermitted(.write("title"), list)) {
            try self.network.write(ann, .set(list, name: "title", value: .string("in vain")))
        }
        try self.share(list, first, with: user, as: .writer)
        self.network.settle(seconds: 60)
        try self.network.write(ann, .set(list, name: "title", value: .string("back")))
        self.network.settle(seconds: 30)
        #expect(try self.titles(first) == [list: "back", own: "still"])
    }

    @Test func `what counts nowhere is adopted by who may write it`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let task = try self.network.create(first, "task", below: list)
        let gone = try self.network.create(first, "gone", below: list)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        try self.share(list, first, with: self.network.users[ann].user, as: .writer)
        self.network.settle(seconds: 30)
        self.network.cut(first, ann)
        try self.network.write(ann, .set(task, name: "title", value: .string("hers")))
        let title = [ExactText("title"): Value.string("step")]
        let step = try self.network.write(
            ann,
            .create(.init(type: "note", parent: task, properties: title)),
            .set(gone, name: "title", value: .string("not gone"))
        ).created[0]
        let user = self.network.users[ann].user
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        try self.network.write(first, .delete(gone))
        self.network.healAll()
        self.network.settle(seconds: 60)
        #expect(try self.titles(first) == [list: "list", task: "task"])
        let rejected = try self.network.machines[first].node.read { transaction throws(StoreError) in
            var rejected: [SegmentPoint] = []
            for segment in transaction.segmentIndices {
                for sequence in 1...max(1, transaction.progress(of: segment).appliedSequence) {
                    let point = SegmentPoint(segment: segment, sequence: sequence)
                    if try !transaction.rejectedEdits(of: point).isEmpty { rejected.append(point) }
                }
            }
            return rejected
        }
        #expect(rejected.count == 2)
        for point in rejected {
            try self.network.write(first) { local throws(WriteRefusal) in _ = try local.adopt(point) }
        }
        #expect(try self.titles(first) == [list: "list", task: "hers", step: "step"])
        #expect(try self.parent(of: step, first) == task)
    }

    @Test func `who does not read home places what is shared with him among his own things`() throws {
        let first = try self.first()
        let (above, list) = (try self.network.create(first, "above"), try self.network.create(first, "list"))
        try self.network.write(first, .move(list, parent: above, before: nil))
        let task = try self.network.create(first, "task", below: list)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        try self.share(list, first, with: self.network.users[ann].user, as: .reader)
        self.network.settle(seconds: 30)
        let phone = try self.network.join(ann, name: "ann's phone", seed: 5)
        self.network.settle(seconds: 30)
        let folder = try self.network.create(ann, "folder")
        try self.network.write(ann, .move(list, parent: folder, before: nil))
        self.network.settle(seconds: 30)
        for machine in [ann, phone] {
            #expect(try self.parent(of: list, machine) == folder)
            #expect(try self.parent(of: task, machine) == list)
        }
        #expect(try self.parent(of: list, first) == above)
        #expect(try !self.holds(folder.bytes.array, in: self.log(first)))
        try self.network.write(phone, .move(list, parent: nil, before: folder))
        self.network.settle(seconds: 30)
        for machine in [ann, phone] { #expect(try self.parent(of: list, machine) == nil) }
        try self.network.write(ann) { local throws(WriteRefusal) in
            _ = try local.reverse(isRedo: false)
        }
        self.network.settle(seconds: 30)
        #expect(try self.parent(of: list, first) == above)
        #expect(throws: WriteRefusal.notPermitted(.role(.writer), task)) {
            try self.network.write(ann, .move(task, parent: folder, before: nil))
        }
    }

    /// How many changes machines have been told of that they do not get.
    private func untoldCount(_ machine: Int) -> Int {
        self.network.machines[machine].node.connections.values.reduce(0) { $0 + $1.session.unknownEntryCount }
    }

    @Test func `a circle that is new to a machine is announced to nobody who does not read it`() throws {
        let first = try self.first()
        let bob = try self.network.join(first, name: "bob's laptop", person: "bob", seed: 5)
        let phone = try self.network.join(bob, name: "bob's phone", seed: 6)
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: self.network.users[bob].user, as: .writer)
        self.network.settle(seconds: 60)
        // All that the laptop has so far, the founder reads; what comes from the phone is bob's alone.
        #expect(try self.titles(bob) == [list: "list"])
        let own = try self.network.create(phone, "bob's own")
        for _ in 0..<20 {
            self.network.settle(milliseconds: 500)
            #expect(self.untoldCount(first) == 0)
        }
        #expect(try self.titles(bob)[own] == "bob's own")
        #expect(try !self.circles(first).contains(.own(of: self.network.users[bob].user)))
    }

    @Test func `what is shared names nothing of another share that it stands below`() throws {
        (self.network.discovers, self.network.carriesBeacons) = (true, true)
        let first = try self.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let tablet = try self.network.join(first, name: "tablet", seed: 5)
        let folder = try self.network.create(first, "folder")
        let list = try self.network.create(first, "list", below: folder)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        for machine in [phone, tablet] { self.network.cut(first, machine) }
        try self.share(list, first, with: UserID(bytes: Bytes32(1, 2, 3, 4)), as: .reader)
        let task = try self.network.create(phone, "task", below: list)
        self.network.settle(seconds: 10)
        self.network.healAll()
        for machine in [first, tablet] { self.network.cut(phone, machine) }
        for _ in 0..<60 where try self.titles(first)[task] == nil { self.network.settle(seconds: 1) }
        // The task is not of the list's share, since the phone does not know of that yet.
        #expect(try self.parent(of: task, first) == list)
        try self.share(folder, first, with: self.network.users[ann].user, as: .reader)
        self.network.settle(seconds: 30)
        #expect(try self.titles(ann) == [folder: "folder", task: "task"])
        #expect(try !self.holds(list.bytes.array, in: self.log(ann)))
        #expect(try self.holds(folder.bytes.array, in: self.log(ann)))
        for machine in [first, tablet] { #expect(try self.parent(of: task, machine) == list) }
    }

    @Test func `who manages takes what readers and writers have, and nothing from a manager`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        let bob = try self.network.join(first, name: "bob's laptop", person: "bob", seed: 5)
        self.network.settle(seconds: 30)
        let (annUser, bobUser) = (self.network.users[ann].user, self.network.users[bob].user)
        try self.share(list, first, with: annUser, as: .manager)
        try self.share(list, first, with: bobUser, as: .writer)
        self.network.settle(seconds: 30)
        try self.network.write(ann) { local throws(WriteRefusal) in try local.unshare(list, with: bobUser) }
        self.network.settle(seconds: 30)
        try self.network.write(first, .set(list, name: "title", value: .string("again")))
        self.network.settle(seconds: 30)
        #expect(try self.titles(bob) == [list: "list"])
        try self.share(list, first, with: bobUser, as: .manager)
        self.network.settle(seconds: 30)
        #expect(throws: WriteRefusal.notPermitted(.owner, list)) {
            try self.network.write(ann) { local throws(WriteRefusal) in try local.unshare(list, with: bobUser) }
        }
    }
}
