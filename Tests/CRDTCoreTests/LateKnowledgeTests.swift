import CRDTCore
import MergeModel
import Testing

/// What becomes of changes that are there already when something is learnt of them.
struct LateKnowledgeTests {
    private static let early = WallTime(milliseconds: 10_000)
    private static let late = WallTime(milliseconds: 100_000_000)
    private static let ahead: UInt64 = 90_000_000 << 16
    private static let present: UInt64 = 5_000 << 16

    /// A device whose clock is ahead, one that has seen its first change, and the founder's.
    private static func sample() -> TreeSample {
        var sample = TreeSample()
        let create = Edit.create(TreeSample.object, type: "note", kind: "")
        sample.open("a1", device: 1, user: TestDevice.otherUser, at: Self.present, [create])
        sample.write("a2", after: "a1", at: Self.ahead)
        sample.open("b1", device: 2, user: TestDevice.otherUser, at: Self.present)
        sample.write("b2", after: "b1", at: Self.present + 2, saw: ["a1"])
        sample.open("f1", device: 3, at: Self.present)
        return sample
    }

    private func stamp(_ change: NaiveChange, _ store: SampleStore) throws -> Stamp {
        let place = try #require(try store.place(change))
        return try store.read { transaction throws(StoreError) in try transaction.effectiveStamp(at: place) }
    }

    @Test(arguments: [false, true])
    func `a restamp orders what was applied directly after what that had seen`(_ isFounder: Bool) throws {
        var sample = Self.sample()
        let author = isFounder ? "f1" : "b2"
        let store = try sample.store(["a1", "a2", "b1", "b2", "f1"], at: Self.late)
        #expect(try store.title() == "a2")
        sample.write("r", after: author, at: Self.present + 9, [sample.restamp(to: "a2")])
        let (_, summary) = try store.receive([sample.run("r")], at: Self.late)
        #expect(summary.isRevised)
        // Of the stretch, the first was stamped before the restamp, and stays as it is.
        #expect(try self.stamp(sample["a1"], store) == Stamp(rawValue: Self.present))
        #expect(try self.stamp(sample["a2"], store) == Stamp(rawValue: Self.present + 1))
        // What had seen the first, and is no part of the stretch, keeps the stamp that its author gave it.
        #expect(try self.stamp(sample["b2"], store) == Stamp(rawValue: Self.present + 2))
        #expect(try store.title() == "b2")
        // The same twice changes nothing.
        sample.write("r2", after: "r", at: Self.present + 10, [sample.restamp(to: "a2")])
        #expect(try !store.receive([sample.run("r2")], at: Self.late).1.isRevised)
    }

    @Test func `a restamp that is deferred has no effect, and a replay of the log can leave it out`() throws {
        var sample = Self.sample()
        sample.write("r", after: "f1", at: Self.present + 9, [sample.restamp(to: "a2")])
        let names = ["a1", "a2", "b1", "b2", "f1"]
        let without = try sample.store(names, at: Self.late)
        let store = try sample.store(names, at: Self.late)
        try store.receive([sample.run("r")], at: Self.late, deferring: true)
        #expect(try store.state().objects == without.state().objects && store.title() == "a2")
        let due = try store.dueRestamps()
        #expect(due.map(\.restamp.lastHash) == [sample["a2"].hash])
        // As doctor computes the state again from the log.
        let replay = try SampleStore(hasCharter: true)
        for name in names + ["r"] { try replay.receive([sample.run(name)], at: Self.late, deferring: true) }
        try replay.receive([], at: Self.late, ignoring: due)
        #expect(try replay.state() == store.state())
        for each in [store, replay] {
            try each.receive([], at: Self.late, ignoring: [])
            #expect(try each.dueRestamps().isEmpty && each.title() == "b2")
        }
    }

    @Test func `what had only seen a restamped change comes after it, and falls with it`() throws {
        var sample = Self.sample()
        sample.write("b3", after: "b2", at: Self.present + 3, saw: ["a2"])
        let store = try sample.store(["a1", "a2", "b1", "b2", "b3", "f1"], at: Self.late)
        #expect(try self.stamp(sample["b3"], store) == Stamp(rawValue: Self.ahead + 1))
        sample.write("r", after: "f1", at: Self.present + 9, [sample.restamp(from: 2, to: "a2")])
        try store.receive([sample.run("r")], at: Self.late)
        #expect(try self.stamp(sample["a2"], store) == Stamp(rawValue: Self.present + 1))
        #expect(try self.stamp(sample["b3"], store) == Stamp(rawValue: Self.present + 3))
        #expect(try store.title() == "b3")
    }

