import Foundation
import MergeModel
import PeerdKit
import Testing

/// Edits, undos, redos and merges at random on a main timeline and two branches: what is done last can be taken back
/// exactly, whatever was taken back, done again and merged before, and be done again exactly.
@Suite struct UndoWalkTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// What shows of an object, without times.
    private struct Shown: Hashable, CustomStringConvertible {
        let parent: ObjectID?
        let position: String
        let properties: Properties
        var description: String {
            let values = ["p", "q"].map { name in self.properties[name].map { "\(name)=\($0)" } ?? "" }
            return "\(self.parent.map { "\($0)".prefix(6) } ?? "root") \(values.joined(separator: " "))"
        }
    }

    private static func state(_ workspace: Workspace, _ branch: BranchID?) async throws -> [ObjectID: Shown] {
        let page =
            if let branch {
                try await workspace.page(.all, at: .branch(branch), limit: 1_000)
            } else {
                try await workspace.page(.all, limit: 1_000)
            }
        let shown = page.objects.map {
            ($0.id, Shown(parent: $0.parent, position: $0.position, properties: $0.properties))
        }
        return Dictionary(uniqueKeysWithValues: shown)
    }

    private enum Step: CustomStringConvertible {
        case create(parent: Int)
        case set(Int, String, Int)
        case unset(Int, String)
        case move(Int, parent: Int)
        case delete(Int)
        case merge(from: Int)
        case undo
        case redo

        var description: String {
            switch self {
            case .create(let parent): "create in \(parent)"
            case .set(let object, let name, let value): "set \(object).\(name) \(value)"
            case .unset(let object, let name): "unset \(object).\(name)"
            case .move(let object, let parent): "move \(object) to \(parent)"
            case .delete(let object): "delete \(object)"
            case .merge(let other): "merge \(other)"
            case .undo: "undo"
            case .redo: "redo"
            }
        }
    }

    private func step(_ number: Int, of count: Int, _ random: inout SplitMix64) -> Step {
        let object = random.below(max(1, count))
        let name = random.pick(["p", "q"])
        switch random.below(18) {
        case 0, 1: return .create(parent: random.below(count + 1) - 1)
        case 2, 3, 4, 5: return .set(object, name, number)
        case 6: return .unset(object, name)
        case 7, 8: return .move(object, parent: random.below(count + 1) - 1)
        case 9, 10: return .delete(object)
        case 11, 12, 13: return .merge(from: random.below(2))
        case 14, 15, 16: return .undo
        default: return .redo
        }
    }

    /// A workspace with some objects, and its timelines: the main one, a branch, and a branch of that.
    private struct Walk {
        let workspace: Workspace
        var objects: [ObjectID]
        let timelines: [BranchID?]

        init(at directory: URL) async throws {
            self.workspace = try await Workspace.create(at: directory, name: "first")
            self.objects = [try await self.workspace.write { try $0.create("note") }]
            let outer = try await self.workspace.createBranch(named: "x").id
            self.timelines = [nil, outer, try await self.workspace.createBranch(named: "y", leaving: outer).id]
        }

        private func object(_ number: Int) -> ObjectID? { number < 0 ? nil : self.objects[number] }

        /// Returns whether there was anything to do.
        mutating func perform(_ step: Step, _ number: Int, on timeline: Int) async throws -> Bool {
            let branch = self.timelines[timeline]
            switch step {
            case .create(let parent):
                let above = self.object(parent)
                self.objects.append(
                    try await self.workspace.write(on: branch) { transaction in
                        let id = try transaction.create("note", in: above)
                        try transaction.set(Property<Int>("p"), to: number, on: id)
                        return id
                    }
                )
            case .set(let index, let name, let value):
                let id = self.objects[index]
                try await self.workspace.write(on: branch) { try $0.set(Property<Int>(name), to: value, on: id) }
            case .unset(let index, let name):
                let id = self.objects[index]
                return try await self.workspace.write(on: branch) { transaction in
                    guard try transaction.value(of: Property<Int>(name), on: id) != nil else { return false }
                    try transaction.unset(Property<Int>(name), on: id)
                    return true
                }
            case .move(let index, let parent):
                let (id, above) = (self.objects[index], self.object(parent))
                try await self.workspace.write(on: branch) { try $0.move(id, to: above) }
            case .delete(let index):
                let id = self.objects[index]
                try await self.workspace.write(on: branch) { try $0.delete(id) }
            case .merge(let from):
                return try await self.workspace.merge(self.timelines[(timeline + 1 + from) % 3], into: branch)
            case .undo: return try await !self.workspace.undo(on: branch).isEmpty
            case .redo: return try await !self.workspace.redo(on: branch).isEmpty
            }
            return true
        }

        /// How objects differ from what they should be, in words.
        func differences(_ found: [ObjectID: Shown], _ wanted: [ObjectID: Shown]) -> String {
            let ids = Set(found.keys).union(wanted.keys).filter { found[$0] != wanted[$0] }
            let words = ids.map { id in
                let texts = [found[id], wanted[id]].map { $0.map { "\($0)" } ?? "nothing" }
                return "\(self.objects.firstIndex(of: id) ?? -1) is \(texts[0]), expected \(texts[1])"
            }
            return words.joined(separator: "; ")
        }
    }

    @Test(arguments: Seeds.range(from: 35_000, count: 60))
    func `an undo leads back to what was before, and a redo to what it was then`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var walk = try await Walk(at: self.place.directory("\(seed)"))
        var told = ["seed \(seed)"]
        steps: for number in 0..<30 {
            let timeline = random.below(3)
            let branch = walk.timelines[timeline]
            let step = self.step(number, of: walk.objects.count, &random)
            told.append("\(timeline): \(step)")
            let before = try await Self.state(walk.workspace, branch)
            do {
                guard try await walk.perform(step, number, on: timeline) else { continue }
            } catch is PeerdError {
                continue
            }
            let after = try await Self.state(walk.workspace, branch)
            // A merge that brought nothing to take back is no step.
            if case .merge = step, before == after { continue }
            guard random.below(2) == 0 else { continue }
            // What takes back an undo is a redo, and the other way round.
            let isUndo = if case .undo = step { true } else { false }
            for (isBack, wanted) in [(true, before), (false, after), (true, before), (false, after)] {
                if isBack == isUndo {
                    try await walk.workspace.redo(on: branch)
                } else {
                    try await walk.workspace.undo(on: branch)
                }
                let found = try await Self.state(walk.workspace, branch)
                guard found != wanted else { continue }
                told.append("\(isBack == isUndo ? "redo" : "undo"): \(walk.differences(found, wanted))")
                Issue.record("\(told.joined(separator: "\n"))")
                break steps
            }
        }
        await walk.workspace.close()
    }
}
