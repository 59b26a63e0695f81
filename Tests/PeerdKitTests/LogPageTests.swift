import Foundation
import PeerdKit
import Testing

/// Pages of the log in the order of time, beside the log as it lies.
struct LogPageTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// Two machines that have written apart, and then what both wrote.
    private func machines() async throws -> (first: Workspace, second: Workspace, notes: [ObjectID]) {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let notes = try await first.write { transaction in
            let notes = try (0..<4).map { try transaction.create("note", key: "\($0)") }
            // One change with many operations.
            for number in 0..<30 { try transaction.set(Property<Int>("p\(number)"), to: number, on: notes[0]) }
            return notes
        }
        try await first.startSync(discovers: false)
        let second = try await Workspace.join(
            try await first.invite(),
            at: self.place.directory("b"),
            name: "second"
        )
        try await self.bringInStep(second)
        await first.stopSync()
        for turn in 0..<12 {
            for workspace in [first, second] {
                let note = notes[turn % notes.count]
                // The two would close a cycle together, so one of the moves has no effect.
                let pair = workspace === first ? (notes[0], notes[1]) : (notes[1], notes[0])
                try await workspace.write { transaction in
                    try transaction.set(Property<Int>("turn"), to: turn, on: note)
                    if turn % 3 == 0 { try transaction.move(pair.0, to: turn % 2 == 0 ? pair.1 : nil) }
                    if turn % 5 == 4 { try transaction.unset(Property<Int>("turn"), on: note) }
                }
            }
        }
        try await second.write { try $0.delete(notes[3]) }
        try await first.startSync(discovers: false)
        try await self.bringInStep(second)
        return (first, second, notes)
    }

    private func bringInStep(_ workspace: Workspace) async throws {
        for _ in 0..<20 where try await workspace.sync(timeout: .seconds(30)).isInSync { return }
        Issue.record("the two did not come in step")
    }

    private func log(_ workspace: Workspace, of object: ObjectID?) async throws -> [LogEntry] {
        var entries: [LogEntry] = []
        for try await entry in workspace.log(of: object) {
            if case .housekeeping = entry.action { continue }
            entries.append(entry)
        }
        return entries
    }

    /// All pages of a size, one after the other.
    private func pages(
        _ workspace: Workspace,
        of object: ObjectID?,
        newestFirst: Bool,
        limit: Int
    ) async throws -> [LogEntry] {
        var (entries, place): ([LogEntry], LogPlace?) = ([], nil)
        repeat {
            let page = try await workspace.logPage(of: object, after: place, newestFirst: newestFirst, limit: limit)
            #expect(page.entries.count == limit || page.next == nil)
            entries += page.entries
            // What a client sends back is text.
            place = try page.next.map { try #require(LogPlace($0.text)) }
        } while place != nil
        return entries
    }

    @Test func `pages of every size are the log in the order of time`() async throws {
        let (first, second, notes) = try await self.machines()
        for workspace in [first, second] {
            for object in [nil] + notes.map(Optional.some) {
                let log = try await self.log(workspace, of: object)
                let whole = try await self.pages(workspace, of: object, newestFirst: false, limit: 1_000)
                try #require(whole.count == log.count && log.count > 4)
                #expect(Dictionary(grouping: whole, by: \.id) == Dictionary(grouping: log, by: \.id))
                #expect(zip(whole, whole.dropFirst()).allSatisfy { $0.date <= $1.date })
                for limit in [1, 2, 7, 31] {
                    #expect(try await self.pages(workspace, of: object, newestFirst: false, limit: limit) == whole)
                    let backwards = try await self.pages(workspace, of: object, newestFirst: true, limit: limit)
                    #expect(backwards == whole.reversed())
                }
            }
        }
        // The history of a property is that of its object without the rest.
        for note in notes {
            let whole = try await first.history(of: note, limit: 1_000).entries
            let turns = whole.filter { entry in
                switch entry.entry.action {
                case .set(name: "turn", to: _), .unset(name: "turn"): true
                default: false
                }
            }
            var (found, cursor): ([HistoryEntry], HistoryCursor?) = ([], nil)
            repeat {
                let page = try await first.history(of: note, property: "turn", after: cursor, limit: 2)
                found += page.entries
                cursor = page.next
            } while cursor != nil
            #expect(found == turns && !turns.isEmpty)
            #expect(try await first.history(of: note, property: "nobody wrote this").entries.isEmpty)
        }
        let orders = try await [first, second].asyncMap { workspace in
            try await self.pages(workspace, of: nil, newestFirst: true, limit: 10).map(\.id)
        }
        #expect(orders[0] == orders[1])
        await second.close()
        await first.close()
    }

    @Test func `what is no cursor is none`() {
        for text in ["", "-", "1-2-3-4-5", "x-00000000000000000000000000000000-1-0-0", "1-0-1-0-0-0"] {
            #expect(LogPlace(text) == nil, "\(text)")
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