    @Test func `a restamp orders nothing anew that is stamped no later than itself`() throws {
        var sample = Self.sample()
        let names = ["a1", "a2", "b1", "b2", "f1"]
        sample.write("r", after: "f1", at: Self.present + 9, [sample.restamp(to: "b2")])
        sample.write("r2", after: "r", at: Self.ahead, [sample.restamp(to: "a2")])
        let store = try sample.store(names, at: Self.late)
        let (_, summary) = try store.receive([sample.run("r", "r2")], at: Self.late)
        #expect(!summary.isRevised)
        for name in names { #expect(try self.stamp(sample[name], store) == sample[name].stamp) }
        #expect(try store.title() == "a2")
    }

    @Test func `a restamp by a device of another user who is not the founder counts for nothing`() throws {
        var sample = Self.sample()
        sample.write("f2", after: "f1", at: Self.ahead)
        sample.write("r", after: "b2", at: Self.present + 9, [sample.restamp(to: "f2")])
        let store = try sample.store(["a1", "b1", "b2", "f1", "f2", "r"], at: Self.late)
        #expect(try self.stamp(sample["f2"], store) == Stamp(rawValue: Self.ahead))
        #expect(try store.title() == "f2")
    }

    @Test func `what a restamp releases is applied, though the restamp itself is held`() throws {
        var sample = Self.sample()
        let held = Self.ahead - 1 << 16
        sample.write("r", after: "f1", at: held, [sample.restamp(to: "a2")])
        let store = try sample.store(["a1", "a2", "f1"], at: Self.early)
        #expect(try store.waits(at: Self.early).count == 1)
        #expect(try store.title() == nil)
        try store.receive([sample.run("r")], at: Self.early)
        #expect(try store.title() == "a2")
        let waits = try store.waits(at: Self.early)
        let segment = try #require(try store.place(sample["r"])).segment
        let due = HybridClock.dueTime(of: Stamp(rawValue: held))
        #expect(waits == [segment: .held(until: due)])
    }

    @Test func `a restamp names one fork alone`() throws {
        var sample = Self.sample()
        sample.write("a2'", after: "a1", at: Self.ahead)
        sample.write("r", after: "f1", at: Self.present + 9, [sample.restamp(to: "a2'")])
        let store = try sample.store(["a1", "a2", "a2'", "f1", "r"], at: Self.late)
        #expect(try self.stamp(sample["a2"], store) == Stamp(rawValue: Self.ahead))
        #expect(try self.stamp(sample["a2'"], store) == Stamp(rawValue: Self.present + 1))
    }

    @Test func `what was applied is held when the clock is set back, and comes again when it is due`() throws {
        let sample = Self.sample()
        let store = try sample.store(["a1", "b1", "b2", "a2"], at: Self.late)
        let applied = try store.state()
        #expect(try store.title() == "a2")
        #expect(try store.receive([], at: Self.early).1.isRevised)
        #expect(try store.title() == "b2")
        #expect(try store.state() == sample.store(["a1", "b1", "b2", "a2"], at: Self.early).state())
        let segment = try #require(try store.place(sample["a2"])).segment
        let due = HybridClock.dueTime(of: Stamp(rawValue: Self.ahead))
        #expect(try store.waits(at: Self.early) == [segment: .held(until: due)])
        try store.receive([], at: WallTime(milliseconds: due.milliseconds - 1))
        #expect(try store.title() == "b2")
        try store.receive([], at: due)
        #expect(try store.state() == applied)
    }

    @Test func `a device's own changes are held by its own clock as by any other`() throws {
        let sample = Self.sample()
        let store = try sample.store(["a1"], at: Self.early)
        let (_, summary) = try store.receive([sample.run("a2")], at: Self.early)
        #expect(summary.storedChangeCount == 1)
        #expect(summary.appliedChangeCount == 0)
    }
}

/// Moves of one object that had not seen each other.
struct OpenMoveTests {
    private static func move(to letter: String) -> [Edit] {
        [.move(TreeSample.object, Place(parent: nil, position: Position(bytes: Array(letter.utf8))))]
    }

    private static func sample() -> TreeSample {
        var sample = TreeSample()
        sample.open("a1", device: 1, [.create(TreeSample.object, type: "note", kind: "")])
        sample.write("a2", after: "a1", at: 5, self.move(to: "a"))
        sample.write("a2'", after: "a1", at: 5, self.move(to: "b"))
        sample.open("b1", device: 2)
        sample.write("b2", after: "b1", at: 4, saw: ["a1"], self.move(to: "c"))
        sample.open("c1", device: 3)
        sample.write("c2", after: "c1", at: 6, saw: ["a2", "b2"], self.move(to: "d"))
        sample.open("d1", device: 4)
        sample.write("d2", after: "d1", at: 7, saw: ["a2'", "c2"], self.move(to: "e"))
        return sample
    }

    private func open(_ store: SampleStore) throws -> (moves: [Hash256], isListed: Bool) {
        let object = try #require(try store.state().objects.first)
        let listed = try store.read { transaction in transaction.objectsWithOpenMoves() }
        return (object.openMoves.map(\.hash), !listed.isEmpty)
    }

    @Test func `moves that lose are listed until a move has seen them, in every order`() throws {
        let sample = Self.sample()
        let names = ["a1", "a2", "a2'", "b1", "b2"]
        let branches = ["a2", "a2'"].map { sample[$0].hash }.sorted()
        for order in sample.orders(of: names) {
            let store = try sample.store(order)
            let (moves, isListed) = try self.open(store)
            // Tied forks are in the order of their hashes.
            #expect(moves == [sample["b2"].hash] + branches, "\(order)")
            #expect(isListed)
            try store.receive([sample.run("c1", "c2")])
            #expect(try self.open(store).moves == [sample["a2'"].hash, sample["c2"].hash], "\(order)")
            try store.receive([sample.run("d1", "d2")])
            let settled = try self.open(store)
            #expect(settled.moves == [sample["d2"].hash], "\(order)")
            #expect(!settled.isListed)
        }
    }
}
