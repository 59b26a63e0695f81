import Foundation
import PeerdKit
import Testing

/// Branches through the library: edits that show nowhere else until they are merged.
@Suite(.serialized) struct BranchTests {
    private let place: TemporaryPlace
    private static let title = Property<String>("title")

    init() throws { self.place = try TemporaryPlace() }

    private static func titles(_ workspace: Workspace, at moment: Moment? = nil) async throws -> [String] {
        let page =
            if let moment { try await workspace.page(.all, at: moment) } else { try await workspace.page(.all) }
        return try page.objects.map { try $0[Self.title] ?? "" }.sorted()
    }

    @Test func `edits on a branch show on it alone, until it is merged`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let ids = try await workspace.write { transaction in
            try ["kept", "changed", "gone"].map { text in
                let id = try transaction.create("note")
                try transaction.set(Self.title, to: text, on: id)
                return id
            }
        }
        let branch = try await workspace.createBranch(named: "try")
        #expect(branch.parent == nil && branch.unmergedCount == 0 && branch.author.isThisMachine)
        let made = try await workspace.write(on: branch.id) { transaction in
            try transaction.set(Self.title, to: "on the branch", on: ids[1])
            try transaction.delete(ids[2])
            let parent = try transaction.create("list")
            try transaction.set(Self.title, to: "new list", on: parent)
            try transaction.move(ids[0], to: parent)
            return parent
        }
        #expect(try await Self.titles(workspace) == ["changed", "gone", "kept"])
        let there = Moment.branch(branch.id)
        #expect(try await Self.titles(workspace, at: there) == ["kept", "new list", "on the branch"])
        #expect(try await workspace.object(ids[0], at: there)?.parent == made)
        #expect(try await workspace.branches().map(\.unmergedCount) == [1])
        // What a branch shows does not follow the main timeline.
        try await workspace.write { try $0.set(Self.title, to: "later", on: ids[0]) }
        #expect(try await workspace.object(ids[0], at: there)?[Self.title] == "kept")
        try await workspace.write(on: branch.id) { transaction in
            let value = try transaction.value(of: Self.title, on: ids[1])
            try transaction.set(Self.title, to: (value ?? "") + "!", on: ids[1])
        }
        #expect(try await workspace.merge(branch.id))
        #expect(try await !workspace.merge(branch.id))
        #expect(try await Self.titles(workspace) == ["later", "new list", "on the branch!"])
        #expect(try await workspace.object(ids[0])?.parent == made)
        #expect(try await workspace.branches().map(\.unmergedCount) == [0])
        // A merged branch goes on, and takes in what the main timeline has.
        try await workspace.merge(nil, into: branch.id)
        #expect(try await Self.titles(workspace, at: there) == ["later", "new list", "on the branch!"])
        #expect(try await workspace.branches().map(\.unmergedCount) == [0], "what it took in is no edit of its own")
        try await workspace.deleteBranch(branch.id)
        #expect(try await workspace.branches().isEmpty)
        await #expect { try await workspace.merge(branch.id) } throws: {
            ($0 as? PeerdError)?.code == .noSuchBranch
        }
        await workspace.close()
    }

    @Test func `a branch of a branch is merged into it, and with it into the main timeline`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await workspace.write { try $0.create("note") }
        let outer = try await workspace.createBranch(named: "outer")
        try await workspace.write(on: outer.id) { try $0.set(Self.title, to: "outer", on: note) }
        let inner = try await workspace.createBranch(named: "inner", leaving: outer.id)
        #expect(try await workspace.object(note, at: .branch(inner.id))?[Self.title] == "outer")
        try await workspace.write(on: inner.id) { try $0.set(Self.title, to: "inner", on: note) }
        #expect(try await workspace.object(note, at: .branch(outer.id))?[Self.title] == "outer")
        try await workspace.merge(inner.id, into: outer.id)
        #expect(try await workspace.object(note, at: .branch(outer.id))?[Self.title] == "inner")
        #expect(try await workspace.object(note)?[Self.title] == nil)
        try await workspace.merge(outer.id)
        #expect(try await workspace.object(note)?[Self.title] == "inner")
        await workspace.close()
    }

    @Test func `what both sides changed is listed before a merge`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let ids = try await workspace.write { transaction in
            try (0..<4).map { _ in
                let id = try transaction.create("note")
                try transaction.set(Self.title, to: "base", on: id)
                return id
            }
        }
        let branch = try await workspace.createBranch(named: "try")
        try await workspace.write(on: branch.id) { transaction in
            try transaction.set(Self.title, to: "theirs", on: ids[0])
            try transaction.delete(ids[1])
            try transaction.set(Self.title, to: "theirs", on: ids[2])
            try transaction.set(Self.title, to: "same", on: ids[3])
        }
        try await workspace.write { transaction in
            try transaction.set(Self.title, to: "ours", on: ids[0])
            try transaction.set(Self.title, to: "ours", on: ids[1])
            try transaction.delete(ids[2])
            try transaction.set(Self.title, to: "same", on: ids[3])
        }
        let conflicts = try await workspace.conflicts(merging: branch.id)
        let both = MergeConflict.Kind.property(name: "title", branch: .string("theirs"), target: .string("ours"))
        let expected = [
            MergeConflict(object: ids[0], kind: both),
            MergeConflict(object: ids[1], kind: .deletedOnBranch),
            MergeConflict(object: ids[2], kind: .deletedOnTarget),
        ]
        #expect(Set(conflicts) == Set(expected))
        try await workspace.merge(branch.id)
        // As if the edits had been made offline: the later write is in force, and edits win over deletions.
        #expect(try await workspace.object(ids[0])?[Self.title] == "ours")
        #expect(try await workspace.object(ids[1])?[Self.title] == "ours")
        #expect(try await workspace.object(ids[2])?[Self.title] == "theirs")
        #expect(try await workspace.conflicts().map(\.object).contains(ids[0]))
        await workspace.close()
    }

    @Test func `what comes back with what is in it is listed, and what is displaced`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let ids = try await workspace.write { transaction in
            let folder = try transaction.create("folder")
            return [folder, try transaction.create("folder", in: folder)]
                + (try (0..<2).map { _ in try transaction.create("folder") })
        }
        let branch = try await workspace.createBranch(named: "try")
        try await workspace.write(on: branch.id) { transaction in
            _ = try transaction.create("note", in: ids[1])
            try transaction.move(ids[3], to: ids[2])
        }
        try await workspace.write { transaction in
            try transaction.delete(ids[0])
            try transaction.move(ids[2], to: ids[3])
        }
        let expected = [
            MergeConflict(object: ids[0], kind: .deletedOnTarget),
            MergeConflict(object: ids[1], kind: .deletedOnTarget),
            MergeConflict(object: ids[2], kind: .place(branch: nil, target: ids[3])),
        ]
        #expect(Set(try await workspace.conflicts(merging: branch.id)) == Set(expected))
        try await workspace.merge(branch.id)
        for id in ids.prefix(2) { #expect(try await workspace.object(id) != nil) }
        #expect(try await workspace.object(ids[2])?.parent == nil)
        #expect(try await workspace.object(ids[3])?.parent == ids[2])
        await workspace.close()
    }

    @Test func `a branch that has only taken its edits back is listed where that wins`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let (edited, deleted) = try await workspace.write { transaction in
            let ids = try (0..<2).map { _ in try transaction.create("note") }
            for id in ids { try transaction.set(Self.title, to: "base", on: id) }
            return (ids[0], ids[1])
        }
        let branch = try await workspace.createBranch(named: "try")
        try await workspace.write { transaction in
            try transaction.set(Self.title, to: "ours", on: edited)
            try transaction.delete(deleted)
        }
        try await workspace.write(on: branch.id) { transaction in
            for id in [edited, deleted] { try transaction.set(Self.title, to: "theirs", on: id) }
        }
        _ = try await workspace.undo(on: branch.id)
        let back = MergeConflict.Kind.property(name: "title", branch: .string("base"), target: .string("ours"))
        let expected = [
            MergeConflict(object: edited, kind: back), MergeConflict(object: deleted, kind: .deletedOnTarget),
        ]
        #expect(Set(try await workspace.conflicts(merging: branch.id)) == Set(expected))
        try await workspace.merge(branch.id)
        for id in [edited, deleted] { #expect(try await workspace.object(id)?[Self.title] == "base") }
        await workspace.close()
    }

    @Test func `what both sides wrote is listed, also if one of them has deleted the object`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let ids = try await workspace.write { transaction in try (0..<2).map { _ in try transaction.create("note") } }
        let branch = try await workspace.createBranch(named: "try")
        try await workspace.write(on: branch.id) { transaction in
            for id in ids { try transaction.set(Self.title, to: "theirs", on: id) }
        }
        try await workspace.write { transaction in
            for id in ids { try transaction.set(Self.title, to: "ours", on: id) }
        }
        try await workspace.write(on: branch.id) { try $0.delete(ids[0]) }
        try await workspace.write { try $0.delete(ids[1]) }
        let both = MergeConflict.Kind.property(name: "title", branch: .string("theirs"), target: .string("ours"))
        let expected = [
            MergeConflict(object: ids[0], kind: .deletedOnBranch), MergeConflict(object: ids[0], kind: both),
            MergeConflict(object: ids[1], kind: .deletedOnTarget), MergeConflict(object: ids[1], kind: both),
        ]
        #expect(Set(try await workspace.conflicts(merging: branch.id)) == Set(expected))
        try await workspace.merge(branch.id)
        for id in ids { #expect(try await workspace.object(id)?[Self.title] == "ours") }
        #expect(Set(try await workspace.conflicts().map(\.object)) == Set(ids))
        await workspace.close()
    }

    @Test func `a branch whose parent is deleted leaves what that one left`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await workspace.write { try $0.create("note") }
        let outer = try await workspace.createBranch(named: "outer")
        let middle = try await workspace.createBranch(named: "middle", leaving: outer.id)
        let inner = try await workspace.createBranch(named: "inner", leaving: middle.id)
        try await workspace.write(on: inner.id) { try $0.set(Self.title, to: "inner", on: note) }
        try await workspace.deleteBranch(middle.id)
        #expect(try await workspace.branch("inner").parent == outer.id)
        try await workspace.deleteBranch(outer.id)
        let left = try await workspace.branch("inner")
        #expect(left.parent == nil && left.unmergedCount == 1)
        try await workspace.merge(inner.id, into: left.parent)
        #expect(try await workspace.object(note)?[Self.title] == "inner")
        #expect(try await workspace.branch("inner").unmergedCount == 0)
        await workspace.close()
    }

    @Test func `what a branch has of one that was deleted is not given up unasked`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await workspace.write { try $0.create("note") }
        let outer = try await workspace.createBranch(named: "outer")
        try await workspace.write(on: outer.id) { try $0.set(Self.title, to: "outer", on: note) }
        let inner = try await workspace.createBranch(named: "inner", leaving: outer.id)
        #expect(try await workspace.branch("inner").unmergedCount == 0)
        try await workspace.deleteBranch(outer.id)
        #expect(try await workspace.branch("inner").unmergedCount == 1)
        await #expect { try await workspace.deleteBranch(inner.id) } throws: {
            ($0 as? PeerdError)?.code == .branchUnmerged
        }
        #expect(try await workspace.object(note, at: .branch(inner.id))?[Self.title] == "outer")
        try await workspace.write(on: inner.id) { try $0.set(Self.title, to: "later", on: note) }
        await #expect { try await workspace.deleteBranch(inner.id, discardingAtMost: 1) } throws: {
            ($0 as? PeerdError)?.code == .branchUnmerged
        }
        try await workspace.deleteBranch(inner.id, discardingAtMost: 2)
        #expect(try await workspace.branches().isEmpty)
        await workspace.close()
    }

    @Test func `what a branch took in of another counts with it until its parent has it`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await workspace.write { try $0.create("note") }
        let first = try await workspace.createBranch(named: "first")
        let second = try await workspace.createBranch(named: "second")
        try await workspace.write(on: first.id) { try $0.set(Self.title, to: "first", on: note) }
        try await workspace.merge(first.id, into: second.id)
        #expect(try await workspace.branch("second").unmergedCount == 1)
        try await workspace.deleteBranch(first.id)
        await #expect { try await workspace.deleteBranch(second.id) } throws: {
            ($0 as? PeerdError)?.code == .branchUnmerged
        }
        try await workspace.merge(second.id)
        #expect(try await workspace.branch("second").unmergedCount == 0)
        try await workspace.deleteBranch(second.id)
        #expect(try await workspace.object(note)?[Self.title] == "first")
        await workspace.close()
    }

    @Test func `names are checked, and a branch can begin in the past`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await workspace.write { try $0.create("note") }
        let then = try await workspace.moment()
        try await workspace.write { try $0.set(Self.title, to: "later", on: note) }
        let branch = try await workspace.createBranch(named: "past", at: then)
        #expect(try await workspace.object(note, at: .branch(branch.id))?.properties.isEmpty == true)
        for name in ["", "main", " past", "a\nb", String(repeating: "a", count: 600)] {
            await #expect(throws: PeerdError.self) { try await workspace.createBranch(named: name) }
        }
        await #expect { try await workspace.createBranch(named: "past") } throws: {
            ($0 as? PeerdError)?.code == .branchExists
        }
        await #expect { try await workspace.object(note, at: Moment("branch:other")) } throws: {
            ($0 as? PeerdError)?.code == .noSuchBranch
        }
        #expect(try Moment("branch:past").description == "branch:past")
        await workspace.close()
    }

    @Test func `two machines that merge a branch at once come to one state`() async throws {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await first.write { try $0.create("note") }
        try await first.startSync(discovers: false)
        let second = try await Workspace.join(try await first.invite(), at: self.place.directory("b"), name: "second")
        let branch = try await first.createBranch(named: "shared")
        try await first.write(on: branch.id) { try $0.set(Self.title, to: "first", on: note) }
        #expect(try await second.sync(timeout: .seconds(30)).isInSync)
        await first.stopSync()
        #expect(try await second.branch("shared").unmergedCount == 1)
        try await second.write(on: branch.id) { try $0.set(Property<Int>("count"), to: 2, on: note) }
        try await first.write(on: branch.id) { try $0.set(Property<Int>("count"), to: 1, on: note) }
        try await second.write { try $0.set(Property<Bool>("main"), to: true, on: note) }
        #expect(try await first.merge(branch.id))
        #expect(try await second.merge(branch.id))
        #expect(try await first.object(note)?[Self.title] == "first")
        try await first.startSync(discovers: false)
        #expect(try await second.sync(timeout: .seconds(30)).isInSync)
        let states = (try await first.object(note), try await second.object(note))
        #expect(states.0?.properties == states.1?.properties && states.0?.properties.count == 3)
        // Neither had seen the other's edit of the branch when it merged; each has that on the branch alone.
        let there = Moment.branch(branch.id)
        let sides = (try await first.object(note, at: there), try await second.object(note, at: there))
        #expect(sides.0?.properties == sides.1?.properties)
        await second.close()
        await first.close()
    }
}
