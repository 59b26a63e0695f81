import Foundation
import MergeModel
import PeerdKit
import Testing

private let title = Property<String>("title")
private let done = Property<Bool>("done")
private let rank = Property<Int>("rank")

/// What changes in a scope, as those see it who wait for it.
@Suite(.serialized) struct ChangesTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    private func workspace(_ name: String = "w") async throws -> Workspace {
        try await Workspace.create(at: self.place.directory(name), name: name)
    }

    private func next(_ changes: inout Changes.Iterator) async throws -> Delta {
        try #require(try await changes.next())
    }

    @Test func `what leaves a query takes nothing along, and what leaves a subtree all below it`() async throws {
        let workspace = try await self.workspace()
        let (top, upper, lower) = try await workspace.write { transaction in
            let top = try transaction.create("folder")
            let upper = try transaction.create("item", in: top)
            let lower = try transaction.create("item", in: upper)
            for item in [upper, lower] { try transaction.set(rank, to: 3, on: item) }
            return (top, upper, lower)
        }
        let ranked = Query.objects(type: "item").filtered(rank, equals: 3)
        var (query, tree) = (Mirror(), Mirror())
        var queried = try workspace.changes(of: .query(ranked)).makeAsyncIterator()
        var walked = try workspace.changes(of: .subtree(top)).makeAsyncIterator()
        try await query.follow(&queried) { $0.objects.count == 2 }
        try await tree.follow(&walked) { $0.objects.count == 3 }
        try await workspace.write { try $0.set(rank, to: 4, on: upper) }
        try await query.follow(&queried) { Set($0.objects.keys) == [lower] }
        try await workspace.write { try $0.move(upper, to: nil) }
        try await tree.follow(&walked) { Set($0.objects.keys) == [top] }
        try await workspace.write { try $0.delete(upper) }
        try await query.follow(&queried) { $0.objects.isEmpty }
        await workspace.close()
    }

    @Test func `an element says why an object is in the scope no more`() async throws {
        let workspace = try await self.workspace()
        let (top, moved, deleted) = try await workspace.write { transaction in
            let top = try transaction.create("folder")
            return (top, try transaction.create("item", in: top), try transaction.create("item", in: top))
        }
        var changes = try workspace.changes(of: .subtree(top)).makeAsyncIterator()
        #expect(try await self.next(&changes).objects.allSatisfy { $0.leaving == nil })
        try await workspace.write { transaction in
            try transaction.move(moved, to: nil)
            try transaction.delete(deleted)
        }
        let left = try await self.next(&changes).objects.filter { $0.state == nil }
        let reasons = Dictionary(uniqueKeysWithValues: left.map { ($0.id, $0.leaving) })
        #expect(reasons == [moved: .moved, deleted: .deleted])
        await workspace.close()
    }

    @Test func `an element says what a transaction made of the state, and who wrote it`() async throws {
        let workspace = try await self.workspace()
        var changes = try workspace.changes(of: .everything).makeAsyncIterator()
        let start = try await self.next(&changes)
        #expect(start.isReset && start.objects.isEmpty && !start.hasMore && start.origin == nil)
        let (list, milk) = try await workspace.write { transaction in
            let list = try transaction.create("list")
            let milk = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: milk)
            try transaction.set(done, to: false, on: milk)
            return (list, milk)
        }
        let made = try await self.next(&changes)
        #expect(Set(made.objects.map(\.id)) == [list, milk] && made.objects.allSatisfy { $0.isCreated && !$0.isMoved })
        let item = try #require(made.objects.first { $0.id == milk })
        #expect(item.changed == ["done", "title"] && item.state?.properties["title"] == .string("Milk"))
        #expect(made.authors.map(\.name) == ["w"] && made.origin == .local && !made.isReset)
        try await workspace.write { transaction in
            try transaction.unset(done, on: milk)
            try transaction.move(milk, to: nil)
        }
        let moved = try await self.next(&changes)
        let entry = try #require(moved.objects.first { $0.id == milk })
        #expect(entry.changed == ["done"] && entry.isMoved && !entry.isCreated && entry.state?.parent == nil)
        #expect(moved.objects.first { $0.id == list }?.state?.childCount == 0)
        try await workspace.write { try $0.delete(milk) }
        let deleted = try await self.next(&changes)
        #expect(deleted.objects.map(\.id) == [milk] && deleted.objects[0].state == nil && deleted.origin == .local)
        try await workspace.write { try $0.set(title, to: "Again", on: list) }
        #expect(try await self.next(&changes).objects.map(\.changed) == [["title"]])
        await workspace.close()
        #expect(try await changes.next() == nil)
    }

    @Test func `who is slow gets the last states, once, and a token outlives the process`() async throws {
        var workspace = try await self.workspace()
        let items = try await workspace.write { transaction in try (0..<3).map { _ in try transaction.create("item") } }
        var changes = try workspace.changes(of: .everything).makeAsyncIterator()
        let token = try await self.next(&changes).token
        for number in 0..<60 {
            try await workspace.write { try $0.set(rank, to: number, on: items[number % 2]) }
        }
        let late = try await self.next(&changes)
        #expect(late.objects.map { $0.state?.properties["rank"] } == [.int(58), .int(59)])
        #expect(late.objects.allSatisfy { $0.changed == ["rank"] && !$0.isCreated })
        let kept = try JSONDecoder().decode(ChangeToken.self, from: JSONEncoder().encode(token))
        #expect(try kept == token && ChangeToken(token.description) == token)
        await workspace.close()
        workspace = try await Workspace.open(at: workspace.directory)
        try await workspace.write { try $0.delete(items[2]) }
        var resumed = try workspace.changes(of: .everything, since: kept).makeAsyncIterator()
        let delta = try await self.next(&resumed)
        #expect(!delta.isReset && delta.objects.map(\.id) == [items[2], items[0], items[1]])
        #expect(delta.objects[0].state == nil)
        var current = try workspace.changes(of: .everything, since: delta.token).makeAsyncIterator()
        try await workspace.write { try $0.set(rank, to: 7, on: items[0]) }
        #expect(try await self.next(&current).objects.map(\.id) == [items[0]])
        await workspace.close()
    }

    @Test func `what comes into a subtree comes with all below it, and what leaves it is told`() async throws {
        let workspace = try await self.workspace()
        let (list, other) = try await workspace.write { (try $0.create("list"), try $0.create("list")) }
        let (folder, leaf) = try await workspace.write { transaction in
            let folder = try transaction.create("folder", in: other)
            let middle = try transaction.create("folder", in: folder)
            return (folder, try transaction.create("leaf", in: middle))
        }
        var changes = try workspace.changes(of: .subtree(list)).makeAsyncIterator()
        var mirror = Mirror()
        try await mirror.follow(&changes) { _ in true }
        #expect(Set(mirror.objects.keys) == [list])
        // Of what goes on elsewhere nothing is told.
        try await workspace.write { try $0.set(title, to: "elsewhere", on: leaf) }
        try await workspace.write { try $0.move(folder, to: list) }
        try await mirror.follow(&changes) { _ in true }
        #expect(mirror.objects.count == 4 && mirror.objects[leaf]?.properties["title"] == .string("elsewhere"))
        try await workspace.write { try $0.set(title, to: "inside", on: leaf) }
        try await mirror.follow(&changes) { _ in true }
        #expect(mirror.objects[leaf]?.properties["title"] == .string("inside"))
        try await workspace.write { try $0.move(folder, to: other) }
        try await mirror.follow(&changes) { _ in true }
        #expect(Set(mirror.objects.keys) == [list])
        await workspace.close()
    }

    @Test func `a query tells what comes to match and what does not match any more`() async throws {
        let workspace = try await self.workspace()
        let open = Query.objects(type: "item").filtered(done, equals: false)
        let item = try await workspace.write { transaction in
            let item = try transaction.create("item")
            try transaction.set(done, to: false, on: item)
            return item
        }
        var changes = try workspace.changes(of: .query(open)).makeAsyncIterator()
        #expect(try await self.next(&changes).objects.map(\.id) == [item])
        try await workspace.write { _ = try $0.create("note") }
        try await workspace.write { try $0.set(done, to: true, on: item) }
        let gone = try await self.next(&changes)
        #expect(gone.objects.map(\.id) == [item] && gone.objects[0].state == nil)
        try await workspace.write { try $0.set(done, to: false, on: item) }
        #expect(try await self.next(&changes).objects.map { $0.state?.properties["done"] } == [.bool(false)])
        await workspace.close()
    }

    @Test func `a token of something else is refused, and one of a database put back begins anew`() async throws {
        var workspace = try await self.workspace()
        let item = try await workspace.write { try $0.create("item") }
        var changes = try workspace.changes(of: .object(item)).makeAsyncIterator()
        let token = try await self.next(&changes).token
        let other = try await self.workspace("other")
        #expect { try other.changes(of: .object(item), since: token) } throws: {
            ($0 as? PeerdError)?.code == .tokenFromAnotherWorkspace
        }
        #expect { try workspace.changes(of: .everything, since: token) } throws: {
            ($0 as? PeerdError)?.code == .tokenOfAnotherScope
        }
        for text in ["", "x", String(token.description.dropLast()), token.description + "A", "ÄÖ"] {
            #expect { try ChangeToken(text) } throws: { ($0 as? PeerdError)?.code == .invalidArgument }
        }
        await other.close()
        await workspace.close()
        let database = workspace.directory.appendingPathComponent("peerd.sqlite")
        let backup = self.place.directory("backup.sqlite")
        try FileManager.default.copyItem(at: database, to: backup)
        workspace = try await Workspace.open(at: workspace.directory)
        for number in 0..<5 { try await workspace.write { try $0.set(rank, to: number, on: item) } }
        var later = try workspace.changes(of: .object(item)).makeAsyncIterator()
        let laterToken = try await self.next(&later).token
        await workspace.close()
        try FileManager.default.removeItem(at: database)
        try FileManager.default.copyItem(at: backup, to: database)
        workspace = try await Workspace.open(at: workspace.directory)
        // As many commits as before, and others.
        for _ in 0..<9 { try await workspace.write { _ = try $0.create("note") } }
        var again = try workspace.changes(of: .object(item), since: laterToken).makeAsyncIterator()
        let whole = try await self.next(&again)
        #expect(whole.isReset && whole.objects.count == 1 && whole.objects[0].state?.properties["rank"] == nil)
        await workspace.close()
    }

    @Test func `another process that only reads sees changes, and a live page is the page`() async throws {
        let workspace = try await self.workspace()
        let list = try await workspace.write { try $0.create("list") }
        let reader = try await Workspace.open(at: workspace.directory, access: .readOnly)
        var changes = try reader.changes(of: .subtree(list)).makeAsyncIterator()
        var pages = reader.live(.children(of: list).ordered(by: rank), limit: 2).makeAsyncIterator()
        #expect(try await self.next(&changes).isReset)
        #expect(try await pages.next()?.objects.isEmpty == true)
        for number in [5, 3, 4] {
            try await workspace.write { transaction in
                let item = try transaction.create("item", in: list)
                try transaction.set(rank, to: number, on: item)
            }
            let delta = try await self.next(&changes)
            #expect(delta.objects.contains { $0.changed == ["rank"] && $0.isCreated } && delta.origin == .local)
        }
        var ranks: [Value?] = []
        while ranks != [.int(3), .int(4)] {
            ranks = try #require(try await pages.next()).objects.map { $0.properties["rank"] }
        }
        let waiting = Task { [changes] in
            var changes = changes
            return try await changes.next() == nil
        }
        waiting.cancel()
        #expect(try await waiting.value)
        await reader.close()
        #expect(try await pages.next() == nil)
        await workspace.close()
    }
}

