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
    /// The number of its transactions that the timeline which it leaves has not taken in; merges are not counted.
    public let unmergedCount: Int

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
        var count = 0
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            guard progress.branch == opening.id, progress.hasApplied else { continue }
            // The first change of a chain introduces its author, and is no transaction.
            let merged = max(parentSeen.map { $0[segment] } ?? progress.countedSequence, 1)
            count += try Self.editCount(on: segment, after: merged, through: progress.appliedSequence, in: &transaction)
        }
        self.unmergedCount = count
    }

    /// The nearest branch above that is not deleted; nil for the main timeline.
    private static func parent(
        of opening: BranchOpening,
        in transaction: borrowing some StoreTransaction
    ) -> BranchID? {
        var (parent, met): (BranchID?, Set<BranchID>) = (opening.parent, [])
        while let next = parent, met.insert(next).inserted {
            guard let entry = transaction.branches[next] else { return nil }
            if !entry.isClosed { return next }
            parent = entry.opening.parent
        }
        return nil
    }

    /// The number of changes that do more than take something in.
    private static func editCount(
        on segment: SegmentIndex,
        after merged: UInt64,
        through last: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Int {
        var (count, next) = (0, merged + 1)
        while next <= last {
            let run = try transaction.loadRun(of: segment, from: next, limits: RunLimits(), signed: false)
            guard let run, !run.changes.isEmpty else { throw .damaged("a change is missing from the log") }
            for change in run.changes.prefix(Int(clamping: last - next + 1)) {
                let operations = run.operations[change.operationRange]
                if !operations.allSatisfy({ run.isMergeNote($0) }) { count += 1 }
            }
            next = run.lastSequence + 1
        }
        return count
    }

    /// The branch that a name or an id means.
    static func find(_ text: String, in transaction: borrowing some StoreTransaction) throws -> BranchTable.Entry {
        if let id = BranchID(text: text), let entry = transaction.branches[id], !entry.isClosed {
            return entry
        }
        let named = transaction.branches.all.filter { !$0.isClosed && $0.opening.name == text }
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

extension Run {
    fileprivate func isMergeNote(_ operation: CRDTCore.Operation) -> Bool {
        guard operation.kind == .branch else { return false }
        let statement = try? BranchStatement(decoding: self.payload[operation.payloadRange])
        if case .merges? = statement { return true }
        return false
    }
}
