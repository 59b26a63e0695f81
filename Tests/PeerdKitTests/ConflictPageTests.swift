import Foundation
import PeerdKit
import Testing

/// Pages of conflicts, beside all of them.
struct ConflictPageTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// Two machines that wrote the same apart: properties, kinds, places, and moves that would close cycles.
    private func machines() async throws -> (first: Workspace, second: Workspace) {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let notes = try await first.write { transaction in
            try (0..<6).map { try transaction.create("note", key: "\($0)") }
        }
        try await first.startSync(discovers: false)
        let second = try await Workspace.join(try await first.invite(), at: self.place.directory("b"), name: "second")
        try await self.bringInStep(second)
        await first.stopSync()
        for (number, workspace) in [first, second].enumerated() {
            try await workspace.write { transaction in
                for note in notes.prefix(4) {
                    for name in ["a", "b", "é", "e\u{301}", ""] {
                        try transaction.set(Property<Int>(name), to: number, on: note)
                    }
                }
                // One goes below different ones, and two below each other.
                try transaction.move(notes[0], to: notes[4 + number])
                try transaction.move(notes[2 + number], to: notes[3 - number])
                for key in ["6", "7"] {
                    let made = try transaction.create("note", kind: "\(number)", key: key)
                    try transaction.set(Property<Int>("a"), to: number, on: made)
                }
            }
        }
        try await first.startSync(discovers: false)
        try await self.bringInStep(second)
        return (first, second)
    }

    private func bringInStep(_ workspace: Workspace) async throws {
        for _ in 0..<20 where try await workspace.sync(timeout: .seconds(30)).isInSync { return }
        Issue.record("the two did not come in step")
    }

    @Test func `pages of every size are all conflicts, sorted`() async throws {
        let (first, second) = try await self.machines()
        for workspace in [first, second] {
            let scopes = try await [Scope.everything] + workspace.page(.all).objects.map { .object($0.id) }
            for scope in scopes {
                let (conflicts, moves) = try await (
                    workspace.conflicts(in: scope), workspace.movesWithoutEffect(in: scope)
                )
                if scope == .everything { try #require(conflicts.count > 20 && moves.count == 1) }
                if scope == .everything { #expect(conflicts.count { $0.subject == .creation } == 2) }
                for limit in [1, 2, 7, 100] {
                    var (pages, place): ([ConflictPage], ConflictPlace?) = ([], nil)
                    repeat {
                        let page = try await workspace.conflictPage(in: scope, after: place, limit: limit)
                        #expect(page.conflicts.count + page.moves.count == limit || page.next == nil)
                        pages.append(page)
                        // What a client sends back is text.
                        place = try page.next.map { try #require(ConflictPlace($0.text)) }
                    } while place != nil
                    #expect(pages.flatMap(\.conflicts) == conflicts)
                    #expect(pages.flatMap(\.moves) == moves)
                }
            }
        }
        await second.close()
        await first.close()
    }

    @Test(
        arguments: [
            "", "name", "name.x.y", "place.", "other.00000000-0000-0000-0000-000000000000", "place.0.0", "creation.",
        ]
    )
    func `what is no cursor is none`(text: String) {
        #expect(ConflictPlace(text) == nil)
    }
}
