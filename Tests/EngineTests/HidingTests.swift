import CRDTCore
import MergeModel
import Synchronization
import Testing

@testable import Engine

/// Properties that are hidden from people who read their object.
struct HidingTests {
    private let network = TestNetwork()

    private func create(
        _ machine: Int,
        _ properties: [ExactText: Value],
        below parent: ObjectID? = nil
    ) throws -> ObjectID {
        try self.network.write(machine, .create(.init(type: "note", parent: parent, properties: properties))).created[0]
    }

    private func share(_ object: ObjectID, _ machine: Int, with other: Int, as role: Role = .writer) throws {
        let user = self.network.users[other].user
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    private func hide(_ name: String, of object: ObjectID, _ machine: Int) throws {
        try self.network.write(machine) { local throws(WriteRefusal) in try local.hide(name, of: object) }
    }

    private func share(_ name: String, of object: ObjectID, _ machine: Int, with other: Int, as role: Role) throws {
        let user = self.network.users[other].user
        let isHalfDone = Mutex(true)
        while isHalfDone.withLock({ $0 }) {
            try self.network.write(machine) { local throws(WriteRefusal) in
                let more = try local.share(name, of: object, with: user, as: role)
                isHalfDone.withLock { $0 = more }
            }
        }
    }

    private func set(_ object: ObjectID, _ name: String, _ value: Int64, _ machine: Int) throws {
        try self.network.write(machine, .set(object, name: name, value: .int(value)))
    }

    private func setSalary(_ value: Int64, of object: ObjectID, _ machine: Int) throws {
        try self.network.write(machine, .set(object, name: "salary", value: Self.salary(value)))
    }

    /// What a user sees, by ids.
    private func shown(_ machine: Int) throws -> [ObjectID: [String: Value]] {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            var shown: [ObjectID: [String: Value]] = [:]
            for object in try state.visibleObjects() {
                var properties: [String: Value] = [:]
                for (name, value) in try state.properties(of: object) {
                    properties[name] = value
                    let number = try state.existingNameIndex(of: name)
                    let same = try number.flatMap { number throws(StoreError) in
                        try state.value(of: number, on: object)
                    }
                    #expect(same == value)
                }
                shown[try state.object(object).id] = properties
            }
            return shown
        }
    }

