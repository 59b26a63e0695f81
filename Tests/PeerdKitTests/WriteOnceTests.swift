import CRDTCore
import Engine
import PeerdKit
import Testing

private let title = Property<String>("title")

/// Writes that have names.
struct WriteOnceTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    private func workspace() async throws -> Workspace {
        try await Workspace.create(at: self.place.directory("w"), name: "first")
    }

    private static func name(_ text: String, content: UInt64 = 1) -> IdempotencyKey {
        IdempotencyKey(text, content: Hash256(bytes: Bytes32(content, 0, 0, 0)))
    }

    /// Creates two objects, the first with a title.
    private static func creation(_ text: String) -> @Sendable (inout WriteTransaction) throws -> Void {
        { transaction in
            let note = try transaction.create("note")
            try transaction.set(title, to: text, on: note)
            _ = try transaction.create("note", in: note)
        }
    }

    private static func changeCount(_ workspace: Workspace) async throws -> Int {
        try await workspace.status().changeCount
    }

    @Test func `a write is done once, also after closing and opening`() async throws {
        var workspace = try await self.workspace()
        let made = try await workspace.writeOnce(Self.name("a"), Self.creation("Milk"))
        #expect(made.count == 2)
        let count = try await Self.changeCount(workspace)
        for _ in 0..<2 {
            let again = try await workspace.writeOnce(Self.name("a")) { _ in
                Issue.record("a write that was done is asked for its edits")
            }
            #expect(again == made)
            #expect(try await workspace.createdObjects(of: Self.name("a")) == made)
            #expect(try await Self.changeCount(workspace) == count)
            await workspace.close()
            workspace = try await Workspace.open(at: workspace.directory)
        }
        // What has happened to the objects since makes no difference.
        try await workspace.write { try $0.delete(made[0]) }
        #expect(try await workspace.writeOnce(Self.name("a"), Self.creation("Milk")) == made)
        #expect(try await workspace.object(made[0]) == nil)
        #expect(try await workspace.diagnose().isHealthy)
        await workspace.close()
    }

    @Test func `of many writes with one name at the same time one is done`() async throws {
        let workspace = try await self.workspace()
        let answers = try await withThrowingTaskGroup(of: [ObjectID].self) { group in
            for number in 0..<64 {
                group.addTask { try await workspace.writeOnce(Self.name("a"), Self.creation("\(number)")) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers).count == 1 && answers.count == 64)
        #expect(try await workspace.count(.objects(type: "note")) == 2)
        await workspace.close()
    }

    @Test func `a name belongs to one content`() async throws {
        let workspace = try await self.workspace()
        let made = try await workspace.writeOnce(Self.name("a"), Self.creation("Milk"))
        await #expect(throws: WriteRefusal.nameTaken("a")) {
            try await workspace.writeOnce(Self.name("a", content: 2), Self.creation("Eggs"))
        }
        await #expect(throws: WriteRefusal.nameTaken("a")) {
            try await workspace.createdObjects(of: Self.name("a", content: 2))
        }
        #expect(try await workspace.count(.objects(type: "note")) == 2)
        #expect(try await workspace.writeOnce(Self.name("a"), Self.creation("Milk")) == made)
        #expect(try await workspace.writeOnce(Self.name("b"), Self.creation("Milk")) != made)
        #expect(try await workspace.createdObjects(of: Self.name("c")) == nil)
        await workspace.close()
    }

    @Test func `what failed is not remembered`() async throws {
        let workspace = try await self.workspace()
        let nobody = ObjectID(bytes: Bytes16(high: 1, low: 1))
        await #expect(throws: CancellationError.self) {
            try await workspace.writeOnce(Self.name("a")) { transaction in
                _ = try transaction.create("note")
                throw CancellationError()
            }
        }
        let refused = try await #require(throws: PeerdError.self) {
            try await workspace.writeOnce(Self.name("a")) { try $0.delete(nobody) }
        }
        #expect(refused.code == .noSuchObject)
        // An edit that was refused spoils the write, although its closure goes on.
        await #expect(throws: PeerdError.self) {
            try await workspace.writeOnce(Self.name("a")) { transaction in
                _ = try transaction.create("note")
                try? transaction.delete(nobody)
            }
        }
        #expect(try await workspace.createdObjects(of: Self.name("a")) == nil)
        #expect(try await workspace.count(.objects(type: "note")) == 0)
        // Other content is no reason to refuse, since nothing was done under the name.
        #expect(try await workspace.writeOnce(Self.name("a", content: 2), Self.creation("Milk")).count == 2)
        await workspace.close()
    }

    @Test func `a write that finds nothing to do is remembered too`() async throws {
        let workspace = try await self.workspace()
        let list = try await workspace.write { try $0.create("list", key: "groceries") }
        let again: @Sendable (inout WriteTransaction) throws -> Void = { transaction in
            _ = try transaction.create("list", key: "groceries")
        }
        #expect(try await workspace.writeOnce(Self.name("a"), again) == [list])
        try await workspace.write { try $0.delete(list) }
        #expect(try await workspace.writeOnce(Self.name("a"), again) == [list])
        #expect(try await workspace.object(list) == nil)
        await workspace.close()
    }
}
