import CRDTCore
import MergeModel
import Persistence
import Testing

@testable import PeerdKit

/// When a live query is run again.
struct LivePageTests {
    private static let rank = Property<Int>("rank")
    private static let color = Property<String>("color")

    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// What one reader has seen.
    private struct Reader {
        let query: Query
        let limit: Int
        var page: Page?
        var extent: PageExtent?
        var commit: Int64 = -1
        var unreadCount = 0

        mutating func read(_ workspace: Workspace) async throws {
            let (reading, extent, commit) = (LivePageReading(self.query, self.limit), self.extent, self.commit)
            let found = try await workspace.reading { transaction in
                (transaction.lastCommit, try reading.read(extent, since: commit, in: &transaction))
            }
            self.commit = found.0
            guard let content = found.1 else {
                self.unreadCount += 1
                return
            }
            (self.page, self.extent) = content
        }
    }

    private func write(_ workspace: Workspace, _ list: ObjectID, _ random: inout SplitMix64) async throws {
        let known = try await workspace.page(.children(of: list), limit: 1_000).objects.map(\.id)
        let (choice, number) = (random.below(8), random.below(20))
        let picked = known.isEmpty ? nil : known[random.below(known.count)]
        try await workspace.write { transaction in
            guard let picked, choice > 1 else {
                let item = try transaction.create(number % 2 == 0 ? "item" : "task", in: list)
                return try transaction.set(Self.rank, to: number, on: item)
            }
            switch choice {
            case 2, 3: try transaction.set(Self.rank, to: number, on: picked)
            case 4: try transaction.set(Self.color, to: ["red", "blue"][number % 2], on: picked)
            case 5: try transaction.delete(picked)
            case 6: try transaction.move(picked, to: number < 15 ? list : nil)
            default: try transaction.create("item", in: picked)
            }
        }
    }

    @Test func `what stands in a page is known without reading it again, if no commit has changed it`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("w"), name: "first")
        let list = try await workspace.write { try $0.create("list") }
        let children = Query.children(of: list)
        let queries = [
            Query.all, children, children.ordered(by: Self.rank), children.containing("bl"),
            .objects(type: "item").filtered(Self.color, equals: "red").ordered(by: Self.rank),
        ]
        var readers = queries.flatMap { query in [2, 7, 100].map { Reader(query: query, limit: $0) } }
        var random = SplitMix64(seed: 7)
        for _ in 0..<300 {
            try await self.write(workspace, list, &random)
            for number in readers.indices {
                try await readers[number].read(workspace)
                let reader = readers[number]
                #expect(try await workspace.page(reader.query, limit: reader.limit) == reader.page)
            }
        }
        for reader in readers where reader.limit == 2 { #expect(reader.unreadCount > 50, "\(reader.query)") }
        await workspace.close()
    }
}
