/// Drops the content of writes that nobody needs any more: each was seen by a later write to its property that is older
/// than a horizon, and that everybody has who must.
///
/// The state stays what it is, and so does every state of the past that begins at the horizon. What is dropped is
/// counted still, and its hash remains, so every signature of the log can be checked as before. Everything else that a
/// store holds follows from the same rules with and without it: a dropped write could never come into force again.
package struct Compaction {
    /// The amount of work of one step.
    package static let stepOperationCountMax = 4_096

    /// Where the first step begins.
    package static let start = SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: 0)

    /// What was found and done.
    package struct Summary: Hashable, Sendable {
        /// Changes older than the horizon.
        package var examinedChangeCount = 0
        /// Writes whose content is dropped newly.
        package var droppedWriteCount = 0
        /// Changes of which only a hash is left newly.
        package var droppedChangeCount = 0
        /// What the log's content shrinks by.
        package var droppedByteCount = 0

        package init() {}
    }

    package private(set) var summary = Summary()
    private let horizon: Stamp
    /// What everybody has who must.
    private let acknowledged: SeenSegments
    /// The states of branches that are open: whatever is in force there stays.
    private let views: [HistoryView]
    private let isDryRun: Bool
    /// The write that was in force at the horizon, by property; nil if it lets nothing be dropped.
    private var successors: [RegisterKey: Successor?] = [:]

    private struct Successor {
        let write: WriteReference
        let context: CausalContext
        /// The earliest write that a conflict keeps; none before it is numbered anew.
        let firstConflict: WriteReference?
        /// The last write of each user, where several may write: if all that one of them wrote ceases to count, what
        /// is in force then is here.
        let kept: Set<WriteReference>
    }

    /// So many are kept in memory.
    private static let successorCountMax = 1 << 16

    /// Begins a compaction.
    ///
    /// `horizon`: the last stamp that is old enough. `acknowledged`: what every member has stored that is waited for.
    /// `isDryRun`: whether nothing is changed, and what would be dropped is only found.
    package init(
        horizon: Stamp,
        acknowledged: SeenSegments,
        isDryRun: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        (self.horizon, self.acknowledged, self.isDryRun) = (horizon, acknowledged, isDryRun)
        var views: [HistoryView] = []
        for branch in transaction.openBranches { views.append(try transaction.view(of: branch.opening.id)) }
        self.views = views
    }

    /// Goes on from a change, for as long as one step may take.
    ///
    /// - Returns: where to go on; nil at the end.
    /// - Complexity: O(*n* log *m*) for *n* operations that are looked at, of *m* in the log.
    package mutating func step(
        from start: SegmentPoint,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) -> SegmentPoint? {
        // What was written since the last step may be in force now where something else was.
        self.successors = [:]
        var (place, operationCount) = (start, 0)
        while Int(place.segment.rawValue) < transaction.segmentCount {
            let progress = transaction.progress(of: place.segment)
            place.sequence = max(place.sequence, progress.firstSequence)
            while place.sequence <= progress.countedSequence {
                guard try transaction.effectiveStamp(at: place) <= self.horizon else { break }
                if operationCount >= Self.stepOperationCountMax { return place }
                operationCount += 1 + (try self.examine(place, &merge, in: &transaction, cryptography))
                place.sequence += 1
            }
            place = SegmentPoint(segment: SegmentIndex(rawValue: place.segment.rawValue + 1), sequence: 0)
        }
        return nil
    }

    private static let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)

    /// Drops what it can of one change; returns how many operations it has.
    private mutating func examine(
        _ place: SegmentPoint,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) -> Int {
        self.summary.examinedChangeCount += 1
        let loaded = try transaction.loadRun(of: place.segment, from: place.sequence, limits: Self.one, signed: false)
        guard let run = loaded, run.changes.count == 1 else { throw .damaged("a change is missing from the log") }
        guard run.changes[0].redaction != .whole else { return 0 }
        let indexes = try merge.indexes(of: run, on: place.segment, in: &transaction)
        let stamp = try transaction.effectiveStamp(at: place)
        // The write behind an erasure stays: the erasure counts by it, for machines that come later, too.
        let kept = run.writesBehindErasures(of: run.changes[0])
        var redactable: Set<Int> = []
        let rights = transaction.rights.limits(of: place.segment)
        // The run may be the tail of a longer one.
        let start = Int(run.changes[0].operationStart)
        for position in run.changes[0].operationRange {
            let operation = run.operations[position]
            guard operation.hasContent else { continue }
            let write = WriteReference(
                stamp: stamp,
                segment: place.segment,
                sequence: place.sequence,
                index: UInt32(position - start)
            )
            let key = Self.key(of: operation, indexes)
            if kept.contains(position) { continue }
            // What has no right stays as it was written: it may come to count, or somebody may adopt it.
            if let rights, !rights.allow(operation, of: run, at: place.sequence) { continue }
            if try self.isRedactable(write, at: key, in: &transaction) { redactable.insert(position) }
        }
        guard !redactable.isEmpty, let (rest, dropped) = run.redacting(redactable, cryptography) else {
            return run.operations.count
        }
        self.summary.droppedWriteCount += dropped.count
        self.summary.droppedByteCount += run.size.byteCount - rest.size.byteCount
        if rest.changes[0].redaction == .whole { self.summary.droppedChangeCount += 1 }
        guard !self.isDryRun else { return run.operations.count }
        for position in dropped {
            let write = WriteReference(
                stamp: stamp,
                segment: place.segment,
                sequence: place.sequence,
                index: UInt32(position - start)
            )
            let key = Self.key(of: run.operations[position], indexes)
            try transaction.removeVersion(write, at: key)
            try transaction.countRedacted(1, in: place, at: stamp, of: key)
        }
        let restIndexes = try merge.indexes(of: rest, on: place.segment, in: &transaction)
        try transaction.replaceChange(at: place, by: rest, indexes: restIndexes)
        return run.operations.count
    }

    private static func key(of operation: Operation, _ indexes: RunIndexes) -> RegisterKey {
        RegisterKey(
            object: indexes.objects[Int(operation.object)],
            name: indexes.names[Int(operation.operand)]
        )
    }

    // MARK: - What may be dropped

    private mutating func isRedactable(
        _ write: WriteReference,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let successor = try self.successor(at: key, in: &transaction), successor.write != write,
            successor.context.covers(write), !successor.kept.contains(write)
        else { return false }
        return successor.firstConflict.map { WriteOrder.precedes(write, $0, transaction) } ?? true
    }

    private mutating func successor(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Successor? {
        if let known = self.successors[key] { return known }
        if self.successors.count >= Self.successorCountMax { self.successors = [:] }
        let found = try self.findSuccessor(at: key, in: &transaction)
        self.successors[key] = .some(found)
        return found
    }

    /// The write that was in force at the horizon, if everybody has it, and sees it.
    private func findSuccessor(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Successor? {
        var last: WriteReference?
        for write in try transaction.lastWrites(at: key, through: self.horizon, where: { _ in true })
        where last.map({ WriteOrder.precedes($0, write, transaction) }) ?? true {
            last = write
        }
        guard let write = last, self.acknowledged[write.segment] >= write.sequence,
            self.views.allSatisfy({ $0.counts(write) })
        else { return nil }
        var firstConflict: WriteReference?
        if let register = try transaction.register(key), register.conflictCount > 0 {
            for conflict in try transaction.conflicts(at: key)
            where firstConflict.map({ WriteOrder.precedes(conflict, $0, transaction) }) ?? true {
                firstConflict = conflict
            }
        }
        let seen = try transaction.context(at: write.point)
        let context = CausalContext(seen: seen, author: write.segment, ordinal: write.ordinal)
        let kept = try self.lastWrites(ofEachUserAt: key, in: &transaction)
        return Successor(write: write, context: context, firstConflict: firstConflict, kept: kept)
    }

    /// - Complexity: O(*u* *n*) for *u* users and *n* writes; O(1) where the owner alone writes.
    private func lastWrites(
        ofEachUserAt key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Set<WriteReference> {
        let circle = try transaction.look(at: key.object) { $0.circle }
        guard transaction.rights.rights(in: circle) != nil else { return [] }
        var (kept, users): (Set<WriteReference>, Set<UserID?>) = ([], [])
        while true {
            let reading = transaction
            let found = try transaction.lastWrites(at: key, through: self.horizon) { write in
                !users.contains(reading.segment(write.segment).introduction?.user)
            }
            guard !found.isEmpty else { return kept }
            kept.formUnion(found)
            for write in found { users.insert(transaction.segment(write.segment).introduction?.user) }
        }
    }
}
