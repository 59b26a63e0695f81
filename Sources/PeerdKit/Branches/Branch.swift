package import CRDTCore
public import Foundation

/// A named course of edits beside the main timeline.
///
/// A branch begins with a state of the main timeline, or of another branch, and goes its own way: edits on it do not
/// show elsewhere until it is merged. It syncs as all else does, and every machine can write to it, online or not.
/// Merging follows the rules of edits that were made offline.
public struct Branch: Identifiable, Hashable, Sendable {
    /// The id of the branch.
    public let id: BranchID
    /// The name that its author gave it; two machines that were apart can have given the same.
    public let name: String
    /// The branch that it leaves; nil for the main timeline.
    ///
    /// If that one was deleted, it is the nearest one above that is not.
    public let parent: BranchID?
    /// The machine that created it.
    public let author: Author
    /// The time at which it was created.
    public let date: Date
    /// The number of transactions that a merge would bring to the timeline which it leaves; merges are not counted.
    ///
    /// They were made on it, or on a branch that it left or took in.
    public let unmergedCount: Int
    /// The machine that deleted the branch and had not seen all of it, so that it stays; nil if none has.
    ///
    /// Of several, it is the one that was heard of last.
    public let deletedBy: Author?
    /// The number of its transactions that no machine had seen that deleted it; zero if none has.
    ///
    /// Those that are held or wait for others are counted too.
    public let unseenCount: Int

    /// The name that means the main timeline, which no branch can have.
    package static let mainName = "main"

    /// Tells whether a name means the main timeline.
    package static func isMain(_ name: String) -> Bool { name == self.mainName }
}

extension Branch {
    init(_ entry: BranchTable.Entry, readBy device: DeviceID, in transaction: inout some StoreTransaction) throws {
        let opening = entry.opening
        self.id = opening.id
        self.name = opening.name
        let parent = Self.parent(of: opening, in: transaction)
        self.parent = parent
        self.author = Author(transaction.segment(entry.author.segment).introduction, of: device)
        let stamp = try transaction.header(at: entry.author)?.stamp ?? .zero
        self.date = Date(milliseconds: stamp.milliseconds)
        var parentSeen: SeenSegments?
        if let parent {
            parentSeen = try transaction.closure(of: transaction.heads(of: parent))
        }
        let closings = transaction.branches.closings(of: opening.id)
        let closing = closings.last { $0.sequence <= transaction.progress(of: $0.segment).appliedSequence }
        self.deletedBy = closing.map { Author(transaction.segment($0.segment).introduction, of: device) }
        var (unmerged, unseen) = (UnmergedEdits(), UnmergedEdits())
        var shown = SeenSegments()
        // Only who left another branch, or took one in, has anything of others: there may be thousands that did not.
        var hasOthers = opening.parent != nil
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            guard progress.branch == opening.id else { continue }
            if progress.hasApplied {
                _ = shown.raise(segment, to: progress.appliedSequence)
                let (before, last) = (progress.firstSequence - 1, progress.appliedSequence)
                let mergings = transaction.branches.mergings(on: segment, after: before, through: last)
                hasOthers = hasOthers || mergings.contains { $0.branch != nil }
            }
            if closing != nil, progress.hasUnseenByClosings {
                let (seen, last) = (progress.closedSequence, progress.storedSequence)
                try transaction.addEdits(to: &unseen, on: segment, after: seen, through: last)
            }
        }
        if hasOthers { shown = try transaction.closure(of: transaction.heads(of: opening.id)) }
        for (segment, last) in shown.all {
            let progress = transaction.progress(of: segment)
            guard progress.branch != nil else { continue }
            let merged = parentSeen.map { $0[segment] } ?? progress.countedSequence
            try transaction.addEdits(to: &unmerged, on: segment, after: merged, through: last)
        }
        (self.unmergedCount, self.unseenCount) = (unmerged.changeCount, unseen.changeCount)
    }

    /// The nearest branch above that is not deleted; nil for the main timeline.
    private static func parent(
        of opening: BranchOpening,
        in transaction: borrowing some StoreTransaction
    ) -> BranchID? {
        var (parent, met): (BranchID?, Set<BranchID>) = (opening.parent, [])
        while let next = parent, met.insert(next).inserted {
            guard let entry = transaction.branches[next] else { return nil }
            if transaction.isOpen(next) { return next }
            parent = entry.opening.parent
        }
        return nil
    }

    /// The branch that a name or an id means.
    static func find(_ text: String, in transaction: borrowing some StoreTransaction) throws -> BranchTable.Entry {
        if let id = BranchID(text: text), let entry = transaction.openBranch(id) { return entry }
        let named = transaction.openBranches.filter { $0.opening.name == text }
        guard named.count <= 1 else {
            let ids = named.map(\.opening.id.description).joined(separator: ", ")
            throw PeerdError(
                .noSuchBranch,
                "\(named.count) branches are called “\(text.prefix(80))”.",
                advice: "Name one by its id: \(ids)."
            )
        }
        guard let entry = named.first else { throw PeerdError(noBranch: text) }
        return entry
    }
}
