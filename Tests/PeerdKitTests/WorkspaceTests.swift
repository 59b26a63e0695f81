import Foundation
import PeerdKit
import Testing

/// A place for workspaces, gone when this object is.
final class TemporaryPlace {
    let url: URL

    init() throws {
        self.url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-kit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    func directory(_ name: String) -> URL { self.url.appendingPathComponent(name) }

    /// Waits until the clock of this machine shows another millisecond: what is written then is later.
    func nextMillisecond() async throws {
        let now = { Int(Date().timeIntervalSince1970 * 1_000) }
        let before = now()
        while now() <= before { try await Task.sleep(for: .milliseconds(1)) }
    }
}

private let title = Property<String>("title")
private let done = Property<Bool>("done")
private let rank = Property<Int>("rank")

/// The library as applications use it: nothing but what it shows to other packages.
struct WorkspaceTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    private func workspace() async throws -> Workspace {
        try await Workspace.create(at: self.place.directory("w"), name: "first")
    }

    @Test func `what was written is there after closing, and in a second process meanwhile`() async throws {
        let workspace = try await self.workspace()
        let note = try await workspace.write { transaction in
            let note = try transaction.create("note", kind: "red")
            try transaction.set(title, to: "Milk", on: note)
            return note
        }
        let reader = try await Workspace.open(at: workspace.directory, access: .readOnly)
        #expect(try await reader.object(note)?[title] == "Milk")
        try await workspace.write { try $0.set(title, to: "Eggs", on: note) }
        #expect(try await reader.object(note)?[title] == "Eggs")
        await workspace.close()
        #expect(try await reader.object(note)?[title] == "Eggs")
        await reader.close()
        let again = try await Workspace.open(at: workspace.directory)
        let object = try #require(try await again.object(note))
        #expect(try object[title] == "Eggs")
        #expect(object.type == "note" && object.kind == "red")
        #expect(object.createdBy == "first" && object.parent == nil && object.childCount == 0)
        #expect(abs(try #require(object.createdAt).timeIntervalSinceNow) < 600)
        await again.close()
    }

    @Test func `what is made again where it is writes nothing, and keeps its place`() async throws {
        let workspace = try await self.workspace()
        let make: @Sendable (inout WriteTransaction) throws -> [ObjectID] = { transaction in
            let list = try transaction.create("list", key: "groceries")
            return [list] + (try ["a", "b", "c"].map { try transaction.create("item", in: list, key: $0) })
        }
        let made = try await workspace.write(make)
        let count = try await workspace.status().changeCount
        #expect(try await workspace.write(make) == made)
        #expect(try await workspace.status().changeCount == count)
        #expect(try await workspace.page(.children(of: made[0])).objects.map(\.id) == Array(made[1...]))
        // From elsewhere it comes back, behind the others.
        try await workspace.write { try $0.move(made[1], to: nil) }
        #expect(try await workspace.write(make) == made)
        #expect(try await workspace.page(.children(of: made[0])).objects.map(\.id) == [made[2], made[3], made[1]])
        await workspace.close()
    }

