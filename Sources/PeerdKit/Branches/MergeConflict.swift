package import CRDTCore
internal import Persistence

/// Something that two timelines changed in different ways since they parted.
public struct MergeConflict: Hashable, Sendable {
    /// The kinds of conflicts.
    public enum Kind: Hashable, Sendable {
        /// Both sides wrote to a property; nil is a value that was removed, or that there was none.
        case property(name: String, branch: Value?, target: Value?)
        /// Both sides moved the object; nil is the root.
        case place(branch: ObjectID?, target: ObjectID?)
        /// The branch deleted what the target has edited: the object stays, with the edits.
        case deletedOnBranch
        /// The target deleted what the branch has edited: the object comes back, with the edits.
        case deletedOnTarget
    }

    /// The object.
    public let object: ObjectID
    /// The change that both sides made.
    public let kind: Kind

    package init(object: ObjectID, kind: Kind) { (self.object, self.kind) = (object, kind) }
}

extension Workspace {
    /// Returns what a merge of two timelines would find changed on both sides.
    ///
    /// A merge decides each of them by the rules for edits that were made offline, and none is in its way.
    ///
    /// - Parameters:
    ///   - branch: the branch to merge; nil for the main timeline.
    ///   - target: the branch that takes it in; nil for the main timeline.
    /// - Returns: one element for each property, place or object that both sides changed, in the order of the objects.
    /// - Throws: ``PeerdError`` with `noSuchBranch`, `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n* log *m*) in the operations since the two parted.
    public func conflicts(merging branch: BranchID?, into target: BranchID? = nil) async throws -> [MergeConflict] {
        try await self.reading { transaction in
            let sides = (
                try Self.seen(branch, in: &transaction), try Self.seen(target, in: &transaction)
            )
            var base = SeenSegments()
            for (segment, sequence) in sides.0.all {
                let common = min(sequence, sides.1[segment])
                if common > 0 { _ = base.raise(segment, to: common) }
            }
            let touched = try transaction.objects(between: base, and: sides.0)
                .intersection(try transaction.objects(between: base, and: sides.1))
            var before = try Self.state(base, of: &transaction)
            var theirs = try Self.state(sides.0, of: &transaction)
            var ours = try Self.state(sides.1, of: &transaction)
            var found: [MergeConflict] = []
            for index in touched {
                let id = try transaction.look(at: index) { $0.id }
                found += MergeConflict.all(
                    of: id,
                    before: try Side(of: index, in: &before),
                    branch: try Side(of: index, in: &theirs),
                    target: try Side(of: index, in: &ours)
                )
            }
            return found.sorted { ($0.object, $0.kind.rank, $0.kind.name) < ($1.object, $1.kind.rank, $1.kind.name) }
        }
    }

    private static func state(
        _ seen: SeenSegments,
        of transaction: inout SQLiteTransaction
    ) throws(StoreError) -> HistoryState<SQLiteTransaction> {
        let view = try HistoryView(seen: seen, namesMissing: true, in: &transaction)
        return HistoryState(view, of: transaction)
    }

    private static func seen(
        _ branch: BranchID?,
        in transaction: inout SQLiteTransaction
    ) throws -> SeenSegments {
        if let branch { _ = try Branch.find(branch.description, in: transaction) }
        return try transaction.closure(of: transaction.heads(of: branch))
    }
}

/// An object on one timeline, or where two parted: what it has, whether it shows or not.
private struct Side {
    let shows: Bool
    let properties: [ExactText: Value]
    /// The names of those whose values are not here.
    let missing: Set<ExactText>
    let parent: ObjectID?
    let position: Position

    init(of index: ObjectIndex, in state: inout some StateReading) throws(StoreError) {
        let record = try state.object(index)
        self.shows = record.isVisible
        self.position = record.position
        self.parent = try record.parent.map { parent throws(StoreError) in try state.object(parent).id }
        self.properties = try StateExport.properties(of: index, in: &state)
        self.missing = Set(try state.missingProperties(of: index).map { ExactText($0) })
    }

    /// Whether another side has it otherwise.
    func differs(from other: Side) -> Bool {
        self.properties != other.properties || self.parent != other.parent || self.position != other.position
    }
}

extension MergeConflict {
    fileprivate static func all(of id: ObjectID, before: Side, branch: Side, target: Side) -> [MergeConflict] {
        guard branch.shows || target.shows else { return [] }
        var found: [MergeConflict] = []
        if branch.shows != target.shows {
            let edited = branch.shows ? branch : target
            guard before.shows, edited.differs(from: before) else { return [] }
            found.append(MergeConflict(object: id, kind: branch.shows ? .deletedOnTarget : .deletedOnBranch))
        }
        // What was written before a deletion competes, too.
        let names = Set(before.properties.keys).union(branch.properties.keys).union(target.properties.keys)
        for name in names.subtracting(branch.missing).subtracting(target.missing).sorted() {
            let (old, theirs, ours) = (before.properties[name], branch.properties[name], target.properties[name])
            guard theirs != ours, theirs != old, ours != old else { continue }
            found.append(MergeConflict(object: id, kind: .property(name: name.text, branch: theirs, target: ours)))
        }
        let isBranchMoved = branch.parent != before.parent || branch.position != before.position
        let isTargetMoved = target.parent != before.parent || target.position != before.position
        let isApart = branch.parent != target.parent || branch.position != target.position
        if isApart, isBranchMoved, isTargetMoved {
            found.append(MergeConflict(object: id, kind: .place(branch: branch.parent, target: target.parent)))
        }
        return found
    }
}

extension MergeConflict.Kind {
    fileprivate var rank: Int {
        switch self {
        case .deletedOnBranch, .deletedOnTarget: 0
        case .place: 1
        case .property: 2
        }
    }

    fileprivate var name: ExactText {
        if case .property(let name, _, _) = self { return ExactText(name) }
        return ExactText("")
    }
}
