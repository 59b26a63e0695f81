import CRDTCore
import MergeModel
import Testing

@testable import Engine

/// Undo and redo beside the naive model of a history without what is taken back.
@Suite struct UndoTests {
    private static let objects = (0..<5).map { ObjectID(bytes: Bytes16(high: 0x1122_3344_5566_4788, low: UInt64($0))) }
    private static let names = ["a", "b"]

    /// Some edits that may be refused.
    private func transaction(_ random: inout SplitMix64) -> [Transaction.Step] {
        var steps: [Transaction.Step] = []
        for _ in 0...random.below(3) {
            let object = Self.objects[random.below(Self.objects.count)]
            let name = Self.names[random.below(2)]
            let parent = random.below(3) == 0 ? nil : Self.objects[random.below(Self.objects.count)]
            switch random.below(10) {
            case 0, 1:
                let creation = Transaction.Creation(
                    id: .given(object),
                    type: "t",
                    parent: parent,
                    properties: [CRDTCore.ExactText(name): .int(Int64(random.below(100)))]
                )
                steps.append(.create(creation))
            case 2, 3, 4: steps.append(.set(object, name: name, value: .int(Int64(random.below(100)))))
            case 5: steps.append(.unset(object, name: name))
            case 6, 7: steps.append(.move(object, parent: parent, before: nil))
            default: steps.append(.delete(object))
            }
        }
        return steps
    }

    private func write(_ world: inout UndoWorld, _ device: Int, _ random: inout SplitMix64) throws {
        let steps = self.transaction(&random)
        try world.write(device) { local throws(WriteRefusal) in
            for step in steps { try local.perform(step) }
        }
    }

    /// Undoes on one device, and looks at what that did before anybody else has seen it.
    private func undo(_ world: inout UndoWorld, _ device: Int, _ seed: UInt64) throws -> UndoReport? {
        let before = try world.state(device)
        guard let report = try world.reverse(device, isRedo: false) else {
            #expect(try world.state(device) == before, "seed \(seed)")
            return nil
        }
        let after = try world.state(device)
        let ideal = world.ideal()
        for (object, state) in after {
            guard let old = before[object] else {
                #expect(ideal[object] != nil, "seed \(seed): \(object) came back, and somebody else had deleted it")
                continue
            }
            for name in Set(old.properties.keys).union(state.properties.keys) {
                guard old.properties[name] != state.properties[name] else { continue }
                let isOwn = report.edits.contains { edit in
                    switch edit {
                    case .set(object, let written, _), .unset(object, let written):
                        ModelText(written) == name
                    default: false
                    }
                }
                #expect(isOwn, "seed \(seed): \(name) of \(object) changed, which the transaction had not written")
            }
        }
        return report
    }

