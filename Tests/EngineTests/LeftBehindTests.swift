import CRDTCore
import MergeModel
import Synchronization
import Testing

@testable import Engine

/// What is written to an object while somebody else, or another machine, moves it to another circle.
struct LeftBehindTests {
    private let people = People()

    /// Machines of several people.
    private final class People {
        let network = TestNetwork()

        func first() throws -> Int {
            var entropy = TestNetwork.entropy(1)
            guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
                throw TestFailure("no identity")
            }
            return try self.network.add(identity, seed: 2)
        }

        func user(_ machine: Int) -> UserID { self.network.users[machine].user }

        func create(_ machine: Int, _ title: Int64, below parent: ObjectID? = nil) throws -> ObjectID {
            let properties = [ExactText("title"): Value.int(title)]
            return try self.network
                .write(machine, .create(.init(type: "note", parent: parent, properties: properties))).created[0]
        }

        func share(_ object: ObjectID, _ machine: Int, with other: Int, as role: Role = .writer) throws {
            let user = self.user(other)
            try self.network.write(machine) { local throws(WriteRefusal) in
                _ = try local.share(object, with: user, as: role)
            }
        }

        struct Shown: Equatable {
            var title: Int64?
            var note: Int64?
            var parent: ObjectID?
        }

        func shown(_ machine: Int) throws -> [ObjectID: Shown] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var state = CombinedState(.present, of: transaction)
                var shown: [ObjectID: Shown] = [:]
                for index in try state.visibleObjects() {
                    let record = try state.object(index)
                    var item = Shown()
                    item.parent = try record.parent.map { above throws(StoreError) in try state.object(above).id }
                    for case (let name, .int(let value)) in try state.properties(of: index) {
                        if name == "title" { item.title = value } else { item.note = value }
                    }
                    shown[record.id] = item
                }
                return shown
            }
        }

        /// The circles in which an object lives, as far as a machine knows.
        func circles(of id: ObjectID, _ machine: Int) throws -> [Circle] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var circles: [Circle] = []
                for object in try transaction.objects(of: id) where try transaction.isAlive(object) {
                    circles.append(transaction.circles[transaction.object(object).circle])
                }
                return circles
            }
        }

        /// How often an object was moved to another circle, as far as a machine knows.
        func moveCount(of id: ObjectID, _ machine: Int) throws -> Int {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var count = -1
                for object in try transaction.objects(of: id) { count += try transaction.creations(of: object).count }
                return count
            }
        }

        /// The values that compete with the title that shows.
        func competing(with id: ObjectID, _ machine: Int) throws -> [Value] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                guard let shown = try transaction.existingObjectIndex(of: id),
                    let name = transaction.existingNameIndex(of: "title")
                else { return [] }
                var writes = transaction.conflicts(at: RegisterKey(object: shown, name: name))
                writes += try transaction.leftWrites(behind: shown).filter { $0.name == name }.map(\.write)
                var values: [Value] = []
                for write in writes {
                    if case .set(_, _, let value) = try transaction.edit(write) { values.append(value) }
                }
                return values
            }
        }

        /// What is left behind, as values of what was written.
        func left(_ machine: Int, onlyInForce: Bool = false) throws -> [Value?] {
            try self.network.machines[machine].node.read { transaction throws(StoreError) in
                var values: [Value?] = []
                for contested in try transaction.contestedObjects() {
                    for left in try contested.writes(in: &transaction) {
                        // What was put below something that is gone, or below itself, goes nowhere.
                        if left.name == .place || onlyInForce && !left.isInForce { continue }
                        guard case .set(_, _, let value) = try transaction.edit(left.write) else {
                            values.append(nil)
                            continue
                        }
                        values.append(value)
                    }
                }
                return values
            }
        }
    }

    private var network: TestNetwork { self.people.network }

    @Test func `what another machine wrote while something was shared is in the share`() throws {
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let folder = try self.people.create(first, 1)
        let list = try self.people.create(first, 2, below: folder)
        let task = try self.people.create(first, 3, below: list)
        let gone = try self.people.create(first, 4, below: folder)
        let other = try self.people.create(first, 5)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's laptop", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        self.network.cut(first, phone)
        self.network.cut(phone, ann)
        try self.network.write(phone, .set(list, name: "title", value: .int(20)))
        try self.network.write(phone, .set(task, name: "note", value: .int(30)))
        try self.network.write(phone, .move(task, parent: folder, before: nil))
        try self.network.write(phone, .move(gone, parent: other, before: nil))
        let child = try self.people.create(phone, 6, below: list)
        let grandchild = try self.people.create(phone, 7, below: child)
        self.network.sleep(seconds: 60)
        try self.people.share(folder, first, with: ann)
        self.network.healAll()
        self.network.settle(seconds: 120)
        let shared: [ObjectID: People.Shown] = [
            folder: .init(title: 1),
            list: .init(title: 20, parent: folder),
            task: .init(title: 3, note: 30, parent: folder),
            child: .init(title: 6, parent: list),
            grandchild: .init(title: 7, parent: child),
        ]
        #expect(try self.people.shown(ann) == shared)
        let own = shared.merging([gone: .init(title: 4, parent: other), other: .init(title: 5)]) { first, _ in first }
        for machine in [first, phone] {
            #expect(try self.people.shown(machine) == own)
            for object in shared.keys {
                #expect(try self.people.circles(of: object, machine).count == 1)
            }
            #expect(try self.people.circles(of: gone, machine) == [.home])
            #expect(try self.people.left(machine) == [])
        }
    }

    @Test func `what others wrote where it was competes where it is now, and is carried by who reads both`() throws {
        let first = try self.people.first()
        let folder = try self.people.create(first, 1)
        let source = try self.people.create(first, 2, below: folder)
        let target = try self.people.create(first, 3, below: folder)
        let task = try self.people.create(first, 4, below: source)
        let (ann, bob, eve) = (
            try self.network.join(first, name: "ann's", person: "ann", seed: 4),
            try self.network.join(first, name: "bob's", person: "bob", seed: 5),
            try self.network.join(first, name: "eve's", person: "eve", seed: 6)
        )
        self.network.settle(seconds: 30)
        // Ann writes in both shares, Bob in the first alone, Eve reads the second.
        for machine in [ann, bob] { try self.people.share(source, first, with: machine) }
        try self.people.share(target, first, with: ann)
        try self.people.share(target, first, with: eve, as: .reader)
        self.network.settle(seconds: 30)
        for machine in [ann, bob, eve] { self.network.cut(first, machine) }
        self.network.cut(ann, bob)
        try self.network.write(bob, .set(task, name: "title", value: .int(40)))
        try self.network.write(ann, .set(task, name: "note", value: .int(50)))
        self.network.sleep(seconds: 60)
        try self.network.write(first, .move(task, parent: target, before: nil))
        self.network.healAll()
        self.network.settle(seconds: 120)
        let moved = People.Shown(title: 4, note: 50, parent: target)
        for machine in [first, ann, eve] { #expect(try self.people.shown(machine)[task] == moved) }
        // He does not read where it is now, and goes on where it was.
        #expect(try self.people.shown(bob)[task] == .init(title: 40, note: 50, parent: source))
        for machine in [first, ann] { #expect(try self.people.left(machine) == [.int(40)]) }
        try self.network.write(first, .set(task, name: "title", value: .int(60)))
        self.network.settle(seconds: 60)
        for machine in [first, ann] { #expect(try self.people.left(machine) == []) }
        #expect(try self.people.shown(eve)[task]?.title == 60)
    }

    @Test func `what a branch wrote is where the object was moved meanwhile, once it is merged`() throws {
        let first = try self.people.first()
        let list = try self.people.create(first, 1)
        let task = try self.people.create(first, 2, below: list)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        let opened = Mutex<BranchID?>(nil)
        try self.network.write(first) { local throws(WriteRefusal) in
            let id = try local.openBranch(named: "draft", leaving: nil, at: nil)
            opened.withLock { $0 = id }
        }
        let branch = try #require(opened.withLock { $0 })
        try self.network.write(first, on: branch) { local throws(WriteRefusal) in
            try local.perform(.set(task, name: "title", value: .int(20)))
            try local.perform(.create(.init(type: "note", parent: list, properties: [ExactText("title"): .int(3)])))
        }
        try self.people.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        #expect(try self.people.shown(ann).values.compactMap(\.title).sorted() == [1, 2])
        try self.network.write(first) { local throws(WriteRefusal) in _ = try local.merge(branch) }
        self.network.settle(seconds: 30)
        for machine in [first, ann] {
            let shown = try self.people.shown(machine)
            #expect(shown[task] == .init(title: 20, parent: list))
            #expect(shown.values.compactMap(\.title).sorted() == [1, 3, 20])
        }
    }

    @Test func `what another machine put below something that left a share leaves it too`() throws {
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let share = try self.people.create(first, 1)
        let folder = try self.people.create(first, 2, below: share)
        let inside = try self.people.create(first, 3, below: folder)
        let own = try self.people.create(first, 4)
        let drawer = try self.people.create(first, 5)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 4)
        try self.people.share(share, first, with: ann)
        self.network.settle(seconds: 30)
        self.network.cut(first, phone)
        self.network.cut(phone, ann)
        let child = try self.people.create(phone, 6, below: folder)
        try self.network.write(phone, .set(inside, name: "title", value: .int(30)))
        try self.network.write(phone, .delete(inside))
        try self.network.write(phone, .move(drawer, parent: folder, before: nil))
        try self.network.write(first, .move(folder, parent: own, before: nil))
        self.network.healAll()
        self.network.settle(seconds: 60)
        for machine in [first, phone] {
            let shown = try self.people.shown(machine)
            #expect(shown[child] == .init(title: 6, parent: folder))
            #expect(shown[drawer] == .init(title: 5, parent: folder))
            // It was deleted and moved at once, so it stays, with what was written to it.
            #expect(shown[inside] == .init(title: 30, parent: folder))
            for object in [folder, inside, child, drawer] {
                #expect(try self.people.circles(of: object, machine) == [.home])
            }
        }
        #expect(try self.people.shown(ann) == [share: .init(title: 1)])
    }

    @Test func `a folder of one's own is deleted, and not what others share below it`() throws {
        let first = try self.people.first()
        let list = try self.people.create(first, 1)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 4)
        try self.people.share(list, first, with: ann)
        self.network.settle(seconds: 30)
        let folder = try self.people.create(ann, 2)
        let note = try self.people.create(ann, 3, below: folder)
        try self.network.write(ann, .move(list, parent: folder, before: nil))
        try self.network.write(ann, .delete(folder))
        self.network.settle(seconds: 30)
        #expect(try self.people.shown(ann) == [list: .init(title: 1)])
        #expect(try self.people.shown(first) == [list: .init(title: 1)])
        #expect(try self.people.shown(ann)[note] == nil)
    }

    @Test func `what is moved away after it was carried over stays away`() throws {
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let list = try self.people.create(first, 1)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 4)
        self.network.settle(seconds: 30)
        self.network.cut(first, phone)
        self.network.cut(phone, ann)
        let child = try self.people.create(phone, 6, below: list)
        try self.people.share(list, first, with: ann)
        self.network.healAll()
        self.network.settle(seconds: 60)
        #expect(try self.people.shown(ann)[child] == .init(title: 6, parent: list))
        try self.network.write(phone, .move(child, parent: nil, before: nil))
        self.network.settle(seconds: 60)
        for machine in [first, phone] { #expect(try self.people.shown(machine)[child] == .init(title: 6)) }
        #expect(try self.people.shown(ann)[child] == nil)
        try self.network.restart(phone, with: self.network.copyStore(of: phone), seed: 77)
        self.network.settle(seconds: 60)
        #expect(try self.people.shown(ann)[child] == nil)
    }

    /// Two machines of one user move a task at once: one out of everything shared, the other one to another share, with
    /// the folder that it is in.
    private func twins(with readers: inout [Int]) throws -> (first: Int, phone: Int, task: ObjectID, list: ObjectID) {
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let list = try self.people.create(first, 1)
        self.network.settle(seconds: 10)
        let (ann, bob) = (
            try self.network.join(first, name: "ann's", person: "ann", seed: 4),
            try self.network.join(first, name: "bob's", person: "bob", seed: 5)
        )
        self.network.settle(seconds: 30)
        try self.people.share(list, first, with: ann)
        let folder = try self.people.create(first, 5, below: list)
        let task = try self.people.create(first, 2, below: folder)
        let note = try self.people.create(first, 3, below: task)
        self.network.settle(seconds: 30)
        let target = try self.people.create(first, 4)
        try self.people.share(target, first, with: bob)
        self.network.settle(seconds: 30)
        self.network.cut(first, phone)
        for machine in [ann, bob] { self.network.cut(phone, machine) }
        try self.network.write(first, .move(task, parent: nil, before: nil))
        try self.network.write(phone, .move(folder, parent: target, before: nil))
        self.network.healAll()
        self.network.settle(seconds: 60)
        for machine in [first, phone] {
            #expect(try self.people.shown(machine)[task] == .init(title: 2))
            for object in [task, note] { #expect(try self.people.circles(of: object, machine).count == 2) }
        }
        #expect(try self.people.shown(bob)[note] == .init(title: 3, parent: task))
        readers = [ann, bob]
        return (first, phone, task, list)
    }

    @Test(arguments: 0..<4)
    func `what two machines moved at once leaves the other share by what its user does next`(deed: Int) throws {
        var readers: [Int] = []
        let (first, phone, task, list) = try self.twins(with: &readers)
        let bob = readers[1]
        switch deed {
        case 0:
            let user = self.people.user(bob)
            try self.network.write(first) { local throws(WriteRefusal) in try local.unshare(task, with: user) }
        case 1: try self.people.share(task, first, with: readers[0])
        case 2: try self.network.write(first, .move(task, parent: list, before: nil))
        default: try self.network.write(phone, .delete(task))
        }
        self.network.settle(seconds: 60)
        #expect(try self.people.shown(bob).values.compactMap(\.title).sorted() == [4, 5])
        for machine in [first, phone] {
            let shown = try self.people.shown(machine)
            #expect(shown.count == (deed == 3 ? 3 : 5))
            for object in shown.keys { #expect(try self.people.circles(of: object, machine).count == 1) }
        }
    }

    @Test func `what two machines shared at once is shared with both once one of them says it again`() throws {
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let list = try self.people.create(first, 1)
        self.network.settle(seconds: 10)
        let readers = [
            try self.network.join(first, name: "ann's", person: "ann", seed: 4),
            try self.network.join(first, name: "bob's", person: "bob", seed: 5),
        ]
        self.network.settle(seconds: 30)
        self.network.cut(first, phone)
        for machine in readers { self.network.cut(phone, machine) }
        try self.people.share(list, first, with: readers[0])
        try self.people.share(list, phone, with: readers[1])
        self.network.healAll()
        self.network.settle(seconds: 60)
        for reader in readers {
            #expect(try self.people.shown(reader) == [list: .init(title: 1)])
            try self.people.share(list, phone, with: reader)
        }
        try self.network.write(first, .set(list, name: "title", value: .int(2)))
        self.network.settle(seconds: 60)
        for machine in readers + [first, phone] { #expect(try self.people.shown(machine) == [list: .init(title: 2)]) }
        for machine in [first, phone] { #expect(try self.people.circles(of: list, machine).count == 1) }
    }

    /// Whatever one user writes, on whichever of his machines and wherever, the last write shows or competes.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `the last write to a property is not lost, whatever was moved meanwhile`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let first = try self.people.first()
        let phone = try self.network.join(first, name: "phone", seed: 3)
        let tablet = try self.network.join(first, name: "tablet", seed: 4)
        self.network.settle(seconds: 30)
        let ann = try self.network.join(first, name: "ann's", person: "ann", seed: 5)
        self.network.settle(seconds: 30)
        let machines = [first, phone, tablet]
        var (last, next, deeds): ([ObjectID: Int64], Int64, [String]) = ([:], 0, [])
        for _ in 0..<60 {
            let machine = machines[random.below(machines.count)]
            let objects = try self.people.shown(machine).keys.sorted()
            func any() -> ObjectID? { objects.isEmpty ? nil : objects[random.below(objects.count)] }
            // No two writes have the same time.
            self.network.sleep(milliseconds: 5)
            let deed = random.below(20)
            next += 1
            do {
                switch deed {
                case 0..<5:
                    let object = try self.people.create(machine, next, below: random.below(3) == 0 ? nil : any())
                    last[object] = next
                case 5..<10:
                    guard let object = any() else { continue }
                    try self.network.write(machine, .set(object, name: "title", value: .int(next)))
                    last[object] = next
                case 10..<14:
                    guard let object = any() else { continue }
                    try self.network.write(machine, .move(object, parent: any(), before: nil))
                case 14, 15:
                    guard let object = any() else { continue }
                    try self.people.share(object, machine, with: ann, as: .reader)
                case 16, 17:
                    let other = machines[random.below(machines.count)]
                    if other != machine { self.network.cut(machine, other) }
                case 18: self.network.healAll()
                default: self.network.settle(seconds: UInt64(random.below(8)))
                }
                deeds.append("\(next) \(machine): \(deed)")
            } catch is WriteRefusal {
                deeds.append("\(machine): \(deed) refused")
            }
        }
        self.network.healAll()
        self.network.settle(seconds: 300)
        let told = Comment("seed \(seed): \(deeds.joined(separator: ", "))")
        let shown = try self.people.shown(first)
        // What is carried over without a later write being here competes with that.
        var lost: [String] = []
        for (object, value) in last where shown[object]?.title != value {
            // Where it was moved back and forth, what the moves took along competes with what was written meanwhile.
            if try self.people.moveCount(of: object, first) > 1 { continue }
            if try self.people.competing(with: object, first).contains(.int(value)) { continue }
            lost.append("\(object) is \(shown[object].map { "\($0)" } ?? "nothing") and not \(value)")
        }
        #expect(lost == [], told)
        #expect(shown.count == last.count, told)
        for machine in machines {
            #expect(try self.people.shown(machine) == shown, told)
            #expect(try self.people.left(machine, onlyInForce: true) == [], told)
        }
        // What is in a share for both is the same for both.
        for (object, item) in try self.people.shown(ann) {
            let circles = try self.people.circles(of: object, first)
            if circles.count == 1, circles != [.home] { #expect(shown[object]?.title == item.title, told) }
        }
    }
}