/// Readers of all scopes beside two machines that write and sync.
@Suite(.serialized) struct ChangesAgreementTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// Writes something at random, from the state that a machine has.
    private static func write(_ workspace: Workspace, _ random: inout SplitMix64) async throws {
        let known = try await workspace.page(.all, limit: 10_000).objects.map(\.id)
        let picks = (0..<4).map { _ in known.randomElement(using: &random) }
        let (choice, number) = (Int.random(in: 0..<9, using: &random), Int.random(in: 0..<5, using: &random))
        do {
            try await workspace.write { transaction in
                guard let first = picks[0], let second = picks[1] else {
                    _ = try transaction.create("folder")
                    return
                }
                switch choice {
                case 0, 1:
                    _ = try transaction.create(number % 2 == 0 ? "item" : "folder", in: number == 4 ? nil : first)
                case 2, 3: try transaction.set(rank, to: number, on: first)
                case 4: try transaction.set(done, to: number % 2 == 0, on: first)
                case 5: try transaction.unset(rank, on: first)
                case 6, 7: try transaction.move(first, to: number == 0 ? nil : second)
                default: if number < 2 { try transaction.delete(first) }
                }
            }
        } catch let error as PeerdError where [.wouldCloseCycle, .noSuchObject].contains(error.code) {
            // Another's change came between.
        }
    }

    @Test(arguments: Seeds.range(from: 51_000, count: 1))
    func `whatever happens, what a reader has put together is the state`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let top = try await first.write { transaction in
            let top = try transaction.create("folder")
            // More than one element has room for.
            for number in 0..<1_300 {
                try transaction.set(rank, to: number % 5, on: transaction.create("item", in: top))
            }
            return top
        }
        try await first.startSync(discovers: false)
        let invitation = try await first.invite()
        var second = try await Workspace.join(invitation, at: self.place.directory("b"), name: "second")
        let scopes: [Scope] = [
            .everything, .subtree(top), .object(top), .query(.children(of: top)),
            .query(.objects(type: "item").filtered(rank, equals: 3)),
        ]
        var mirrors = Array(repeating: Mirror(), count: scopes.count)
        for round in 0..<6 {
            try await second.startSync(discovers: false)
            var readers = try zip(scopes, mirrors).map { scope, mirror in
                try second.changes(of: scope, since: mirror.token).makeAsyncIterator()
            }
            for step in 0..<25 {
                try await Self.write(step % 2 == 0 ? first : second, &random)
                // Readers that lag behind in different ways.
                for (number, scope) in scopes.enumerated() where (step + round) % (number + 2) == 0 {
                    try await mirrors[number].catchUp(&readers[number], of: scope, in: second)
                }
            }
            _ = try await second.sync(timeout: .seconds(30))
            for (number, scope) in scopes.enumerated() {
                try await mirrors[number].catchUp(&readers[number], of: scope, in: second)
            }
            if round % 2 == 1 {
                await second.close()
                second = try await Workspace.open(at: second.directory)
            }
        }
        await second.close()
        await first.close()
    }
}
