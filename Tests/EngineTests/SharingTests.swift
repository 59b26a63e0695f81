import CRDTCore
import MergeModel
import PeerCrypto
import Synchronization
import Testing

@testable import Engine

/// Writing in several circles: what is shared, by whom it may be edited, and where it shows.
struct SharingTests {
    private let network = TestNetwork()
    private static let stranger = UserID(bytes: Bytes32(1, 2, 3, 4))

    /// The machine of the founder.
    private func first() throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try self.network.add(identity, seed: 2)
    }

    /// The machine of another user who has all that another machine has.
    private func other(beside machine: Int, seed: UInt64) throws -> Int {
        var entropy = TestNetwork.entropy(seed)
        let founder = self.network.users[machine].founder
        guard
            let identity = DeviceIdentity.entering(
                name: "other",
                founder: founder,
                workspaceNonce: self.network.users[machine].workspaceNonce,
                membershipKey: SecretBytes(Array(repeating: 1, count: 32)),
                entropy: &entropy
            )
        else { throw TestFailure("no identity") }
        return try self.network.add(identity, store: self.network.copyStore(of: machine), token: 2, seed: seed + 100)
    }

    private func user(_ machine: Int) -> UserID { self.network.users[machine].user }

    private func tree(_ machine: Int) throws -> [ShownObject] { try self.network.tree(machine) }

    private func create(
        _ machine: Int,
        _ title: String,
        below parent: ObjectID? = nil
    ) throws -> ObjectID {
        let properties = [ExactText("title"): Value.string(title)]
        return try self.network.write(machine, .create(.init(type: "note", parent: parent, properties: properties)))
            .created[0]
    }

    @discardableResult
    private func share(_ object: ObjectID, _ machine: Int, with user: UserID, as role: Role) throws -> WriteReceipt {
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    @Test func `what is shared stays where it was, and its circle says nothing of what is around it`() throws {
        let machine = try self.first()
        let folder = try self.create(machine, "folder")
        let ids = try ["a", "list", "z"].map { try self.create(machine, $0, below: folder) }
        let list = ids[1]
        let tasks = try ["t1", "t2", "t3"].map { try self.create(machine, $0, below: list) }
        try self.network.write(machine, .move(tasks[2], parent: list, before: tasks[0]))
        let before = try self.tree(machine)

        try self.share(list, machine, with: Self.stranger, as: .writer)

        let after = try self.tree(machine)
        #expect(after.map(\.id) == before.map(\.id))
        #expect(after.map(\.parent) == before.map(\.parent))
        #expect(after.map(\.properties) == before.map(\.properties))
        let shared = after.filter { $0.circle != .home }
        #expect(Set(shared.map(\.id)) == Set(tasks + [list]))
        #expect(Set(shared.map(\.circle)).count == 1)
        // What its readers get names nothing else.
        let own = Set(tasks + [list])
        for edit in try self.edits(machine, in: shared[0].circle) {
            if let object = edit.object { #expect(own.contains(object)) }
            if case .move(_, let place) = edit, let parent = place.parent { #expect(own.contains(parent)) }
        }
    }

    /// All edits of a circle.
    private func edits(_ machine: Int, in circle: Circle) throws -> [Edit] {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in
            var edits: [Edit] = []
            for segment in transaction.segmentIndices
            where transaction.circles[transaction.progress(of: segment).circle] == circle {
                let run = transaction.loadRun(of: segment, from: 1, limits: RunLimits(), signed: true)
                for operation in run?.operations ?? [] {
                    if let edit = try? run?.edit(operation) { edits.append(edit) }
                }
            }
            return edits
        }
    }

    @Test func `what is made below something shared is shared, and what is moved out is not`() throws {
        let machine = try self.first()
        let list = try self.create(machine, "list")
        let folder = try self.create(machine, "folder")
        let task = try self.create(machine, "task", below: list)
        try self.share(list, machine, with: Self.stranger, as: .reader)
        let step = try self.create(machine, "step", below: task)
        let note = try self.create(machine, "note", below: folder)
        var circles = try self.circles(machine)
        let circle = try #require(circles[list])
        #expect(circle != .home)
        #expect(circles[step] == circle)
        #expect(circles[note] == .home)

        // A part of it is taken out, and comes back.
        try self.network.write(machine, .move(task, parent: folder, before: note))
        circles = try self.circles(machine)
        #expect(circles[task] == .home)
        #expect(circles[step] == .home)
        #expect(try self.tree(machine).map(\.id) == [list, folder, task, step, note])
        try self.network.write(machine, .move(folder, parent: list, before: nil))
        #expect(try self.tree(machine).map(\.id) == [list, folder, task, step, note])
        #expect(try Set(self.circles(machine).values) == [circle])
        // All of it stands elsewhere, and is shared there, too.
        let drawer = try self.create(machine, "drawer")
        try self.network.write(machine, .move(list, parent: drawer, before: nil))
        #expect(try self.tree(machine).map(\.id) == [drawer, list, folder, task, step, note])
        #expect(try self.circles(machine)[list] == circle)
        try self.network.write(machine, .move(list, parent: nil, before: drawer))
        #expect(try self.tree(machine).map(\.id) == [list, folder, task, step, note, drawer])
        try self.network.write(machine, .delete(task))
        #expect(try self.tree(machine).map(\.id) == [list, folder, note, drawer])
        #expect(try self.tree(machine).compactMap { $0.properties["title"] }.count == 4)
    }

    private func circles(_ machine: Int) throws -> [ObjectID: Circle] {
        Dictionary(uniqueKeysWithValues: try self.tree(machine).map { ($0.id, $0.circle) })
    }

    @Test func `what has no room in one transaction is shared in several, and stays in sight meanwhile`() throws {
        let machine = try self.first()
        let list = try self.create(machine, "list")
        var parents = [list]
        for number in 0..<64 {
            let title = String(repeating: "\(number) ", count: 40_000)
            parents.append(try self.create(machine, title, below: parents[number / 3]))
        }
        let before = try self.tree(machine).map(\.id)
        #expect(before.count == 65)
        var counts: [Int] = []
        while true {
            let report = Mutex<ShareReport?>(nil)
            try self.network.write(machine) { local throws(WriteRefusal) in
                let done = try local.share(list, with: Self.stranger, as: .reader)
                report.withLock { $0 = done }
            }
            let done = try #require(report.withLock { $0 })
            counts.append(done.movedCount)
            // All of it stands where it stood, in whichever circle it is.
            #expect(try self.tree(machine).map(\.id) == before)
            let circles = try self.circles(machine)
            #expect(circles.values.count { $0 == done.circle } == counts.reduce(0, +))
            if !done.isHalfDone { break }
        }
        #expect(counts.count > 1)
        #expect(counts.reduce(0, +) == 65)
        #expect(try Set(self.circles(machine).values).count == 1)
    }

    @Test func `somebody else writes what he was given, and nothing else`() throws {
        let machine = try self.first()
        let list = try self.create(machine, "list")
        let task = try self.create(machine, "task", below: list)
        let own = try self.create(machine, "own")
        // Who he is has to be known before he is given anything.
        let stranger = self.user(try self.other(beside: machine, seed: 9))
        try self.share(list, machine, with: stranger, as: .reader)
        let reader = try self.other(beside: machine, seed: 9)
        #expect(self.user(reader) == stranger)
        self.refuses(reader, .set(task, name: "title", value: .string("x")), .notPermitted(.write("title"), task))
        self.refuses(reader, .create(.init(type: "note", parent: list)), nil)
        try self.share(list, machine, with: stranger, as: .writer)

        let writer = try self.other(beside: machine, seed: 9)
        try self.network.write(writer, .set(task, name: "title", value: .string("done")))
        let step = try self.create(writer, "step", below: task)
        #expect(try self.circles(writer)[step] == self.circles(writer)[list])
        #expect(try self.tree(writer).first { $0.id == task }?.properties["title"] == .string("done"))
        self.refuses(writer, .set(own, name: "title", value: .string("x")), .notPermitted(.write("title"), own))
        self.refuses(writer, .delete(own), .notPermitted(.role(.writer), own))
        // What is his alone is in a circle of his own.
        let note = try self.create(writer, "mine")
        #expect(try self.circles(writer)[note] == .own(of: stranger))
        // He says nothing about who may do what.
        #expect(throws: WriteRefusal.notPermitted(.role(.manager), nil)) {
            try self.share(list, writer, with: Self.stranger, as: .reader)
        }
        // He goes on in the same chain when he comes again.
        let count = try self.chainCount(writer)
        try self.network.restart(writer, with: self.network.copyStore(of: writer), token: 2, seed: 31)
        try self.network.write(writer, .set(task, name: "title", value: .string("again")))
        #expect(try self.chainCount(writer) == count)
    }

    private func chainCount(_ machine: Int) throws -> Int {
        try self.network.machines[machine].node.read { transaction throws(StoreError) in transaction.segmentCount }
    }

    private func refuses(_ machine: Int, _ step: Transaction.Step, _ refusal: WriteRefusal?) {
        do {
            _ = try self.network.write(machine, step)
            Issue.record("\(step) was written")
        } catch let error as WriteRefusal {
            if let refusal { #expect(error == refusal) }
        } catch {
            Issue.record(error)
        }
    }
}
