import Foundation
import PeerdKit

let done = Property<Bool>("done")
let title = Property<String>("title")
let settings = Property<Settings>("settings")  // Any Codable type, as one document.

struct Settings: Codable, Sendable {
    var theme = "light"
    var weekStart: Int?
}

func openWorkspace(at directory: URL) async throws -> Workspace {
    do {
        return try await Workspace.open(at: directory)
    } catch let error as PeerdError where error.code == .noWorkspace {
        return try await Workspace.create(at: directory, name: "laptop")
    }
}

/// The code of the article "Your first workspace".
enum FirstWorkspace {
    static func run(in place: URL) async throws {
        let directory = place.appendingPathComponent("laptop")
        let made = try await openWorkspace(at: directory)
        await made.close()
        let workspace = try await openWorkspace(at: directory)
        try expect(made.directory == workspace.directory, "a workspace that is there is opened")

        let (list, milk) = try await Self.write(workspace)
        try await Self.read(workspace, list, milk)
        try await Self.edit(workspace, list, milk)
        try await Self.writeDocument(workspace)

        try await workspace.startSync()
        let line = try await workspace.invite().text
        let phone = try await Self.join(line, at: place.appendingPathComponent("phone"))
        try expect(try await phone.object(milk)?[done] == true, "what the laptop wrote is on the phone")

        await phone.close()
        await workspace.close()
    }

    private static func write(_ workspace: Workspace) async throws -> (ObjectID, ObjectID) {
        let (list, milk) = try await workspace.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            let milk = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: milk)
            try transaction.set(done, to: false, on: milk)
            return (list, milk)
        }
        let again = try await workspace.write { try $0.create("list", key: "groceries") }
        try expect(again == list, "a key finds the object that is there")
        return (list, milk)
    }

    private static func read(_ workspace: Workspace, _ list: ObjectID, _ milk: ObjectID) async throws {
        let item = try await workspace.object(milk)
        print(try item?[title] ?? "no title")

        let open = Query.children(of: list).filtered(done, equals: false).ordered(by: title)
        let page = try await workspace.page(open, limit: 50)
        let names = try page.objects.map { try $0[title] ?? "no title" }
        try expect(names == ["Milk"] && page.next == nil, "the query finds the milk")

        let (name, count) = try await workspace.read { transaction in
            (try transaction.value(of: title, on: milk), try transaction.count(.children(of: list)))
        }
        try expect(name == "Milk" && count == 1, "a read transaction reads the same")
    }

    private static func edit(_ workspace: Workspace, _ list: ObjectID, _ milk: ObjectID) async throws {
        let bread = try await workspace.write { transaction in
            let bread = try transaction.create("item", in: list)
            try transaction.set(title, to: "Bread", on: bread)
            try transaction.move(bread, to: list, at: .first)
            try transaction.set(done, to: true, on: milk)
            return bread
        }
        try expect(
            try await workspace.page(.children(of: list)).objects.map(\.id) == [bread, milk],
            "the bread is first"
        )

        try await workspace.write { try $0.delete(bread) }
        try expect(try await workspace.object(bread) == nil, "a deleted object is gone")
    }

    private static func writeDocument(_ workspace: Workspace) async throws {
        try await workspace.write { transaction in
            let app = try transaction.create("app", key: "groceries")
            try transaction.update(settings, on: app, default: Settings()) { $0.theme = "dark" }
        }
        let app = try await workspace.page(.objects(type: "app")).objects.first
        try expect(try app?[settings]?.theme == "dark", "the document has the new theme")
    }

    private static func join(_ line: String, at directory: URL) async throws -> Workspace {
        let phone = try await Workspace.join(Invitation(line), at: directory, name: "phone")
        try await phone.startSync()
        let report = try await phone.sync(timeout: .seconds(30))
        print("pulled", report.pulled, "operations")
        return phone
    }
}
