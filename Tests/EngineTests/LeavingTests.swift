import CRDTCore
import MergeModel
import Synchronization
import Testing

@testable import Engine

/// Who gives up what others share with him.
struct LeavingTests {
    private let network = TestNetwork()

    /// The owner's machine, and two of a person who is in the workspace.
    private func people() throws -> (first: Int, ann: Int, phone: Int) {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        let first = try self.network.add(identity, seed: 2)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 3)
        self.network.settle(seconds: 30)
        let phone = try self.network.join(ann, name: "ann's phone", seed: 4)
        self.network.settle(seconds: 30)
        return (first, ann, phone)
    }

    private func share(_ object: ObjectID, _ machine: Int, with other: Int) throws {
        let user = self.network.users[other].user
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: .writer)
        }
    }

    private func leave(_ object: ObjectID, _ machine: Int) throws {
        try self.network.write(machine) { local throws(WriteRefusal) in try local.leave(object) }
    }

    private func parent(of object: ObjectID, _ machine: Int) throws -> ObjectID? {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            var state = CombinedState(.present, of: transaction)
            guard let index = try state.existingObjectIndex(of: object), let parent = try state.object(index).parent
            else { return nil }
            return try state.object(parent).id
        }
    }

    /// The users who have something in the circle of an object, but for its owner.
    private func readers(of object: ObjectID, _ machine: Int) throws -> [UserID] {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            guard let index = try transaction.existingObjectIndex(of: object) else { return [] }
            let circle = transaction.object(index).circle
            return transaction.rights.rights(in: circle)?.standing.map(\.user) ?? []
        }
    }

    private func holds(_ text: String, _ machine: Int) throws -> Bool {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            transaction.segmentIndices.contains { segment in
                let bytes =
                    transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)?.encoded() ?? []
                return bytes.firstRange(of: Array(text.utf8)) != nil
            }
        }
    }

    @Test func `what somebody leaves shows on his machines no more, until it is shared with him again`() throws {
        let (first, ann, phone) = try self.people()
        let list = try self.network.create(first, "list")
        let task = try self.network.create(first, "task", below: list)
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        let hers = try self.network.create(ann, "hers", below: list)
        let folder = try self.network.create(ann, "folder")
        try self.network.write(ann, .move(list, parent: folder, before: nil))
        self.network.settle(seconds: 30)
        #expect(try self.network.titles(phone) == [list: "list", task: "task", hers: "hers", folder: "folder"])

        #expect(throws: WriteRefusal.partOfShare(task)) { try self.leave(task, ann) }
        #expect(throws: WriteRefusal.notShared(folder)) { try self.leave(folder, ann) }
        #expect(throws: WriteRefusal.isOwner(list)) { try self.leave(list, first) }
        // Apart from the owner, and from her other machine.
        for (one, other) in [(first, ann), (first, phone), (ann, phone)] { self.network.cut(one, other) }
        try self.network.write(phone, .set(task, name: "title", value: .string("by phone")))
        try self.leave(list, ann)
        #expect(try self.network.titles(ann) == [folder: "folder"])
        #expect(throws: WriteRefusal.noSuchObject(task)) {
            try self.network.write(ann, .set(task, name: "title", value: .string("in vain")))
        }

        // Her other machine hears of it from hers, and not from the owner, who tells who has left nothing.
        self.network.healAll()
        for machine in [ann, phone] { self.network.cut(first, machine) }
        self.network.settle(seconds: 30)
        #expect(try self.network.titles(phone) == [folder: "folder"])
        self.network.healAll()
        self.network.settle(seconds: 30)
        #expect(try self.readers(of: list, first) == [])
        #expect(try self.network.titles(first) == [list: "list", task: "task", hers: "hers"])
        let secret = "what came when she was gone"
        try self.network.write(first, .set(task, name: "title", value: .string(secret)))
        self.network.settle(seconds: 30)
        for machine in [ann, phone] {
            #expect(try !self.holds(secret, machine))
            #expect(try self.network.titles(machine) == [folder: "folder"])
        }

        try self.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        for machine in [ann, phone] {
            #expect(
                try self.network.titles(machine) == [list: "list", task: secret, hers: "hers", folder: "folder"]
            )
            #expect(try self.parent(of: list, machine) == folder)
        }
        try self.network.write(phone, .set(task, name: "title", value: .string("done")))
        self.network.settle(seconds: 30)
        #expect(try self.network.titles(first)[task] == "done")
    }

    @Test func `whoever leaves gives up what was hidden and shared with him, too`() throws {
        let (first, ann, _) = try self.people()
        let list = try self.network.create(first, "list")
        try self.network.write(first) { local throws(WriteRefusal) in try local.hide("salary", of: list) }
        try self.share(list, first, with: ann)
        let user = self.network.users[ann].user
        try self.network.write(first) { local throws(WriteRefusal) in
            _ = try local.share("salary", of: list, with: user, as: .reader)
        }
        try self.network.write(first, .set(list, name: "salary", value: .string("she may read this")))
        self.network.settle(seconds: 30)
        #expect(try self.holds("she may read this", ann))
        try self.leave(list, ann)
        self.network.settle(seconds: 30)
        try self.network.write(first, .set(list, name: "salary", value: .string("and not this")))
        self.network.settle(seconds: 30)
        #expect(try !self.holds("and not this", ann))
        #expect(try self.network.titles(ann).isEmpty)
    }

    @Test func `what the owner has taken away already can be left, so that it shows no more`() throws {
        let (first, ann, phone) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        let user = self.network.users[ann].user
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        self.network.settle(seconds: 30)
        #expect(try self.network.titles(ann) == [list: "list"])
        try self.leave(list, ann)
        self.network.settle(seconds: 30)
        for machine in [ann, phone] { #expect(try self.network.titles(machine).isEmpty) }
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        for machine in [ann, phone] { #expect(try self.network.titles(machine) == [list: "list"]) }
    }

    /// Whatever one machine moves into a share that another one leaves meanwhile counts nowhere there.
    @Test func `what is moved into a share while another machine leaves it is back where it was`() throws {
        let (first, ann, phone) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        let folder = try self.network.create(ann, "folder")
        let child = try self.network.create(ann, "child", below: folder)
        self.network.settle(seconds: 30)
        for (one, other) in [(first, phone), (ann, phone)] { self.network.cut(one, other) }
        try self.network.write(phone, .move(folder, parent: list, before: nil))
        let lost = try self.network.create(phone, "made there", below: list)
        try self.leave(list, ann)
        self.network.settle(seconds: 30)
        self.network.healAll()
        self.network.settle(seconds: 60)
        for machine in [ann, phone] {
            #expect(try self.network.titles(machine) == [folder: "folder", child: "child"])
            #expect(try self.parent(of: child, machine) == folder)
        }
        #expect(try self.network.titles(first)[lost] == nil)
        // Once it is back it is an object like any other.
        try self.network.write(ann, .delete(folder))
        self.network.settle(seconds: 60)
        for machine in [ann, phone] { #expect(try self.network.titles(machine).isEmpty) }
        try self.share(list, first, with: ann)
        self.network.settle(seconds: 60)
        try self.leave(list, phone)
        self.network.settle(seconds: 60)
        for machine in [ann, phone] { #expect(try self.network.titles(machine).isEmpty) }
    }

    @Test func `what was moved into a share that had ended is back once that is left`() throws {
        let (first, ann, phone) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        let note = try self.network.create(ann, "note")
        self.network.settle(seconds: 30)
        for machine in [ann, phone] { self.network.cut(first, machine) }
        let user = self.network.users[ann].user
        try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        try self.network.write(ann, .move(note, parent: list, before: nil))
        self.network.settle(seconds: 30)
        self.network.healAll()
        self.network.settle(seconds: 60)
        #expect(try self.network.titles(ann) == [list: "list", note: "note"])
        try self.leave(list, ann)
        self.network.settle(seconds: 60)
        for machine in [ann, phone] { #expect(try self.network.titles(machine) == [note: "note"]) }
    }

    @Test func `an undo passes what was done in a share that is left`() throws {
        let (first, ann, _) = try self.people()
        let list = try self.network.create(first, "list")
        try self.share(list, first, with: ann)
        let note = try self.network.create(ann, "one")
        self.network.settle(seconds: 30)
        try self.network.write(ann, .set(note, name: "title", value: .string("two")))
        try self.network.write(ann, .set(list, name: "title", value: .string("hers")))
        self.network.settle(seconds: 30)
        try self.leave(list, ann)
        self.network.settle(seconds: 30)
        try self.network.write(ann) { local throws(WriteRefusal) in _ = try local.reverse(isRedo: false) }
        #expect(try self.network.titles(ann) == [note: "one"])
        #expect(try self.network.titles(first) == [list: "hers"])
    }
}
