package import CRDTCore
internal import Persistence

/// Something that two timelines changed in different ways since they parted.
public struct MergeConflict: Hashable, Sendable {
    /// The kinds of conflicts.
    public enum Kind: Hashable, Sendable {
        /// Both sides wrote to a property, be it what was there before; nil is a value that was removed, or that there
        /// was none.
        case property(name: String, branch: Value?, target: Value?)
        /// Both sides moved the object, or one did, and its move would close a cycle beside the other side's.
        ///
        /// Nil is the root.
        case place(branch: ObjectID?, target: ObjectID?)
        /// The branch deleted what the target has edited, or put something into: the object stays.
        case deletedOnBranch
        /// The target deleted what the branch has edited, or put something into: the object comes back.
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
    /// - Complexity: O(*n* log *m*) in the operations since the two parted, and all that stands above what the branch
    ///   has touched.
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
            var theirs = try Timeline(sides.0, since: base, of: &transaction)
            var ours = try Timeline(sides.1, since: base, of: &transaction)
            var union = sides.0
            union.formUnion(sides.1)
            var merged = try Self.state(union, of: &transaction)
            // What is above what the branch has touched may come back with it, or be displaced by it.
            var touched: Set<ObjectIndex> = []
            for index in try transaction.objects(between: base, and: sides.0) {
                var next: ObjectIndex? = index
                while let object = next, touched.insert(object).inserted { next = try merged.parent(of: object) }
            }
            var found: [MergeConflict] = []
            for index in touched {
                found += try MergeConflict.all(of: index, &theirs, &ours, &merged, in: &transaction)
            }
            return found.sorted { ($0.object, $0.kind.rank, $0.kind.name) < ($1.object, $1.kind.rank, $1.kind.name) }
        }
    }

    fileprivate static func state(
        _ seen: SeenSegments,
        of transaction: inout SQLiteTransaction
    ) throws(StoreError) -> WorkspaceState {
        let view = try HistoryView(seen: seen, namesMissing: true, in: &transaction)
        return CombinedState(view, of: transaction)
    }

    private static func seen(
        _ branch: BranchID?,
        in transaction: inout SQLiteTransaction
    ) throws -> SeenSegments {
        if let branch { _ = try Branch.find(branch.description, in: transaction) }
        return try transaction.closure(of: transaction.heads(of: branch))
    }
}

/// One of two timelines, and what was done there since they parted.
private struct Timeline {
    var state: WorkspaceState
    private var history: History
    private let base: SeenSegments

    init(_ seen: SeenSegments, since base: SeenSegments, of transaction: inout SQLiteTransaction) throws(StoreError) {
        self.state = try Workspace.state(seen, of: &transaction)
        self.history = History(try HistoryView(seen: seen, in: &transaction))
        self.base = base
    }

    private func isNew(_ write: WriteReference) -> Bool { write.sequence > self.base[write.segment] }

    /// Whether the value of a property was written here, be it the one that was there before.
    ///
    /// A write that was dropped since is one.
    mutating func wrote(
        _ name: ExactText,
        of index: ObjectIndex,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> Bool {
        guard let number = try transaction.existingNameIndex(of: name.text) else { return false }
        let key = RegisterKey(object: index, name: number)
        do throws(StoreError) {
            return try self.history.lastWrite(at: key, in: &transaction).map { self.isNew($0) } ?? false
        } catch .compacted {
            return true
        }
    }

    /// Whether the object was put here where it is.
    mutating func moved(_ index: ObjectIndex, in transaction: inout SQLiteTransaction) throws(StoreError) -> Bool {
        try self.history.lastMove(of: index, in: &transaction).map { self.isNew($0.write) } ?? false
    }

    /// Whether the object was deleted here.
    mutating func deleted(_ index: ObjectIndex, in transaction: inout SQLiteTransaction) throws(StoreError) -> Bool {
        try self.history.deletions(of: index, in: &transaction).contains { self.isNew($0) }
    }
}

/// An object on one timeline: what it has, whether it shows or not.
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
}

extension MergeConflict {
    /// What two timelines have done to an object, where a merge replaces what one of them has done.
    ///
    /// Writes compete, not values: that a timeline has written what was there before wins over the other side, too.
    fileprivate static func all(
        of index: ObjectIndex,
        _ branch: inout Timeline,
        _ target: inout Timeline,
        _ merged: inout WorkspaceState,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> [MergeConflict] {
        let id = try transaction.look(at: index) { $0.id }
        let (theirs, ours) = (try Side(of: index, in: &branch.state), try Side(of: index, in: &target.state))
        let record = try merged.object(index)
        guard theirs.shows || ours.shows || record.isVisible else { return [] }
        var found: [MergeConflict] = []
        if record.isVisible {
            if !ours.shows, try target.deleted(index, in: &transaction) {
                found.append(MergeConflict(object: id, kind: .deletedOnTarget))
            }
            if !theirs.shows, try branch.deleted(index, in: &transaction) {
                found.append(MergeConflict(object: id, kind: .deletedOnBranch))
            }
        }
        // What was written before a deletion competes, too.
        let names = Set(theirs.properties.keys).union(ours.properties.keys)
        for name in names.subtracting(theirs.missing).subtracting(ours.missing).sorted() {
            let (value, own) = (theirs.properties[name], ours.properties[name])
            guard value != own, try branch.wrote(name, of: index, in: &transaction),
                try target.wrote(name, of: index, in: &transaction)
            else { continue }
            found.append(MergeConflict(object: id, kind: .property(name: name.text, branch: value, target: own)))
        }
        let parent = try record.parent.map { parent throws(StoreError) in try merged.object(parent).id }
        guard theirs.parent != ours.parent || theirs.position != ours.position else { return found }
        var isReplaced = false
        // A move that would close a cycle beside the other side's has no effect.
        if ours.parent != parent || ours.position != record.position {
            isReplaced = try target.moved(index, in: &transaction)
        }
        if !isReplaced, theirs.parent != parent || theirs.position != record.position {
            isReplaced = try branch.moved(index, in: &transaction)
        }
        if isReplaced {
            found.append(MergeConflict(object: id, kind: .place(branch: theirs.parent, target: ours.parent)))
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
