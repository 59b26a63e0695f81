import Foundation
import PeerdKit
import Testing

/// Queries in pages, beside a plain list of what was written.
struct QueryTests {
    private let place: TemporaryPlace
    private static let rank = Property<Int>("rank")
    private static let color = Property<String>("color")

    init() throws { self.place = try TemporaryPlace() }

    private func pages(_ query: Query, of workspace: Workspace, limit: Int) async throws -> [Object] {
        var objects: [Object] = []
        var cursor: Cursor?
        repeat {
            let page = try await workspace.page(query, after: cursor, limit: limit)
            #expect(page.objects.count <= limit && (page.next == nil || page.objects.count == limit))
            objects += page.objects
            cursor = page.next
        } while cursor != nil
        return objects
    }

    @Test func `pages of every size are the same objects in the same order`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("w"), name: "first")
        let list = try await workspace.write { try $0.create("list") }
        let items = try await workspace.write { transaction in
            var items: [ObjectID] = []
            for number in 0..<1_200 {
                let item = try transaction.create(number % 3 == 0 ? "item" : "task", kind: "k\(number % 2)", in: list)
                if number % 7 != 0 { try transaction.set(Self.rank, to: number * 7_919 % 100, on: item) }
                try transaction.set(Self.color, to: ["red", "blue"][number % 2], on: item)
                items.append(item)
            }
            for item in items.prefix(50) { try transaction.delete(item) }
            return items
        }
        let all = try await self.pages(.children(of: list), of: workspace, limit: 10_000)
        #expect(all.map(\.id) == Array(items.dropFirst(50)))
        let queries: [(Query, (Object) throws -> Bool)] = [
            (.children(of: list), { _ in true }),
            (.objects(type: "item"), { $0.type == "item" }),
            (.children(of: list).filtered(kind: "k1"), { $0.kind == "k1" }),
            (.children(of: list).filtered(Self.color, equals: "red"), { try $0[Self.color] == "red" }),
            (
                .objects(type: "task").filtered(Self.color, equals: "blue").filtered(Self.rank, equals: 5),
                { try $0.type == "task" && $0[Self.color] == "blue" && $0[Self.rank] == 5 }
            ),
            (.objects(type: "nothing"), { _ in false }), (.children(of: items[0]), { _ in false }),
        ]
        for (query, isWanted) in queries {
            let wanted = try all.filter(isWanted)
            let expected = query == .children(of: list) || wanted.isEmpty ? wanted : wanted
            for limit in [1_000, 77] {
                let found = try await self.pages(query, of: workspace, limit: limit)
                #expect(Set(found) == Set(expected) && found.count == expected.count)
            }
            #expect(try await workspace.count(query) == expected.count)
            let ordered = try await self.pages(query.ordered(by: Self.rank), of: workspace, limit: 60)
            let ranks = try expected.map { (try $0[Self.rank] ?? -1, $0.id) }.sorted { $0 < $1 }
            #expect(ordered.map(\.id) == ranks.map(\.1))
        }
        #expect(try await workspace.count(.all) == 1_151)
        await #expect { try await workspace.page(.all, after: self.cursor(of: workspace, list)) } throws: {
            ($0 as? PeerdError)?.code == .invalidArgument
        }
        await workspace.close()
    }

    private func cursor(of workspace: Workspace, _ list: ObjectID) async throws -> Cursor? {
        try await workspace.page(.children(of: list), limit: 5).next
    }

    @Test func `a reader that takes its time sees one moment, and nobody waits for it`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("w"), name: "first")
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let file = self.place.directory("go")
        let note = try await workspace.write { try $0.create("note") }
        async let seen = workspace.read { snapshot in
            beginning.finish()
            while !FileManager.default.fileExists(atPath: file.path) { usleep(1000) }
            return try snapshot.value(of: Self.rank, on: note)
        }
        for await _ in begun {}
        for number in 1...20 { try await workspace.write { try $0.set(Self.rank, to: number, on: note) } }
        #expect(try await workspace.object(note)?[Self.rank] == 20)
        try Data().write(to: file)
        #expect(try await seen == nil)
        await workspace.close()
    }
}