    /// Whether a machine has stored a salary in any of its chains.
    private func holds(_ value: Int64, _ machine: Int) throws -> Bool {
        let bytes = try self.network.machines[machine].node.read { transaction throws(StoreError) in
            transaction.segmentIndices.flatMap { segment in
                transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)?.encoded() ?? []
            }
        }
        return bytes.firstRange(of: Array("salary of \(value)".utf8)) != nil
    }

    private static func salary(_ value: Int64) -> Value { .string("salary of \(value)") }

    private struct World {
        var first: Int
        var phone: Int
        var ann: Int
        var bob: Int
        var list: ObjectID
        var item: ObjectID
    }

    /// Ann writes in a share of the founder, who has two machines; Bob reads it.
    private func world() throws -> World {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try self.network.add(identity, seed: 2)
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let list = try self.create(first, ["title": .int(1)])
        let item = try self.create(first, ["title": .int(2), "salary": Self.salary(100)], below: list)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 4)
        let bob = try self.network.join(first, name: "bob's", person: "bob", seed: 5)
        self.network.settle(seconds: 30)
        return World(first: first, phone: phone, ann: ann, bob: bob, list: list, item: item)
    }

    @Test func `what is hidden before its object is shared reaches nobody else, wherever the object goes`() throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        try self.setSalary(200, of: world.item, world.phone)
        try self.set(world.item, "title", 3, world.ann)
        self.network.settle(seconds: 30)
        let full: [ObjectID: [String: Value]] = [
            world.list: ["title": .int(1)], world.item: ["title": .int(3), "salary": Self.salary(200)],
        ]
        for machine in [world.first, world.phone] { #expect(try self.shown(machine) == full) }
        #expect(try self.shown(world.ann) == [world.list: ["title": .int(1)], world.item: ["title": .int(3)]])
        // Out of the share and into it again.
        try self.network.write(world.first, .move(world.item, parent: nil, before: nil))
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone] { #expect(try self.shown(machine) == full) }
        try self.network.write(world.phone, .move(world.item, parent: world.list, before: nil))
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone] { #expect(try self.shown(machine) == full) }
        for value: Int64 in [100, 200] {
            #expect(try self.holds(value, world.first))
            for machine in [world.ann, world.bob] { #expect(try !self.holds(value, machine)) }
        }
        // What she writes of that name is hers and the others'; the founder goes on seeing his.
        try self.setSalary(300, of: world.item, world.ann)
        self.network.settle(seconds: 30)
        #expect(try self.shown(world.first) == full)
        #expect(try self.shown(world.ann)[world.item]?["salary"] == Self.salary(300))
        // What is taken away is away everywhere.
        try self.network.write(world.first, .unset(world.item, name: "salary"))
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone, world.ann] {
            #expect(try self.shown(machine)[world.item] == ["title": .int(3)])
        }
    }

    @Test func `a hidden property is read by whom it is shared with, and by nobody else`() throws {
        let world = try self.world()
        for reader in [world.ann, world.bob] { try self.share(world.list, world.first, with: reader) }
        self.network.settle(seconds: 30)
        #expect(try self.shown(world.bob)[world.item]?["salary"] == Self.salary(100))
        // It is not theirs to hide.
        #expect(throws: WriteRefusal.notPermitted(.owner, world.item)) {
            try self.hide("salary", of: world.item, world.ann)
        }
        #expect(throws: WriteRefusal.notHidden("salary", world.item)) {
            try self.share("salary", of: world.item, world.first, with: world.ann, as: .reader)
        }
        try self.hide("salary", of: world.item, world.phone)
        self.network.settle(seconds: 30)
        for reader in [world.ann, world.bob] { #expect(try self.shown(reader)[world.item] == ["title": .int(2)]) }
        try self.setSalary(400, of: world.item, world.first)
        try self.share("salary", of: world.item, world.first, with: world.ann, as: .reader)
        self.network.settle(seconds: 30)
        #expect(try self.shown(world.ann)[world.item]?["salary"] == Self.salary(400))
        #expect(throws: WriteRefusal.notPermitted(.write("salary"), world.item)) {
            try self.setSalary(500, of: world.item, world.ann)
        }
        try self.share("salary", of: world.item, world.phone, with: world.ann, as: .writer)
        self.network.settle(seconds: 30)
        try self.setSalary(600, of: world.item, world.ann)
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone, world.ann] {
            #expect(try self.shown(machine)[world.item] == ["title": .int(2), "salary": Self.salary(600)])
        }
        #expect(try self.shown(world.bob)[world.item] == ["title": .int(2)])
        for value: Int64 in [400, 600] { #expect(try !self.holds(value, world.bob)) }
        // It is taken from her, and shown to all again.
        let user = self.network.users[world.ann].user
        let item = world.item
        try self.network.write(world.first) { local throws(WriteRefusal) in
            try local.unshare("salary", of: item, with: user)
        }
        try self.setSalary(700, of: world.item, world.first)
        self.network.settle(seconds: 30)
        #expect(try !self.holds(700, world.ann))
        try self.network.write(world.first) { local throws(WriteRefusal) in try local.unhide("salary", of: item) }
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone, world.bob] {
            #expect(try self.shown(machine)[world.item]?["salary"] == Self.salary(700))
        }
    }

    /// SH16: a deletion by somebody who does not read it, and an edit of it at the same time.
    @Test func `a hidden property keeps nothing alive, and comes back with its object`() throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        self.network.cut(world.first, world.ann)
        try self.network.write(world.ann, .delete(world.item))
        try self.setSalary(800, of: world.item, world.first)
        self.network.healAll()
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone, world.ann] {
            #expect(try self.shown(machine) == [world.list: ["title": .int(1)]])
        }
        // Its creator makes it again, as a restore does.
        let again = Transaction.Creation(
            id: .given(world.item),
            type: "note",
            parent: world.list,
            properties: ["title": .int(2)],
            keptNames: ["salary"]
        )
        try self.network.write(world.first, .create(again))
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone] {
            #expect(try self.shown(machine)[world.item] == ["title": .int(2), "salary": Self.salary(800)])
        }
        #expect(try self.shown(world.ann)[world.item] == ["title": .int(2)])
    }

    /// SH30: what somebody writes beside what is not his changes nobody's view of it.
    @Test func `nobody puts values in the place of what others own`() throws {
        let world = try self.world()
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        let (item, list) = (world.item, world.list)
        let others = [self.network.users[world.first].user, self.network.users[world.bob].user]
        let own = self.network.users[world.ann].user
        for nonce: UInt64 in [0, 9] {
            let beside = Circle.beside(owner: own, nonce: Bytes16(high: 0, low: nonce))
            try self.network.write(world.ann) { local throws(WriteRefusal) in
                for object in [item, list] {
                    try local.plan.append(.create(object, type: "fake", kind: ""), in: beside)
                    try local.plan.append(.set(object, name: "title", value: Self.salary(666)), in: beside)
                    try local.plan.append(.move(object, Place(parent: list, position: .initial)), in: beside)
                }
                for other in others {
                    try local.plan.append(.rights(.grants(.init(to: other, .reader))), in: beside)
                }
            }
        }
        self.network.settle(seconds: 30)
        #expect(try self.holds(666, world.first))
        for machine in [world.first, world.phone] {
            #expect(try self.shown(machine)[item] == ["title": .int(2), "salary": Self.salary(100)])
            #expect(try self.shown(machine)[list] == ["title": .int(1)])
        }
        #expect(try self.shown(world.bob).isEmpty)
    }

    /// Who reads the object no more is sent nothing more of what is hidden on it.
    @Test(arguments: 0..<3) func `what is shared of a hidden property ends with its object`(deed: Int) throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        try self.share("salary", of: world.item, world.first, with: world.ann, as: .reader)
        self.network.settle(seconds: 30)
        #expect(try self.shown(world.ann)[world.item]?["salary"] == Self.salary(100))
        let (list, user) = (world.list, self.network.users[world.ann].user)
        switch deed {
        case 0:
            try self.network.write(world.first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        case 1: try self.network.write(world.phone, .move(world.item, parent: nil, before: nil))
        default:
            try self.network.write(world.phone, .move(world.item, parent: nil, before: nil))
            try self.network.write(world.phone, .move(world.item, parent: list, before: nil))
        }
        self.network.settle(seconds: 30)
        try self.setSalary(900, of: world.item, world.first)
        self.network.settle(seconds: 30)
        #expect(try !self.holds(900, world.ann))
        for machine in [world.first, world.phone] {
            #expect(try self.shown(machine)[world.item]?["salary"] == Self.salary(900))
        }
    }

    /// One machine hides a property while another one moves its object to another circle.
    @Test(arguments: [true, false]) func `a property that is hidden while its object is shared keeps its value`(
        isHiddenFirst: Bool
    ) throws {
        let world = try self.world()
        self.network.cut(world.first, world.phone)
        if isHiddenFirst { try self.hide("salary", of: world.item, world.first) }
        self.network.sleep(seconds: 10)
        try self.share(world.list, world.phone, with: world.ann)
        self.network.sleep(seconds: 10)
        if !isHiddenFirst { try self.hide("salary", of: world.item, world.first) }
        self.network.healAll()
        self.network.settle(seconds: 120)
        for machine in [world.first, world.phone] {
            #expect(try self.shown(machine)[world.item] == ["title": .int(2), "salary": Self.salary(100)])
        }
        #expect(try self.shown(world.ann)[world.item]?["salary"] == nil)
    }

    /// One machine lets somebody read it while another one writes it: the later value stays, wherever the object goes.
    @Test func `what is written while it is shared is not lost by a move`() throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        self.network.cut(world.first, world.phone)
        try self.share("salary", of: world.item, world.first, with: world.ann, as: .reader)
        self.network.sleep(seconds: 10)
        try self.setSalary(500, of: world.item, world.phone)
        self.network.healAll()
        self.network.settle(seconds: 60)
        #expect(try self.shown(world.first)[world.item]?["salary"] == Self.salary(500))
        try self.network.write(world.first, .move(world.item, parent: nil, before: nil))
        self.network.settle(seconds: 60)
        for machine in [world.first, world.phone] {
            #expect(try self.shown(machine)[world.item]?["salary"] == Self.salary(500))
        }
        #expect(try !self.holds(500, world.ann))
    }

    @Test func `what is taken away stays hidden, and so does what has no value yet`() throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.hide("bonus", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        self.network.settle(seconds: 30)
        try self.network.write(world.phone, .unset(world.item, name: "salary"))
        self.network.settle(seconds: 30)
        for machine in [world.first, world.phone, world.ann] {
            #expect(try self.shown(machine)[world.item] == ["title": .int(2)])
        }
        try self.setSalary(110, of: world.item, world.first)
        try self.network.write(world.phone, .set(world.item, name: "bonus", value: Self.salary(120)))
        self.network.settle(seconds: 30)
        let full: [String: Value] = ["title": .int(2), "salary": Self.salary(110), "bonus": Self.salary(120)]
        for machine in [world.first, world.phone] { #expect(try self.shown(machine)[world.item] == full) }
        for value: Int64 in [110, 120] { #expect(try !self.holds(value, world.ann)) }
    }

    @Test func `who could read what is hidden, and cannot any more, sees what others see once it is shown again`()
        throws
    {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        try self.share(world.list, world.first, with: world.ann)
        let (item, list, user) = (world.item, world.list, self.network.users[world.ann].user)
        for round: Int64 in [1, 2] {
            try self.share("salary", of: item, world.first, with: world.ann, as: .writer)
            self.network.settle(seconds: 30)
            try self.setSalary(100 * round, of: item, world.ann)
            self.network.settle(seconds: 30)
            #expect(try self.shown(world.first)[item]?["salary"] == Self.salary(100 * round))
            // The property alone, or with all that he has.
            try self.network.write(world.first) { local throws(WriteRefusal) in
                if round == 1 {
                    try local.unshare("salary", of: item, with: user)
                } else {
                    try local.unshare(list, with: user)
                }
            }
            self.network.settle(seconds: 30)
            if round == 2 { try self.share(list, world.first, with: world.ann) }
            self.network.settle(seconds: 30)
            #expect(try self.shown(world.ann)[item] == ["title": .int(2)])
            // What she writes under that name she sees with the others.
            try self.setSalary(100 * round + 1, of: item, world.ann)
            self.network.settle(seconds: 30)
            #expect(try self.shown(world.ann)[item]?["salary"] == Self.salary(100 * round + 1))
            #expect(try self.shown(world.first)[item]?["salary"] == Self.salary(100 * round))
            try self.network.write(world.first) { local throws(WriteRefusal) in
                try local.unhide("salary", of: item)
            }
            self.network.settle(seconds: 30)
            #expect(try self.shown(world.ann)[item]?["salary"] == Self.salary(100 * round))
            try self.hide("salary", of: item, world.first)
            self.network.settle(seconds: 30)
            #expect(try self.shown(world.ann)[item] == ["title": .int(2)])
        }
    }

    /// Two machines let different people read it, neither knowing of the other.
    @Test func `what is hidden in two circles is in one after the next write`() throws {
        let world = try self.world()
        try self.hide("salary", of: world.item, world.first)
        for reader in [world.ann, world.bob] { try self.share(world.list, world.first, with: reader) }
        self.network.settle(seconds: 30)
        self.network.cut(world.first, world.phone)
        try self.share("salary", of: world.item, world.first, with: world.ann, as: .reader)
        try self.share("salary", of: world.item, world.phone, with: world.bob, as: .reader)
        self.network.healAll()
        self.network.settle(seconds: 60)
        try self.setSalary(700, of: world.item, world.first)
        self.network.settle(seconds: 30)
        let readers = try [world.ann, world.bob].filter { try self.holds(700, $0) }
        #expect(readers.count == 1)
        for machine in [world.first, world.phone] + readers {
            #expect(try self.shown(machine)[world.item]?["salary"] == Self.salary(700))
        }
        // Both can be taken out, and nobody has it then.
        let item = world.item
        for reader in [world.ann, world.bob] {
            let user = self.network.users[reader].user
            try self.network.write(world.phone) { local throws(WriteRefusal) in
                try local.unshare("salary", of: item, with: user)
            }
        }
        try self.setSalary(710, of: world.item, world.phone)
        self.network.settle(seconds: 30)
        for reader in [world.ann, world.bob] { #expect(try !self.holds(710, reader)) }
    }
}
