import CRDTCore
import MergeModel
import Synchronization
import Testing

@testable import Engine

/// Undo of what was written in several circles at once: what had gone over goes back as a whole, or stays.
struct UndoOverCirclesTests {
    private let network = TestNetwork()
    private static let stranger = UserID(bytes: Bytes32(1, 2, 3, 4))

    private func first() throws -> Int { try self.network.found(words: 7, seed: 1) }

    /// Two machines of the founder, and what the first one has made.
    private func two() throws -> (first: Int, phone: Int, note: ObjectID) {
        let first = try self.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        self.network.settle(seconds: 10)
        let note = try self.network.create(first, "note")
        self.network.settle(seconds: 10)
        return (first, phone, note)
    }

    private func share(_ object: ObjectID, _ machine: Int, with user: UserID, as role: Role = .writer) throws {
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    /// Takes one transaction back, or does it again; nil if there is none.
    @discardableResult
    private func reverse(_ machine: Int, isRedo: Bool = false) throws -> UndoneStep? {
        let found = Mutex<UndoneStep?>(nil)
        try self.network.write(machine) { local throws(WriteRefusal) in
            let step = try local.reverse(isRedo: isRedo)
            found.withLock { $0 = step }
        }
        return found.withLock { $0 }
    }

    private func undo(_ machine: Int) throws { try #require(try self.reverse(machine) != nil) }
    private func redo(_ machine: Int) throws { try #require(try self.reverse(machine, isRedo: true) != nil) }

    @Test func `a share is taken back in one step, and done again in one`() throws {
        let machine = try self.first()
        let folder = try self.network.create(machine, "folder")
        let list = try self.network.create(machine, "list", below: folder)
        let task = try self.network.create(machine, "task", below: list)
        let before = try self.network.tree(machine)
        try self.share(list, machine, with: Self.stranger)
        let shared = try self.network.tree(machine)
        try self.network.write(machine, .set(task, name: "title", value: .string("x")))
        try self.network.write(machine, .set(folder, name: "title", value: .string("y")))
        let edited = try self.network.tree(machine)

        // The last edits, each in its circle; then the share, which is of two.
        try self.undo(machine)
        #expect(try self.network.tree(machine).first { $0.id == folder }?.properties["title"] == .string("folder"))
        try self.undo(machine)
        #expect(try self.network.tree(machine) == shared)
        try self.undo(machine)
        #expect(try self.network.tree(machine) == before)
        try self.redo(machine)
        #expect(try self.network.tree(machine) == shared)
        for _ in 0..<2 { try self.redo(machine) }
        #expect(try self.network.tree(machine) == edited)

        // Where all of it stands among other things; and what is moved out of it.
        for _ in 0..<2 {
            try self.network.write(machine, .move(list, parent: nil, before: folder))
            try self.undo(machine)
            #expect(try self.network.tree(machine) == edited)
        }
        try self.network.write(machine, .move(task, parent: folder, before: nil))
        #expect(try self.network.tree(machine).first { $0.id == task }?.circle == .home)
        let moved = try self.network.tree(machine)
        try self.undo(machine)
        #expect(try self.network.tree(machine) == edited)
        try self.redo(machine)
        #expect(try self.network.tree(machine) == moved)
    }

    @Test func `what somebody else has edited in a share stays there when the share is taken back`() throws {
        let first = try self.first()
        let list = try self.network.create(first, "list")
        let tasks = try ["a", "b"].map { try self.network.create(first, $0, below: list) }
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        try self.share(list, first, with: self.network.users[ann].user)
        self.network.settle(seconds: 30)
        try self.network.write(ann, .set(tasks[0], name: "title", value: .string("by ann")))
        self.network.settle(seconds: 30)
        let shared = try self.network.lives(first).filter { $0.circle != .roster }
        let step = try self.reverse(first)
        let kept = try #require(step).reports.flatMap(\.kept).filter { $0.part == .object }
        // What she edited, what that stands below, and what would come back to home without its parent.
        #expect(Set(kept.map(\.object)) == Set([list] + tasks))
        #expect(kept.first { $0.object == tasks[0] }?.author?.deviceName == "ann's laptop")
        let now = try self.network.lives(first).filter { $0.circle != .roster }
        #expect(now == shared, "more \(now.subtracting(shared)), less \(shared.subtracting(now))")
        #expect(try self.network.tree(first).first { $0.id == tasks[0] }?.properties["title"] == .string("by ann"))
    }

    /// One user's days: whatever he did, as many undos lead back through all that he saw, and redos forth again.
    @Test(arguments: 1...40) func `undos lead back through several circles`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let machine = try self.first()
        let people = (1...3).map { UserID(bytes: Bytes32(1, 2, 3, $0)) }
        var objects: [ObjectID] = []
        for number in 0..<4 {
            let parent = objects.isEmpty || random.chance(33) ? nil : random.pick(objects)
            objects.append(try self.network.create(machine, "\(number)", below: parent))
        }
        var states = [try self.network.lives(machine)]
        var trees = [try self.network.tree(machine)]
        var done: [String] = []
        for number in 0..<12 {
            self.network.sleep(seconds: 1)
            let next = try self.next(machine)
            let what = try self.act(number, machine, &objects, people, &random)
            // What says only who reads something is not taken back.
            guard try self.next(machine)?.pieces != next?.pieces else { continue }
            states.append(try self.network.lives(machine))
            trees.append(try self.network.tree(machine))
            done.append(what)
        }
        func expect(_ place: Int, _ verb: String) throws {
            let (found, wanted) = (try self.network.lives(machine), states[place])
            let words = "\(verb) \(place) of \(done)"
            #expect(found == wanted, "\(words): more \(found.subtracting(wanted)), less \(wanted.subtracting(found))")
            #expect(try self.network.tree(machine) == trees[place], "\(words)")
        }
        for _ in 0..<2 {
            let count = random.below(states.count)
            for place in (states.count - 1 - count..<states.count - 1).reversed() {
                try self.undo(machine)
                try expect(place, "undo of")
            }
            for place in states.count - count..<states.count {
                try self.redo(machine)
                try expect(place, "redo to")
            }
        }
    }

    /// What is taken back next.
    private func next(_ machine: Int) throws -> NextUndo? {
        let user = self.network.users[machine].user
        let device = self.network.machines[machine].node.identity.device
        return try self.network.machines[machine].node.read { transaction throws(StoreError) in
            let author = UndoAuthor(user: user, device: device, scope: UndoScope(device: device, label: ""))
            let history = History(try transaction.view(of: nil))
            return try transaction.nextUndo(for: author, isRedo: false, on: nil, in: history)
        }
    }

    private func act(
        _ number: Int,
        _ machine: Int,
        _ objects: inout [ObjectID],
        _ people: [UserID],
        _ random: inout SplitMix64
    ) throws -> String {
        let (object, other, person) = (random.pick(objects), random.pick(objects), random.below(people.count))
        func name(_ object: ObjectID) -> String { "\(objects.firstIndex(of: object) ?? -1)" }
        do {
            switch random.below(11) {
            case 0:
                objects.append(try self.network.create(machine, "new \(number)", below: object))
                return "create \(objects.count - 1) below \(name(object))"
            case 1:
                try self.network.write(machine, .set(object, name: "title", value: .int(Int64(number))))
                return "set \(name(object))"
            case 2, 3:
                try self.network.write(machine, .move(object, parent: other, before: nil))
                return "move \(name(object)) to \(name(other))"
            case 4:
                try self.network.write(machine, .move(object, parent: nil, before: nil))
                return "move \(name(object)) to the root"
            case 5, 6:
                try self.share(object, machine, with: people[person])
                return "share \(name(object)) with \(person)"
            case 7:
                try self.network.write(machine) { local throws(WriteRefusal) in try local.hide("title", of: object) }
                return "hide of \(name(object))"
            case 8:
                try self.network.write(machine) { local throws(WriteRefusal) in try local.unhide("title", of: object) }
                return "unhide of \(name(object))"
            case 9:
                let user = people[person]
                try self.network.write(machine) { local throws(WriteRefusal) in
                    try local.unshare(object, with: user)
                }
                return "unshare \(name(object)) with \(person)"
            default:
                try self.network.write(machine, .delete(object))
                return "delete \(name(object))"
            }
        } catch is WriteRefusal {
            return "nothing"
        }
    }

    @Test func `a redo of a share beside what another machine has written leads back`() throws {
        let network = self.network
        let (first, phone, note) = try self.two()
        network.cut(first, phone)
        try self.share(note, phone, with: Self.stranger)
        try network.write(first, .set(note, name: "title", value: .string("by the laptop")))
        network.healAll()
        network.settle(seconds: 1)
        let before = try network.tree(phone)
        try self.undo(phone)
        try self.redo(phone)
        let after = try network.tree(phone)
        #expect(after == before)
    }

    @Test func `what somebody took out of a share that he has lost is not taken back by half`() throws {
        let network = self.network
        let first = try self.first()
        let list = try network.create(first, "list")
        let task = try network.create(first, "task", below: list)
        network.settle(seconds: 10)
        let ann = try network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        network.settle(seconds: 30)
        let user = network.users[ann].user
        try self.share(list, first, with: user)
        network.settle(seconds: 30)
        try network.write(ann, .move(task, parent: nil, before: nil))
        network.settle(seconds: 30)
        try network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        network.settle(seconds: 30)
        let before = try network.tree(ann)
        #expect(before.contains { $0.id == task })
        #expect(try self.reverse(ann) == nil)
        #expect(try network.tree(ann) == before)
    }

    @Test func `an undo that knew nothing of a share is carried over into it`() throws {
        let network = self.network
        let (first, phone, note) = try self.two()
        try network.write(phone, .set(note, name: "title", value: .string("wrong")))
        network.settle(seconds: 10)
        network.cut(first, phone)
        try self.share(note, first, with: Self.stranger)
        network.sleep(seconds: 2)
        try self.undo(phone)
        network.healAll()
        network.settle(seconds: 60)
        for machine in [first, phone] {
            let shown = try network.tree(machine).first { $0.id == note }
            #expect(shown?.properties["title"] == .string("note"))
            #expect(shown?.circle != .home)
        }
    }

    @Test func `what another machine wrote in a share outlives its undo`() throws {
        let network = self.network
        let (first, phone, note) = try self.two()
        try self.share(note, first, with: Self.stranger)
        network.settle(seconds: 10)
        network.cut(first, phone)
        try network.write(phone, .set(note, name: "title", value: .string("by the phone")))
        network.sleep(seconds: 2)
        try self.undo(first)
        network.healAll()
        network.settle(seconds: 60)
        for machine in [first, phone] {
            let shown = try network.tree(machine).first { $0.id == note }
            #expect(shown?.properties["title"] == .string("by the phone"))
            #expect(shown?.circle == .home)
        }
    }

    @Test func `an undo passes what was done in a lost share without a look at it`() throws {
        let network = self.network
        let first = try self.first()
        let list = try network.create(first, "list")
        network.settle(seconds: 10)
        let ann = try network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        network.settle(seconds: 30)
        let user = network.users[ann].user
        try self.share(list, first, with: user)
        network.settle(seconds: 30)
        let own = try network.create(ann, "own")
        for number in Int64(0)..<20 { try network.write(ann, .set(list, name: "title", value: .int(number))) }
        network.settle(seconds: 30)
        try network.write(first) { local throws(WriteRefusal) in try local.unshare(list, with: user) }
        network.settle(seconds: 30)
        #expect(try #require(try self.next(ann)).lookedAtCount < 10)
        try self.undo(ann)
        #expect(try !network.tree(ann).contains { $0.id == own })
    }

    @Test func `where a guest placed what is shared with him is taken back`() throws {
        let network = self.network
        let first = try self.first()
        let list = try network.create(first, "list")
        network.settle(seconds: 10)
        let ann = try network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        network.settle(seconds: 30)
        try self.share(list, first, with: network.users[ann].user)
        let folder = try network.create(ann, "folder")
        network.settle(seconds: 30)
        func place() throws -> ObjectID? { try #require(try network.tree(ann).first { $0.id == list }).parent }
        try network.write(ann, .move(list, parent: folder, before: nil))
        #expect(try place() == folder)
        #expect(try #require(try self.reverse(ann)).reports.contains(where: \.hasEffect))
        #expect(try place() == nil)
        #expect(try #require(try self.reverse(ann, isRedo: true)).reports.contains(where: \.hasEffect))
        #expect(try place() == folder)
    }
}
