import Foundation
import PeerdKit
import Testing

/// Earlier states, differences, and the ways back, through the library.
@Suite struct PastTests {
    private let title = Property<String>("title"), count = Property<Int>("count")

    private func workspace() async throws -> (Workspace, URL) {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        return (try await Workspace.create(at: directory, name: "first"), directory)
    }

    /// With a look below each object again, or at everything above it, this would take many minutes.
    @Test(arguments: [false, true])
    func `a large tree that was deleted is compared and brought back`(isDeep: Bool) async throws {
        let (workspace, directory) = try await self.workspace()
        defer { try? FileManager.default.removeItem(at: directory) }
        let (title, count) = (self.title, 1_500)
        let ids = try await workspace.write { transaction in
            var ids: [ObjectID] = []
            for number in 0..<count {
                let id = try transaction.create("item", in: isDeep ? ids.last : ids.first)
                try transaction.set(title, to: "\(number)", on: id)
                ids.append(id)
            }
            return ids
        }
        let moment = try await workspace.moment()
        try await workspace.write { try $0.delete(ids[0]) }
        let lost = try await workspace.differences(from: moment)
        #expect(Set(lost.map(\.id)) == Set(ids) && lost.allSatisfy { $0.after == nil })
        let below = try await workspace.differences(from: moment, under: ids[count - 1])
        #expect(below.map(\.id) == [ids[count - 1]])
        #expect(try await workspace.restore(ids[0], to: moment).revivedCount == count)
        #expect(try await workspace.differences(from: moment).isEmpty)
        #expect(try await workspace.undo().first?.kept == [])
        #expect(try await workspace.object(ids[0]) == nil)
        await workspace.close()
    }

    @Test func `a moment is read as it was, whatever is written later`() async throws {
        let (workspace, directory) = try await self.workspace()
        defer { try? FileManager.default.removeItem(at: directory) }
        let (title, count) = (self.title, self.count)
        let ids = try await workspace.write { transaction in
            let list = try transaction.create("list")
            let item = try transaction.create("item", in: list)
            try transaction.set(title, to: "old", on: item)
            return [list, item]
        }
        let moment = try await workspace.moment()
        let (list, item) = (ids[0], ids[1])
        try await workspace.write { transaction in
            try transaction.set(title, to: "new", on: item)
            try transaction.set(count, to: 1, on: item)
            try transaction.create("item", in: list)
        }
        try await workspace.write { try $0.delete(list) }
        let then = try #require(try await workspace.object(item, at: moment))
        #expect(try then[title] == "old" && then[count] == nil && then.parent == list)
        let found = try await workspace.read(at: moment) { snapshot in
            let page = try snapshot.page(.children(of: list))
            let typed = try snapshot.page(.objects(type: "item")).objects.map(\.id)
            return (page.objects.map(\.id), typed, try snapshot.count(.all), try snapshot.value(of: title, on: item))
        }
        #expect(found == ([item], [item], 2, "old"))
        let page = try await workspace.page(Query.objects(type: "item").filtered(title, equals: "old"), at: moment)
        #expect(page.objects.map(\.id) == [item])
        #expect(try await workspace.object(item) == nil)
        // A moment survives its text, and a copy of it in JSON.
        #expect(try Moment(moment.description) == moment)
        #expect(try JSONDecoder().decode(Moment.self, from: JSONEncoder().encode(moment)) == moment)
        await workspace.close()
    }

    @Test func `differences name what is new, gone, moved or changed, and nothing else`() async throws {
        let (workspace, directory) = try await self.workspace()
        defer { try? FileManager.default.removeItem(at: directory) }
        let title = self.title
        let ids = try await workspace.write { transaction in
            try (0..<5).map { number in
                let id = try transaction.create("item")
                try transaction.set(title, to: "\(number)", on: id)
                return id
            }
        }
        let first = try await workspace.moment()
        let new = try await workspace.write { transaction in
            try transaction.set(title, to: "other", on: ids[0])
            try transaction.move(ids[1], to: ids[2])
            try transaction.delete(ids[3])
            try transaction.set(title, to: "4", on: ids[4])
            return try transaction.create("item")
        }
        let found = try await workspace.differences(from: first)
        #expect(Set(found.map(\.id)) == [ids[0], ids[1], ids[3], new])
        let byID = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
        #expect(byID[ids[0]]?.changedProperties == ["title"] && byID[ids[0]]?.isMoved == false)
        #expect(byID[ids[1]]?.isMoved == true && byID[ids[1]]?.changedProperties == [])
        #expect(byID[ids[3]]?.after == nil && byID[new]?.before == nil)
        #expect(try await workspace.differences(from: first, under: ids[2]).map(\.id) == [ids[1]])
        #expect(try await workspace.differences(from: first, to: first).isEmpty)
        // Back to front, the same with the sides exchanged.
        let back = try await workspace.differences(from: try await workspace.moment(), to: first)
        #expect(back.map(\.id) == found.map(\.id) && back.map(\.before) == found.map(\.after))
        await workspace.close()
    }