    /// Undo, then redo of the same number: nothing has changed.
    ///
    /// Returns whether nothing had to be kept.
    private func checkIdentity(_ world: inout UndoWorld, _ device: Int, _ count: Int, _ seed: UInt64) throws -> Bool {
        let before = try world.state(device)
        var reports: [UndoReport] = []
        for _ in 0..<count {
            guard let report = try world.reverse(device, isRedo: false) else { break }
            reports.append(report)
        }
        for _ in reports { reports.append(try #require(try world.reverse(device, isRedo: true), "seed \(seed)")) }
        let after = try world.state(device)
        #expect(after == before, "seed \(seed): redo after undo of \(count) is not as before")
        return reports.allSatisfy(\.kept.isEmpty)
    }

    /// Where something had to be kept, or a move has no effect, the model does not say what is right.
    ///
    /// Of the other seeds there must be enough.
    @Test func `what is taken back is as if it had never been`() throws {
        let seeds = Seeds.range(from: 31_000, count: 200)
        var comparedCount = 0
        for seed in seeds where try self.compare(seed) { comparedCount += 1 }
        #expect(seeds.count == 1 || comparedCount > seeds.count / 3, "\(comparedCount) of \(seeds.count)")
    }

    /// Writes, takes back and exchanges at random; returns whether that could be compared with the model.
    private func compare(_ seed: UInt64) throws -> Bool {
        var random = SplitMix64(seed: seed)
        var world = try UndoWorld(users: [TestDevice.user, TestDevice.user, TestDevice.otherUser])
        // What one user takes back is an edit like any other for the other one, so only one of them can be compared.
        let reverserCount = seed % 2 == 0 ? 2 : 3
        var isWhole = reverserCount == 2
        for _ in 0..<30 {
            let isWrite = random.below(10) < 7
            let device = random.below(isWrite ? 3 : reverserCount)
            switch isWrite ? random.below(7) : 7 + random.below(3) {
            case 0...5: try self.write(&world, device, &random)
            case 6: try world.synchronise()
            case 7:
                try world.synchronise()
                isWhole = try self.checkIdentity(&world, device, 1 + random.below(3), seed) && isWhole
                try world.synchronise()
            case 8:
                try world.synchronise()
                let report = try world.reverse(device, isRedo: true)
                isWhole = isWhole && report?.kept.isEmpty ?? true
                try world.synchronise()
            default:
                try world.synchronise()
                let report = try self.undo(&world, device, seed)
                isWhole = isWhole && report?.kept.isEmpty ?? true
                try world.synchronise()
            }
            isWhole = try isWhole && !world.hasMovesWithoutEffect(device)
        }
        try world.synchronise()
        let states = try (0..<3).map { try world.state($0) }
        #expect(states[0] == states[1] && states[1] == states[2], "seed \(seed)")
        guard isWhole else { return false }
        let ideal = world.ideal()
        #expect(states[0] == ideal, "seed \(seed): \(states[0]), expected \(ideal)")
        return true
    }

    /// A branch that has no other history finds everything by way of the past; the main timeline, in what is recorded.
    @Test(arguments: Seeds.range(from: 33_000, count: 200))
    func `on a branch, what is taken back is what would be on the main timeline`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let users = [TestDevice.user, TestDevice.user, TestDevice.otherUser]
        var main = try UndoWorld(users: users)
        var branch = try UndoWorld(users: users, isOnBranch: true)
        let creations = Self.objects.map { Transaction.Creation(id: .given($0), type: "t") }
        func create(_ local: inout LocalTransaction) throws(WriteRefusal) {
            for creation in creations { try local.perform(.create(creation)) }
        }
        try main.write(0, create)
        try branch.write(0, create)
        try main.synchronise()
        try branch.synchronise()
        var (reportCount, wrote, wasAsked) = (0, Set<Int>(), false)
        for step in 0..<30 {
            let device = random.below(3)
            switch random.below(10) {
            case 0...4:
                var same = random
                let count = main.history.changes.count
                try self.write(&main, device, &random)
                if main.history.changes.count > count { wrote.insert(device) }
                try self.write(&branch, device, &same)
            case 5, 6:
                try main.synchronise()
                try branch.synchronise()
            default:
                let isRedo = random.below(3) == 0
                if !isRedo, wrote.contains(device) { wasAsked = true }
                let reports = try [main.reverse(device, isRedo: isRedo), branch.reverse(device, isRedo: isRedo)]
                // Their chains begin with other changes, so the names of all that follow differ.
                #expect(reports[0]?.change.sequence == reports[1]?.change.sequence, "seed \(seed), step \(step)")
                let kept = reports.map { report in
                    report?.kept.map { kept in
                        var kept = kept
                        kept.author?.branch = nil
                        return kept
                    }
                }
                #expect(kept[0] == kept[1], "seed \(seed), step \(step)")
                if reports[0] != nil { reportCount += 1 }
            }
            let states = try [main.state(device), branch.state(device)]
            #expect(states[0] == states[1], "seed \(seed), step \(step)")
        }
        #expect(reportCount > 0 || !wasAsked, "seed \(seed)")
    }

    /// Found by the simulator, seed 285.
    @Test func `an object that comes back stands where it stood, although it was made anew meanwhile`() throws {
        var world = try UndoWorld(users: [TestDevice.user, TestDevice.user])
        let creation = Transaction.Step.create(Transaction.Creation(id: .given(Self.objects[0]), type: "t"))
        try world.write(0) { local throws(WriteRefusal) in try local.perform(creation) }
        let before = try world.state(0)
        try world.write(0) { local throws(WriteRefusal) in try local.perform(.delete(Self.objects[0])) }
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(Self.objects[1]), type: "t")))
            try local.perform(creation)
            try local.perform(.move(Self.objects[0], parent: Self.objects[1], before: nil))
        }
        for _ in 0..<2 { #expect(try world.reverse(0, isRedo: false) != nil) }
        #expect(try world.state(0) == before)
    }

    /// Values of which six fit into one change.
    @Test(arguments: Seeds.range(from: 32_000, count: 8))
    func `what one change cannot take back is named, and bars nothing else`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var world = try UndoWorld(users: [TestDevice.user])
        let object = Self.objects[0]
        let large = Value.bytes([UInt8](repeating: 7, count: 1_000_000))
        let names = (0..<6 + random.below(6)).map { "v\($0)" }
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(object), type: "t", properties: ["a": .int(1)])))
        }
        for name in names {
            try world.write(0) { local throws(WriteRefusal) in
                try local.perform(.set(object, name: name, value: large))
            }
        }
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.set(object, name: "a", value: .int(2)))
        }
        let isDeleted = random.below(2) == 0
        try world.write(0) { local throws(WriteRefusal) in
            for name in names { try local.perform(.unset(object, name: name)) }
            try local.perform(isDeleted ? .delete(object) : .move(object, parent: nil, before: nil))
        }
        let removed = try world.state(0)
        let report = try #require(try world.reverse(0, isRedo: false))
        let kept = report.kept.filter { $0.reason == .tooLarge }
        #expect(kept.count == names.count - 6 && kept.count == report.kept.count, "seed \(seed): \(report.kept)")
        let found = try world.state(0)[object]?.properties.count
        #expect(found == 1 + 6, "seed \(seed): \(found ?? 0) properties")
        // Done again, and taken back again, it is the same.
        let partial = try world.state(0)
        #expect(try world.reverse(0, isRedo: true)?.kept == [])
        #expect(try world.state(0) == removed, "seed \(seed)")
        #expect(try world.reverse(0, isRedo: false)?.kept.count == kept.count)
        #expect(try world.state(0) == partial, "seed \(seed)")
        // What was written before can still be taken back.
        #expect(try world.reverse(0, isRedo: false)?.kept == [])
        #expect(try world.state(0)[object]?.properties[ModelText("a")] == .int(1), "seed \(seed)")
    }

    @Test(arguments: [0, 1_000])
    func `an undo holds as many edits as any write, and says what it takes back`(byteCount: Int) throws {
        let replica = ReplicaID(bytes: Bytes16(high: 1, low: 1))
        let value = Value.bytes([UInt8](repeating: 7, count: byteCount))
        var counts: [Int] = []
        for isUndo in [false, true] {
            var plan = TransactionPlan(namespace: ObjectID(bytes: Bytes16(high: 1, low: 1)), user: TestDevice.user)
            let target = NamedChange(replica: replica, sequence: 1, hash: .zero)
            if isUndo { try plan.note(Undo(target: target, isRedo: false, next: target)) }
            counts.append(0)
            while (try? plan.set(Self.objects[0], name: "n", value: value)) != nil { counts[counts.count - 1] += 1 }
            #expect(plan.edits.count <= Limits.changeOperationCountMax)
            #expect(plan.edits.reduce(0) { $0 + $1.byteCount } <= Limits.editByteCountMax)
        }
        #expect(counts[0] > 5_000 && counts[1] >= counts[0], "\(counts)")
    }

    @Test func `what was undone before an edit is not done again after it`() throws {
        var world = try UndoWorld(users: [TestDevice.user])
        let object = Self.objects[0]
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(object), type: "t")))
        }
        try world.write(0) { local throws(WriteRefusal) in try local.perform(.delete(object)) }
        #expect(try world.reverse(0, isRedo: false) != nil)
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.set(object, name: "a", value: .int(1)))
        }
        #expect(try world.reverse(0, isRedo: true) == nil)
        // Nor after that edit was itself taken back and done again.
        #expect(try world.reverse(0, isRedo: false) != nil)
        #expect(try world.reverse(0, isRedo: true) != nil)
        #expect(try world.reverse(0, isRedo: true) == nil)
        #expect(try world.state(0)[object] != nil)
    }

    @Test(arguments: [false, true])
    func `another device's word about a change moves no undo`(isRedo: Bool) throws {
        var world = try UndoWorld(users: [TestDevice.user, TestDevice.user])
        let object = Self.objects[0]
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(object), type: "t")))
        }
        for n in 1...3 {
            try world.write(0) { local throws(WriteRefusal) in
                try local.perform(.set(object, name: "a", value: .int(Int64(n))))
            }
        }
        if isRedo { #expect(try world.reverse(0, isRedo: false) != nil) }
        try world.synchronise()
        let last = try #require(world.history.changes.last)
        let named = NamedChange(replica: last.replica, sequence: last.sequence, hash: last.hash)
        try world.append([.undo(Undo(target: named, isRedo: isRedo))], by: 1)
        try world.synchronise()
        #expect(try world.reverse(0, isRedo: isRedo)?.hasEffect == true)
        #expect(try world.state(0)[object]?.properties[ModelText("a")] == .int(isRedo ? 3 : 2))
    }

    @Test func `what another device takes back is no step of its own, and none any more of the one that did it`() throws
    {
        var world = try UndoWorld(users: [TestDevice.user, TestDevice.user])
        let object = Self.objects[0]
        func value() throws -> [Value?] { try (0..<2).map { try world.state($0)[object]?.properties[ModelText("a")] } }
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(object), type: "t")))
        }
        for n in 1...4 {
            try world.write(0) { local throws(WriteRefusal) in
                try local.perform(.set(object, name: "a", value: .int(Int64(n))))
            }
        }
        try world.synchronise()
        try world.write(1) { local throws(WriteRefusal) in
            try local.perform(.set(object, name: "b", value: .int(1)))
        }
        for n in [3, 2] {
            #expect(try world.reverse(1, isRedo: false, of: 0)?.hasEffect == true)
            #expect(try world.state(1)[object]?.properties[ModelText("a")] == .int(Int64(n)))
        }
        #expect(try world.reverse(1, isRedo: true, of: 0)?.hasEffect == true)
        try world.synchronise()
        #expect(try value() == [.int(3), .int(3)])
        // It goes on where the other one has stopped; a redo of its own is none of what the other one has done.
        #expect(try world.reverse(0, isRedo: true) == nil)
        #expect(try world.reverse(0, isRedo: false)?.hasEffect == true)
        #expect(try world.state(0)[object]?.properties[ModelText("a")] == .int(2))
        try world.synchronise()
        #expect(try world.reverse(1, isRedo: false)?.hasEffect == true)
        #expect(try world.state(1)[object]?.properties[ModelText("b")] == nil)
        #expect(try world.state(1)[object]?.properties[ModelText("a")] == .int(2))
    }

    /// Undos and redos of one step, and steps each of which is taken back.
    @Test func `how long an undo looks does not depend on how much is taken back already`() throws {
        var world = try UndoWorld(users: [TestDevice.user, TestDevice.user])
        let object = Self.objects[0]
        try world.write(0) { local throws(WriteRefusal) in
            try local.perform(.create(Transaction.Creation(id: .given(object), type: "t")))
        }
        try world.synchronise()
        func set(_ number: Int) throws {
            try world.write(0) { local throws(WriteRefusal) in
                try local.perform(.set(object, name: "\(number)", value: .int(Int64(number))))
            }
        }
        for number in 0..<100 {
            try set(number)
            try set(1_000 + number)
            for isRedo in [false, false, true, true, false] {
                #expect(try world.reverse(0, isRedo: isRedo) != nil)
            }
            #expect(try number % 2 == 0 || world.reverse(0, isRedo: false) != nil)
        }
        for isRedo in [false, true, false, false, true, true, true] {
            let looked = try world.lookedAtCount(0, isRedo: isRedo)
            #expect(looked <= 6, "\(looked) changes")
            _ = try world.reverse(0, isRedo: isRedo)
        }
        #expect(try world.lookedAtCount(1, isRedo: false) == 0)
    }
}
