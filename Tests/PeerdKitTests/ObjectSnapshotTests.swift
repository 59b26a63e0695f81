import Foundation
import PeerdKit
import Testing

private let text = Property<String>("text")
private let number = Property<Double>("number")

/// Snapshots of objects, and what a restore makes of them.
struct ObjectSnapshotTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    private func workspace(_ name: String = "w") async throws -> Workspace {
        try await Workspace.create(at: self.place.directory(name), name: "first")
    }

    /// The objects of a snapshot, without times and exact positions.
    private struct Tree: Equatable {
        var properties: [String: NSDictionary] = [:]
        var kinds: [String: [String]] = [:]
        var children: [String: [String]] = [:]

        init(_ json: Data) throws {
            let document = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
            let objects = try #require(document["objects"] as? [[String: Any]])
            var places: [(parent: String, position: String, id: String)] = []
            for object in objects {
                let id = try #require(object["id"] as? String)
                self.properties[id] = object["properties"] as? NSDictionary
                self.kinds[id] = [object["type"], object["kind"]].map { $0 as? String ?? "" }
                places.append((object["parent"] as? String ?? "root", object["position"] as? String ?? "", id))
            }
            for place in places.sorted(by: { $0.position.utf8.lexicographicallyPrecedes($1.position.utf8) }) {
                self.children[place.parent, default: []].append(place.id)
            }
        }

        /// The same of those objects alone that another tree has.
        func limited(to other: Tree) -> Tree {
            var tree = self
            tree.properties = self.properties.filter { other.properties[$0.key] != nil }
            tree.kinds = self.kinds.filter { other.kinds[$0.key] != nil }
            tree.children = self.children.mapValues { $0.filter { other.properties[$0] != nil } }
                .filter { !$0.value.isEmpty }
            return tree
        }
    }

    private func tree(_ snapshot: ObjectSnapshot, _ workspace: Workspace) async throws -> Tree {
        try Tree(try await workspace.exportSnapshot(snapshot.id))
    }

    /// Restores, and checks that the objects are what they were, and that a second restore writes nothing.
    private func checkRestore(_ snapshot: ObjectSnapshot, _ workspace: Workspace) async throws -> SnapshotRestoration {
        let result = try await workspace.restoreSnapshot(snapshot.id)
        var wanted = try await self.tree(snapshot, workspace)
        var after = try await self.tree(try await workspace.takeSnapshot(of: snapshot.object), workspace)
        if result.missingParent != nil {
            // The object at the top could not be put where it was.
            wanted.children = wanted.children.filter { $0.value != [snapshot.object.description] }
            after.children = after.children.filter { $0.value != [snapshot.object.description] }
        }
        #expect(after.limited(to: wanted) == wanted)
        let count = try await workspace.status().changeCount
        #expect(try await workspace.restoreSnapshot(snapshot.id).transactionCount == 0)
        #expect(try await workspace.status().changeCount == count)
        return result
    }

    @Test(arguments: 0..<25)
    func `after any edits a restore makes the tree what it was, and then writes nothing`(seed: UInt64) async throws {
        var random = Generator(state: seed)
        let workspace = try await self.workspace()
        let top = try await workspace.write { transaction in
            let outside = try transaction.create("shelf")
            let top = try transaction.create("top", in: outside)
            _ = try transaction.create("neighbour", in: outside)
            return top
        }
        var all = [top]
        for _ in 0..<30 { try await Self.edit(workspace, &all, top, &random) }
        let snapshot = try await workspace.takeSnapshot(of: top, name: "seed \(seed)")
        let size = try await self.tree(snapshot, workspace).properties.count
        #expect(snapshot.objectCount == size)
        for round in 0..<3 {
            for _ in 0..<(round * 12 + 1) { try await Self.edit(workspace, &all, nil, &random) }
            _ = try await self.checkRestore(snapshot, workspace)
        }
        #expect(try await workspace.diagnose().isHealthy)
        await workspace.close()
    }

    /// Makes one edit of something; nothing is deleted while one must be kept.
    private static func edit(
        _ workspace: Workspace,
        _ all: inout [ObjectID],
        _ kept: ObjectID?,
        _ random: inout Generator
    ) async throws {
        let (choice, value) = (random.next(upTo: 8), random.next(upTo: 1000))
        let (one, other) = (all[random.next(upTo: all.count)], all[random.next(upTo: all.count)])
        let made: ObjectID?? = try? await workspace.write { transaction -> ObjectID? in
            switch choice {
            case 0, 1, 2: return try transaction.create("item", kind: "\(value)", in: one)
            case 3: try transaction.set(Property<Int>("n\(value % 3)"), to: value, on: one)
            case 4: try transaction.unset(Property<Int>("n\(value % 3)"), on: one)
            case 5: try transaction.move(one, to: other, at: .first)
            case 6: try transaction.move(one, to: value.isMultiple(of: 4) ? nil : other)
            default: if kept == nil, value < 300 { try transaction.delete(one) }
            }
            return nil
        }
        if case .some(.some(let object)) = made { all.append(object) }
    }

    @Test func `a deleted subtree comes back with odd names and every kind of value, under its ids`() async throws {
        let workspace = try await self.workspace()
        let names = ["", "a\u{0}b", "\u{202e}txt", "e\u{301}", "é", "\"quoted\\", "line\nbreak", "🧵", "$bytes"]
        let large = String(repeating: "ß", count: 500_000)
        let (top, child) = try await workspace.write { transaction in
            let top = try transaction.create("odd \u{7f} type", kind: "kind\n")
            let child = try transaction.create("child", in: top)
            for name in names { try transaction.set(Property<String>(name), to: "value of \(name)", on: child) }
            try transaction.set(text, to: large, on: top)
            try transaction.set(number, to: .nan, on: child)
            try transaction.set(Property<Double>("zero"), to: -0.0, on: child)
            try transaction.set(Property<[UInt8]>("bytes"), to: [0, 255], on: child)
            try transaction.set(Property<[String: [Int]]>("document"), to: ["a": [1, 2]], on: child)
            return (top, child)
        }
        let before = try #require(try await workspace.object(child)?.properties)
        let snapshot = try await workspace.takeSnapshot(of: top)
        try await workspace.write { try $0.delete(top) }
        let result = try await self.checkRestore(snapshot, workspace)
        #expect(result.createdCount == 2 && result.transactionCount == 1 && result.missingParent == nil)
        #expect(try await workspace.object(child)?.properties == before)
        #expect(try await workspace.object(top)?[text] == large)
        // What was set in between does not come back with the object.
        try await workspace.write { try $0.set(Property<Int>("later"), to: 1, on: child) }
        try await workspace.write { try $0.delete(top) }
        _ = try await self.checkRestore(snapshot, workspace)
        await workspace.close()
    }

    @Test func `what is larger than a transaction comes back in several, parents first`() async throws {
        let workspace = try await self.workspace()
        let top = try await workspace.write { try $0.create("album") }
        for page in 0..<9 {
            try await workspace.write { transaction in
                let child = try transaction.create("page", in: top)
                try transaction.set(text, to: "\(page)" + String(repeating: "x", count: 900_000), on: child)
                for place in 0..<2000 { try transaction.set(Property<Int>("p\(place)"), to: place, on: child) }
            }
        }
        let snapshot = try await workspace.takeSnapshot(of: top)
        try await workspace.write { try $0.delete(top) }
        let result = try await self.checkRestore(snapshot, workspace)
        #expect(result.transactionCount > 1 && result.transactionCount < 6 && result.createdCount == 10)
        // What was restored by half is completed by another call.
        try await workspace.write { try $0.delete(top) }
        let restore = Task {
            try await workspace.restoreSnapshot(snapshot.id) { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        await #expect(throws: CancellationError.self) { try await restore.value }
        #expect(try await workspace.object(top) != nil)
        _ = try await self.checkRestore(snapshot, workspace)
        await workspace.close()
    }

    @Test func `more than 32 MiB is refused when it is taken`() async throws {
        let workspace = try await self.workspace()
        let top = try await workspace.write { try $0.create("album") }
        for page in 0..<34 {
            let filling = "\(page)" + String(repeating: "x", count: 1_000_000)
            try await workspace.write { try $0.set(text, to: filling, on: try $0.create("page", in: top)) }
        }
        await #expect { try await workspace.takeSnapshot(of: top) } throws: { error in
            (error as? PeerdError)?.code == .tooLarge
        }
        #expect(try await workspace.snapshots().isEmpty)
        await workspace.close()
    }

    @Test func `a parent that is gone, or below the object now, is told`() async throws {
        let workspace = try await self.workspace()
        let (shelf, book, page) = try await workspace.write { transaction in
            let shelf = try transaction.create("shelf")
            let book = try transaction.create("book", in: shelf)
            return (shelf, book, try transaction.create("page", in: book))
        }
        let snapshot = try await workspace.takeSnapshot(of: book)
        try await workspace.write { try $0.delete(shelf) }
        let result = try await workspace.restoreSnapshot(snapshot.id)
        #expect(result.missingParent == shelf && result.createdCount == 2)
        #expect(try await workspace.object(book)?.parent == nil)
        #expect(try await workspace.object(page)?.parent == book)
        #expect(try await workspace.restoreSnapshot(snapshot.id).transactionCount == 0)
        // The other way around: the shelf stands below the page, and the page above the book.
        let again = try await workspace.write { transaction in
            let again = try transaction.create("shelf")
            try transaction.move(book, to: again)
            return again
        }
        let second = try await workspace.takeSnapshot(of: book)
        try await workspace.write { transaction in
            try transaction.move(page, to: nil)
            try transaction.move(again, to: page)
        }
        let turned = try await workspace.restoreSnapshot(second.id)
        #expect(turned.missingParent == again)
        #expect(try await workspace.object(page)?.parent == book)
        #expect(try await workspace.object(again)?.parent == page)
        #expect(try await workspace.diagnose().isHealthy)
        await workspace.close()
    }

    @Test func `many siblings in another order get theirs back, and the object its place among others`() async throws {
        let workspace = try await self.workspace()
        let (top, children) = try await workspace.write { transaction in
            let shelf = try transaction.create("shelf")
            let top = try transaction.create("top", in: shelf)
            for _ in 0..<3 { _ = try transaction.create("neighbour", in: shelf) }
            return (top, try (0..<1000).map { _ in try transaction.create("child", in: top) })
        }
        let shelf = try #require(try await workspace.object(top)?.parent)
        let neighbours = try await workspace.write { try $0.children(of: shelf) }
        let snapshot = try await workspace.takeSnapshot(of: top)
        try await workspace.write { transaction in
            for child in children.reversed() { try transaction.move(child, to: top) }
            try transaction.move(top, to: shelf, at: .last)
        }
        #expect(try await self.checkRestore(snapshot, workspace).movedCount == 1001)
        #expect(try await workspace.write { try $0.children(of: top) } == children)
        #expect(try await workspace.write { try $0.children(of: shelf) } == neighbours)
        // One that is in the wrong place is the only one that moves.
        try await workspace.write { try $0.move(children[500], to: top, at: .first) }
        #expect(try await self.checkRestore(snapshot, workspace).movedCount == 1)
        await workspace.close()
    }

    @Test func `a snapshot is carried to another machine and workspace, and is the same one there`() async throws {
        let (workspace, other) = (try await self.workspace(), try await self.workspace("other"))
        let top = try await workspace.write { transaction in
            let top = try transaction.create("note")
            try transaction.set(text, to: "carried", on: top)
            return top
        }
        let snapshot = try await workspace.takeSnapshot(of: top, name: "name")
        let json = try await workspace.exportSnapshot(snapshot.id)
        #expect(try await other.importSnapshot(from: json) == snapshot)
        #expect(try await other.importSnapshot(from: json) == snapshot)
        #expect(try await other.snapshots() == [snapshot])
        #expect(try await other.exportSnapshot(snapshot.id) == json)
        #expect(try await other.object(top) == nil)
        #expect(try await self.checkRestore(snapshot, other).createdCount == 1)
        #expect(try await other.object(top)?[text] == "carried")
        try await other.deleteSnapshot(snapshot.id)
        await #expect(throws: PeerdError.self) { try await other.deleteSnapshot(snapshot.id) }
        await #expect(throws: PeerdError.self) { try await other.restoreSnapshot(snapshot.id) }
        #expect(try await workspace.snapshots(of: top) == [snapshot])
        await other.close()
        await workspace.close()
    }

    @Test func `a file that is no snapshot, or has no tree, is refused`() async throws {
        let workspace = try await self.workspace()
        let (one, two) = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")
        func document(_ objects: String, object: String = one, form: String = "peerd-snapshot-1") -> Data {
            Data(
                #"{"created_at":1,"format":"\#(form)","name":null,"object":"\#(object)","objects":[\#(objects)]}"#.utf8
            )
        }
        func object(_ id: String, _ parent: String = "null", _ properties: String = "{}") -> String {
            #"{"id":"\#(id)","parent":\#(parent),"properties":\#(properties),"type":"t"}"#
        }
        let longName = String(repeating: "n", count: 513)
        let refused = [
            Data(), Data("[]".utf8), Data("{}".utf8), document(""), document(object(two)), document("1"),
            document(object(one), form: "peerd-snapshot-2"), document(object(one), object: "nobody"),
            document(object(one) + "," + object(one)), document(object(one) + "," + object(two)),
            document(object(one) + "," + object(two, #""\#(two)""#)), document(object("x")),
            document(object(one, "7")), document(object(one, "null", "[]")),
            document(object(one, "null", #"{"\#(longName)":1}"#)),
            document(object(one, "null", #"{"a":"\#(String(repeating: "v", count: 1 << 20))"}"#)),
        ]
        for (place, json) in refused.enumerated() {
            await #expect("case \(place)") { try await workspace.importSnapshot(from: json) } throws: { error in
                (error as? PeerdError)?.code == .importInvalid
            }
        }
        #expect(try await workspace.snapshots().isEmpty)
        let json = document(object(one) + "," + object(two, #""\#(one)""#))
        #expect(try await workspace.importSnapshot(from: json).objectCount == 2)
        await workspace.close()
    }
}

/// Numbers that follow from a seed.
private struct Generator {
    var state: UInt64

    mutating func next(upTo end: Int) -> Int {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ mixed >> 31) % UInt64(end))
    }
}
