import Foundation
import PeerdKit

struct TitleIndex: Codable {
    var objects: [ObjectID: Object] = [:]
    var token: ChangeToken?

    mutating func apply(_ delta: Delta) {
        delta.apply(to: &self.objects)
        self.token = delta.token
    }

    func save(to file: URL) throws {
        try JSONEncoder().encode(self).write(to: file, options: .atomic)
    }
}

@MainActor final class ListModel {
    private(set) var rows: [Object] = []

    func follow(_ list: ObjectID, in workspace: Workspace) async throws {
        let open = Query.children(of: list).filtered(done, equals: false).ordered(by: title)
        for try await page in workspace.live(open, limit: 50) { self.rows = page.objects }
    }
}

actor Screen {
    private(set) var lines: [String] = []

    func show(_ state: Object, changed: [String], by authors: [Author]) throws {
        self.lines.append("\(try state[title] ?? "no title") \(changed) \(authors.map(\.name))")
    }
}

/// The code of the article "Observing changes".
enum Observing {
    static func run(in place: URL) async throws {
        let pair = try await Pair(in: place)
        let (list, milk) = try await pair.laptop.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            let milk = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: milk)
            try transaction.set(done, to: false, on: milk)
            return (list, milk)
        }
        try await pair.meet()
        try await Self.keepIndex(of: list, milk, pair.phone, place.appendingPathComponent("index.json"))
        try await Self.showRows(of: list, milk, pair.phone)
        try await Self.watchUntilDeleted(milk, pair)
        await pair.close()
    }

    private static func watch(_ milk: ObjectID, in workspace: Workspace, on screen: Screen) async throws {
        for try await delta in try workspace.changes(of: .object(milk)) {
            for entry in delta.objects {
                guard let state = entry.state else { return print("It was deleted.") }
                try await screen.show(state, changed: entry.changed, by: delta.authors)
            }
        }
    }

    private static func watchUntilDeleted(_ milk: ObjectID, _ pair: Pair) async throws {
        let screen = Screen()
        let watching = Task { try await Self.watch(milk, in: pair.phone, on: screen) }
        try await eventually("the first element is the state") { await screen.lines == ["Soy milk [] []"] }
        try await pair.laptop.write { try $0.set(title, to: "Oat milk", on: milk) }
        try await pair.meet()
        try await eventually("the next one is a change of another machine") {
            await screen.lines.last == #"Oat milk ["title"] ["laptop"]"#
        }
        try await pair.laptop.write { try $0.delete(milk) }
        try await watching.value
        try expect(try await pair.phone.object(milk) == nil, "the object is deleted on the other machine")
    }

    private static func follow(
        _ list: ObjectID,
        in workspace: Workspace,
        from start: TitleIndex,
        _ file: URL
    ) async throws {
        var index = start
        for try await delta in try workspace.changes(of: .subtree(list), since: index.token) {
            index.apply(delta)
            if !delta.hasMore { try index.save(to: file) }
        }
    }

    private static func load(_ file: URL) throws -> TitleIndex {
        guard let data = try? Data(contentsOf: file) else { return TitleIndex() }
        return try JSONDecoder().decode(TitleIndex.self, from: data)
    }

    private static func keepIndex(
        of list: ObjectID,
        _ milk: ObjectID,
        _ workspace: Workspace,
        _ file: URL
    ) async throws {
        let following = Task { try await Self.follow(list, in: workspace, from: TitleIndex(), file) }
        try await eventually("the index has the list and the milk") { try Self.load(file).objects.count == 2 }
        following.cancel()
        try await following.value

        // Changes while nobody observes are in the next element, and nothing else is.
        try await workspace.write { try $0.set(title, to: "Soy milk", on: milk) }
        var index = try Self.load(file)
        var changes = try workspace.changes(of: .subtree(list), since: index.token).makeAsyncIterator()
        guard let delta = try await changes.next() else { throw Unexpected(description: "The sequence has ended.") }
        try expect(!delta.isReset && delta.objects.map(\.id) == [milk], "a token continues where it was taken")
        try expect(delta.origin == .local && delta.objects[0].changed == ["title"], "an element names what changed")
        index.apply(delta)
        try expect(try index.objects[milk]?[title] == "Soy milk", "the index is up to date")
    }

    private static func showRows(of list: ObjectID, _ milk: ObjectID, _ workspace: Workspace) async throws {
        let model = ListModel()
        let following = Task { try await model.follow(list, in: workspace) }
        try await eventually("the rows show the milk") { await model.rows.map(\.id) == [milk] }
        try await workspace.write { try $0.set(done, to: true, on: milk) }
        try await eventually("the rows show nothing") { await model.rows.isEmpty }
        following.cancel()
        try await following.value
    }
}
