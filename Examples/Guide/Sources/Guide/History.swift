import Foundation
import PeerdKit

/// The code of the article "Going back in time".
enum History {
    static func run(in place: URL) async throws {
        let workspace = try await Workspace.create(at: place, name: "laptop")
        let note = try await workspace.write { transaction in
            let note = try transaction.create("note")
            try transaction.set(title, to: "first", on: note)
            return note
        }
        try await Self.readThePast(workspace, note)
        try await Self.branch(workspace, note)
        try await Self.undo(workspace, note)
        try await Self.erase(workspace)
        try await Self.compact(workspace)
        await workspace.close()
    }

    private static func readThePast(_ workspace: Workspace, _ note: ObjectID) async throws {
        let now = try await workspace.moment()
        let yesterday = try Moment("1 day ago")
        try await workspace.write { try $0.set(title, to: "second", on: note) }

        if let then = try await workspace.object(note, at: now) {
            print(try then[title] ?? "")
        }
        let notes = try await workspace.page(.objects(type: "note"), at: yesterday)
        print(notes.objects.count)
        try expect(try await workspace.object(note, at: now)?[title] == "first", "the past stays what it was")
        try expect(notes.objects.isEmpty, "a day ago there was nothing")

        let page = try await workspace.history(of: note, property: "title")
        for entry in page.entries {
            print(entry.entry.date, entry.entry.author.name, entry.entry.action, entry.entry.status)
        }
        try expect(page.entries.count == 2, "a history has each write")
        try expect(try await workspace.differences(from: now).map(\.id) == [note], "what differs is named")

        try await workspace.restore("title", of: note, to: now)
        try await workspace.restore(note, to: now)
        try expect(try await workspace.object(note)?[title] == "first", "a restore brings the value back")
    }

    private static func branch(_ workspace: Workspace, _ note: ObjectID) async throws {
        let draft = try await workspace.createBranch(named: "draft")
        try await workspace.write(on: draft.id) { try $0.set(title, to: "third", on: note) }
        let drafted = try await workspace.object(note, at: .branch(draft.id))
        try expect(try drafted?[title] == "third", "a branch shows what was written to it")
        try expect(try await workspace.object(note)?[title] == "first", "and nothing else shows it")

        for conflict in try await workspace.conflicts(merging: draft.id) {
            print(conflict.object, conflict.kind)
        }
        try await workspace.merge(draft.id)
        try await workspace.merge(nil, into: draft.id)
        try expect(try await workspace.object(note)?[title] == "third", "a merge brings the edit of the branch")
        try expect(try await workspace.branches().map(\.unmergedCount) == [0], "and leaves nothing to merge")
        try await workspace.write { try $0.set(title, to: "first", on: note) }
    }

    private static func compact(_ workspace: Workspace) async throws {
        let report = try await workspace.compact(keepingSeconds: 90 * 86_400, isDryRun: true)
        print(report.droppedWriteCount, report.lackingMachines)
        try expect(report.droppedWriteCount == 0 && report.fileByteCounts == nil, "nothing is that old")
    }

    private static func erase(_ workspace: Workspace) async throws {
        let phone = Property<String>("phone")
        let person = try await workspace.write { transaction in
            let person = try transaction.create("person")
            try transaction.set(phone, to: "1234", on: person)
            return person
        }
        try await workspace.write { try $0.set(phone, to: "5678", on: person) }
        let report = try await workspace.erase("phone", of: person)
        print(report.erasedWriteCount, report.snapshots)
        try expect(report.erasedWriteCount == 1 && report.fileFailure == nil, "nothing of it is left")
        try await workspace.write { try $0.delete(person) }
    }

    private static func undo(_ workspace: Workspace, _ note: ObjectID) async throws {
        for action in try await workspace.undo() {
            for kept in action.kept { print(kept.object, "stays as it is:", kept.reason) }
        }
        try await workspace.redo()
        try expect(try await workspace.object(note)?[title] == "first", "a redo takes the undo back")
    }
}