    @Test func `a transaction reads what it wrote, and is written as a whole or not at all`() async throws {
        struct Refusal: Error {}
        let workspace = try await self.workspace()
        let list = try await workspace.write { try $0.create("list", key: "groceries") }
        let (first, second) = try await workspace.write { transaction in
            let first = try transaction.create("item", in: list)
            let second = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: first)
            try transaction.move(second, to: list, at: .first)
            #expect(try transaction.value(of: title, on: first) == "Milk")
            #expect(try transaction.children(of: list) == [second, first])
            #expect(try transaction.parent(of: first) == list)
            #expect(try transaction.create("list", key: "groceries") == list)
            return (first, second)
        }
        await #expect(throws: Refusal.self) {
            try await workspace.write { transaction in
                try transaction.delete(first)
                #expect(try !transaction.contains(first))
                throw Refusal()
            }
        }
        // An error that the closure swallows spoils the transaction all the same.
        await #expect {
            try await workspace.write { transaction in
                try transaction.delete(first)
                try? transaction.move(list, to: second)
            }
        } throws: {
            ($0 as? PeerdError)?.code == .wouldCloseCycle
        }
        let page = try await workspace.page(.children(of: list))
        #expect(page.objects.map(\.id) == [second, first] && page.next == nil)
        await workspace.close()
    }

    @Test func `what goes wrong has a code, and says what to do`() async throws {
        let workspace = try await self.workspace()
        func code(_ body: () async throws -> Void) async -> PeerdError.Code? {
            do {
                try await body()
                return nil
            } catch let error as PeerdError {
                #expect(!error.message.isEmpty && error.advice.hasSuffix("."))
                return error.code
            } catch {
                Issue.record("\(error)")
                return nil
            }
        }
        let directory = workspace.directory
        let elsewhere = self.place.directory("none")
        let note = try await workspace.write { transaction in
            let note = try transaction.create("note")
            try transaction.set(rank, to: 3, on: note)
            return note
        }
        let missing = try #require(ObjectID(text: "00000000-0000-4000-8000-000000000001"))
        #expect(await code { _ = try await Workspace.open(at: elsewhere) } == .noWorkspace)
        #expect(await code { _ = try await Workspace.create(at: directory, name: "x") } == .workspaceExists)
        #expect(await code { _ = try await Workspace.create(at: elsewhere, name: "") } == .invalidArgument)
        #expect(await code { _ = try await Workspace.open(at: directory) } == .alreadyOpen)
        #expect(await code { _ = try Invitation("peerd:1:nonsense") } == .inviteInvalid)
        #expect(await code { _ = try await workspace.invite() } == .notSyncing)
        #expect(await code { try await workspace.startSync(addresses: ["nowhere"]) } == .invalidArgument)
        #expect(await code { try await workspace.write { try $0.delete(missing) } } == .noSuchObject)
        #expect(await code { try await workspace.write { try $0.move(note, to: note) } } == .wouldCloseCycle)
        #expect(
            await code { try await workspace.write { try $0.move(note, to: nil, at: .before(missing)) } }
                == .notASibling
        )
        #expect(
            await code {
                try await workspace.write { try $0.set(title, to: String(repeating: "x", count: 2 << 20), on: note) }
            } == .tooLarge
        )
        #expect(await code { _ = try await workspace.object(note)?[title] } == nil)
        #expect(await code { _ = try await workspace.object(note)?[Property<String>("rank")] } == .wrongType)
        #expect(await code { _ = try await workspace.page(.all, limit: 0) } == .invalidArgument)
        #expect(try await workspace.object(missing) == nil)
        let reader = try await Workspace.open(at: directory, access: .readOnly)
        #expect(await code { try await reader.write { try $0.delete(note) } } == .readOnly)
        #expect(await code { try await reader.startSync() } == .readOnly)
        await reader.close()
        await workspace.close()
        #expect(await code { _ = try await workspace.object(note) } == .closed)
        #expect(await code { try await workspace.write { try $0.delete(note) } } == .closed)
        await workspace.close()
    }

    @Test func `a document keeps the members that a version of an application does not know`() async throws {
        struct Old: Codable, Sendable { var theme = "light" }
        struct New: Codable, Sendable {
            struct Window: Codable, Sendable { var width = 0 }
            var theme: String
            var weekStart: Int
            var window: Window
        }
        let workspace = try await self.workspace()
        let (old, new) = (Property<Old>("settings"), Property<New>("settings"))
        let application = try await workspace.write { transaction in
            let application = try transaction.create("app")
            try transaction.update(old, on: application, default: Old()) { $0.theme = "dark" }
            return application
        }
        #expect(try await workspace.object(application)?[old]?.theme == "dark")
        try await workspace.write {
            let full = New(theme: "blue", weekStart: 1, window: .init(width: 7))
            try $0.set(new, to: full, on: application)
        }
        try await workspace.write { try $0.update(old, on: application, default: Old()) { $0.theme = "green" } }
        let kept = try #require(try await workspace.object(application)?[new])
        #expect(kept.theme == "green" && kept.weekStart == 1 && kept.window.width == 7)
        await workspace.close()
    }

    @Test func `all kinds of values come back as they were`() async throws {
        let workspace = try await self.workspace()
        let values: Properties = [
            "null": .null, "true": .bool(true), "int": .int(.min), "double": .double(-0.0), "nan": .double(.nan),
            "text": .string("é\u{301}\0"),
            "\u{e9}": .int(1), "e\u{301}": .int(2), "bytes": .bytes([0, 255]),
            "list": try Value(json: Data("[1,{}]".utf8)),
        ]
        let note = try await workspace.write { transaction in
            let note = try transaction.create("note")
            for (name, value) in values { try transaction.set(Property<Value>(name), to: value, on: note) }
            return note
        }
        let object = try #require(try await workspace.object(note))
        #expect(object.properties == values)
        #expect(try object[Property<Int64>("int")] == .min)
        #expect(try object[Property<Double>("double")]?.sign == .minus)
        #expect(try object[Property<[UInt8]>("bytes")] == [0, 255])
        #expect(try object[Property<Data>("bytes")] == Data([0, 255]))
        #expect(try object[Property<Int>("absent")] == nil)
        try await workspace.write { try $0.unset(Property<Value>("text"), on: note) }
        #expect(try await workspace.object(note)?.properties["text"] == nil)
        await workspace.close()
    }
}