    @Test func `a history tells what each write replaced, in pages`() async throws {
        let (workspace, directory) = try await self.workspace()
        defer { try? FileManager.default.removeItem(at: directory) }
        let count = self.count
        let id = try await workspace.write { try $0.create("item") }
        for number in 0..<10 { try await workspace.write { try $0.set(count, to: number, on: id) } }
        var (numbers, replaced): ([LogEntry.Action], [LogEntry.Action?]) = ([], [])
        var cursor: HistoryCursor?
        repeat {
            let page = try await workspace.history(of: id, property: "count", after: cursor, limit: 3)
            numbers += page.entries.map(\.entry.action)
            replaced += page.entries.map(\.replaced)
            for entry in page.entries {
                let then = try #require(try await workspace.object(id, at: entry.moment))
                #expect(try then[count].map { .set(name: "count", to: .int(Int64($0))) } == entry.entry.action)
            }
            cursor = page.next
        } while cursor != nil
        #expect(numbers == (0..<10).reversed().map { .set(name: "count", to: .int($0)) })
        #expect(replaced.dropLast().compactMap(\.self) == Array(numbers.dropFirst()) && replaced.last == .some(nil))
        await workspace.close()
    }

    @Test func `undo works after a restart, and names what it did`() async throws {
        let (workspace, directory) = try await self.workspace()
        defer { try? FileManager.default.removeItem(at: directory) }
        let title = self.title
        let id = try await workspace.write { transaction in
            let id = try transaction.create("item")
            try transaction.set(title, to: "one", on: id)
            return id
        }
        try await workspace.write { try $0.set(title, to: "two", on: id) }
        await workspace.close()
        let again = try await Workspace.open(at: directory)
        let undone = try await again.undo()
        #expect(undone.first?.edits.map(\.object) == [id])
        #expect(undone.first?.edits.map(\.action) == [.set(name: "title", to: .string("two"))])
        #expect(undone.first?.kept == [] && undone.first?.author == "first")
        #expect(try await again.object(id)?[title] == "one")
        #expect(try await again.undo(5).count == 1)
        #expect(try await again.object(id) == nil)
        #expect(try await again.undo().isEmpty)
        #expect(try await again.redo(5).count == 2)
        #expect(try await again.object(id)?[title] == "two")
        // What was written since leaves nothing to do again.
        try await again.undo()
        try await again.write { try $0.set(title, to: "three", on: id) }
        #expect(try await again.redo().isEmpty)
        await #expect(throws: PeerdError.self) { try await again.undo(0) }
        await again.close()
    }

    @Test(
        arguments: [
            ("2026-03-01", 1_772_323_200), ("2026-03-01 14:30", 1_772_375_400), ("2026-03-01T14:30:05Z", 1_772_375_405),
            ("2026-03-01T14:30:05.250+01:00", 1_772_371_805.25), ("2026-03-01T14:30-0130", 1_772_380_800),
            ("now", 2_000_000_000), ("2 days ago", 1_999_827_200), ("90m ago", 1_999_994_600),
            ("1 hour ago", 1_999_996_400), (" 3 weeks ago ", 1_998_185_600),
        ] as [(String, Double)]
    )
    func `a time is read as people write it`(text: String, seconds: Double) throws {
        let now = Date(timeIntervalSince1970: 2_000_000_000)
        #expect(try Moment(text, now: now) == .time(Date(timeIntervalSince1970: seconds)))
    }

    @Test(arguments: [
        "", "soon", "2026-02-30", "2026-13-01", "2026-03-01T25:00", "2026-03-01T10:61", "2026-03-01T10:00+25:00", "ago",
        "-1 days ago", "two days ago", "1 fortnight ago", "12", "abc-1-2", ",", "1e400 days ago",
    ])
    func `what is no moment is refused`(text: String) {
        #expect { try Moment(text) } throws: { error in (error as? PeerdError)?.code == .invalidArgument }
    }
}
