/// The rules of merging, applied to a store inside one transaction.
///
/// Feed it verified runs in any order with `receive`, then call `finish` once before the transaction ends. A change is
/// applied when everything it had seen is applied; until then, and while it is held, it lies in the log. The state that
/// results is a function of the set of changes and of nothing else: every change counts, on whichever fork of its
/// chain it is. Late knowledge changes how they are ordered (`Merge+LateKnowledge`).
package struct Merge {
    /// What one transaction did.
    package struct Summary: Hashable, Sendable {
        /// Changes newly in the log.
        package var storedChangeCount = 0
        package var storedOperationCount = 0
        /// Changes newly applied.
        package var appliedChangeCount = 0
        /// Whether changes that had been applied were ordered anew, or are held now.
        package var isRevised = false
        /// Replicas whose chains have forked newly.
        package var forked: [ReplicaID] = []
        /// How many changes and operations were looked at for the sake of restamps.
        package var restampCost = 0
        /// Erasures that were noted, to be done later.
        package var notedErasureCount = 0
        /// Dropped writes that were put in force or in conflict, if only for a time.
        package var missingCount = 0
        /// Changes in which dropped writes that were needed have been repaired.
        package var repairedChanges: [RepairedChange] = []
        /// How many moves were done again for the sake of late ones.
        package var redoneMoveCount = 0
    }

    /// Why a segment's next stored change is not applied.
    package enum Wait: Hashable, Sendable {
        /// It had seen a change that is not applied here.
        case missing(Point)
        /// Its effective stamp is too far in the future; it is due at this time.
        case held(until: WallTime)
    }

    /// Whether a run was taken in.
    package enum Reception: Hashable, Sendable {
        case stored
        /// All of it was stored.
        case duplicate
        /// The change that the run continues is not stored.
        case doesNotFit
    }

    package internal(set) var summary = Summary()
    let policy: MergePolicy
    /// What is left for a later merge.
    package internal(set) var deferred: DeferredWork
    var hierarchy = UnsettledHierarchy()
    /// Whether a name turned out to be that of two changes, which may be anywhere in contexts.
    var needsRebuild = false
    /// What conflicts were looked for lately, so that nobody looks for the same again.
    var examined = ExaminedConflicts()
    private var room = Room()
    #if CHECKED
    /// The objects and properties that this transaction has touched, or the first of them.
    var touched = TouchedRows()
    #endif

    /// What is used again for each change, so that not each allocates its own.
    private struct Room {
        /// The numbers of a run's objects and names.
        var indexes = RunIndexes(segment: SegmentIndex(rawValue: 0), objects: [], names: [])
        /// What the change that is looked at adds to its segment's context.
        var seen: [SegmentPoint] = []
    }

    /// A merge that takes up what earlier ones have left.
    package init(_ policy: MergePolicy, deferred: DeferredWork = DeferredWork()) {
        self.policy = policy
        self.deferred = deferred
    }

    /// A merge that defers nothing.
    ///
    /// `founder`: the user whose devices may restamp everyone's changes.
    package init(now: WallTime, founder: UserID) { self.init(MergePolicy(now: now, founder: founder)) }

    /// Appends a run to the log and applies what of it is ready.
    ///
    /// - Complexity: O(*n* log *m*) for *n* operations and *m* rows in the store.
    @specialized(where Rows == MemoryTransaction)
    package mutating func receive<Rows: StoreTransaction>(
        _ verified: VerifiedRun,
        in transaction: inout Rows
    ) throws(StoreError) -> Reception {
        // What a chain counts that begins is found by what is settled.
        if verified.introduction != nil || !transaction.rights.isReady { try self.settleRights(in: &transaction) }
        var fresh = verified
        let segment: SegmentIndex
        if let end = try self.end(before: verified, in: &transaction) {
            segment = end
        } else {
            guard let last = try self.lastStored(of: verified, in: &transaction) else { return .doesNotFit }
            guard let rest = verified.suffix(after: last.sequence) else { return .duplicate }
            fresh = rest
            segment = try self.segment(of: rest, after: last, in: &transaction)
        }
        let run = fresh.run
        guard let lastHash = fresh.hashes.last else { return .duplicate }
        let indexes = try self.indexes(of: run, on: segment, in: &transaction)
        defer { self.room.indexes = indexes }
        var record = transaction.segment(segment)
        let isNew = record.storedSequence < record.firstSequence
        try transaction.appendLog(fresh, indexes: indexes)
        record.storedSequence = run.lastSequence
        record.storedHash = lastHash
        if isNew {
            // What counts of this very run depends on it.
            try transaction.setSegment(record, at: segment)
            try self.beginRights(of: segment, in: &transaction)
        }
        try self.noteRights(in: run, author: segment, &transaction)
        self.summary.storedChangeCount += run.changes.count
        self.summary.storedOperationCount += run.changes.reduce(0) { $0 + Int($1.operationCount) }
        try self.noteBranches(in: run, author: segment, &transaction)
        if record.origin != nil || record.next != nil || transaction.restamps.hasAny(of: run.replica)
            || run.operations.contains(where: { $0.kind == .restamp || $0.kind == .undo })
        {
            // They may be about this segment itself.
            try transaction.setSegment(record, at: segment)
            try self.noteSharedNames(of: fresh, on: segment, in: &transaction)
            try self.noteRestamps(in: run, author: segment, &transaction)
            try self.noteStretches(endingIn: fresh, in: &transaction)
            record = transaction.segment(segment)
        }
        _ = try self.apply(run, indexes: indexes, record: &record, in: &transaction)
        try transaction.setSegment(record, at: segment)
        return .stored
    }

    /// Applies what has become ready, takes late knowledge into account, and settles the hierarchy.
    @specialized(where Rows == MemoryTransaction)
    package mutating func finish<Rows: StoreTransaction>(in transaction: inout Rows) throws(StoreError) {
        try self.catchUp(in: &transaction)
        try self.settleMoves(in: &transaction)
        try self.settleVisibility(in: &transaction)
        #if CHECKED
        try self.checkInvariants(in: &transaction)
        #endif
    }

    /// Applies what has become ready, and takes late knowledge into account, so that what is written next has seen
    /// what is due by now and not what is held by now; the hierarchy is settled by `finish` alone.
    package mutating func catchUp(in transaction: inout some StoreTransaction) throws(StoreError) {
        if self.needsRebuild { try self.resetDerivedState(in: &transaction) }
        let open = self.openSegments(in: &transaction)
        try self.withdrawHeld(on: open, in: &transaction)
        try self.settleRights(in: &transaction)
        if self.deferred.hasRestamps, !self.policy.defersRestamps {
            try self.settleRestamps(waiting: open, in: &transaction)
        }
        try self.applyPending(on: open, in: &transaction)
    }

    /// The segments of which something is stored and not applied, or applied and held by the clock as it is now.
    private func openSegments(in transaction: inout some StoreTransaction) -> [SegmentIndex] {
        var segments: [SegmentIndex] = []
        for position in 0..<transaction.segmentCount {
            let segment = SegmentIndex(rawValue: UInt32(position))
            let progress = transaction.progress(of: segment)
            if progress.isPending || HybridClock.isHeld(progress.appliedStamp, at: self.policy.now) {
                segments.append(segment)
            }
        }
        return segments
    }

    /// Throws the derived state away and computes it anew from the log.
    ///
    /// - Complexity: O(*n* log *n*) for *n* operations in the log.
    package mutating func rebuild(in transaction: inout some StoreTransaction) throws(StoreError) {
        self.needsRebuild = true
        try self.finish(in: &transaction)
    }

    /// Why each segment whose log is ahead of its state waits.
    ///
    /// Empty when everything stored is applied.
    package mutating func waits(
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentIndex: Wait] {
        var waits: [SegmentIndex: Wait] = [:]
        for index in transaction.segmentIndices {
            guard transaction.progress(of: index).isPending else { continue }
            let record = transaction.segment(index)
            let isKnown = try self.isKnownToWait(record, &transaction)
            waits[index] = isKnown ? record.waitsFor : try self.waitOfNext(of: index, record, &transaction)
        }
        return waits
    }

    /// Why a segment's next stored change is not applied; nil if it is ready.
    ///
    /// Its operations, which may be many, are not looked at.
    private mutating func waitOfNext(
        of index: SegmentIndex,
        _ record: SegmentRecord,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Wait? {
        let next = SegmentPoint(segment: index, sequence: record.appliedSequence + 1)
        guard let stamp = try transaction.header(at: next)?.stamp else { return nil }
        let points = try transaction.contexts(of: index, after: record.appliedSequence, through: next.sequence)
        switch try self.readiness(of: next, stamp, seen: points[...], record, in: &transaction) {
        case .waits(let wait): return wait
        case .ready: return nil
        }
    }

    // MARK: - Finding the segment of a run

    /// The segment that a run continues at its end, which is where most do.
    private func end(
        before verified: VerifiedRun,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentIndex? {
        let (replica, before) = (verified.run.replica, verified.run.firstSequence - 1)
        var next = transaction.firstSegment(of: replica)
        for _ in 0..<Limits.unnamedForkCountMax {
            guard let segment = next else { return nil }
            let progress = transaction.progress(of: segment)
            if progress.storedSequence == before, transaction.storedHash(of: segment) == verified.previous {
                return segment
            }
            next = progress.next
        }
        guard next != nil, let place = try transaction.place(of: replica, sequence: before, hash: verified.previous)
        else { return nil }
        return transaction.progress(of: place.segment).storedSequence == before ? place.segment : nil
    }

    /// The last change of a run that is stored, or the one before it; nil if that is not stored either.
    private func lastStored(
        of verified: VerifiedRun,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        let run = verified.run
        var last: SegmentPoint?
        if run.firstSequence == 1 {
            // The segment is made if it is the first that is heard of the replica.
            guard transaction.firstSegment(of: run.replica) != nil else { return SegmentPoint.start }
            last = transaction.firstSegment(of: run.replica).map { SegmentPoint(segment: $0, sequence: 0) }
        } else {
            let before = run.firstSequence - 1
            last = try transaction.place(of: run.replica, sequence: before, hash: verified.previous)
        }
        guard last != nil else { return nil }
        for (position, hash) in verified.hashes.enumerated() {
            let sequence = run.firstSequence + UInt64(position)
            guard let place = try transaction.place(of: run.replica, sequence: sequence, hash: hash) else { break }
            last = place
        }
        return last
    }

    /// The segment for what continues a stored change: that change's own if it ends there, or a new one.
    private mutating func segment(
        of fresh: VerifiedRun,
        after last: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentIndex {
        let id = fresh.run.replica
        guard transaction.firstSegment(of: id) != nil else {
            return try transaction.addSegment(
                SegmentRecord(id: id, introduction: fresh.introduction, origin: fresh.previous)
            )
        }
        let record = transaction.segment(last.segment)
        if record.storedSequence == last.sequence { return last.segment }
        let sibling = try transaction.hash(at: SegmentPoint(segment: last.segment, sequence: last.sequence + 1))
        guard let sibling, let firstHash = fresh.hashes.first else { throw .damaged("a fork has no beginning") }
        let origin = SegmentOrigin(parent: last, firstHash: firstHash, siblingHash: sibling)
        if !self.summary.forked.contains(id) { self.summary.forked.append(id) }
        // A fork of the beginning has an introduction of its own.
        let introduction = fresh.introduction ?? transaction.segment(last.segment).introduction
        return try transaction.addSegment(
            SegmentRecord(
                id: id,
                introduction: introduction,
                origin: origin,
                previous: fresh.previous
            )
        )
    }

    // MARK: - Applying

    mutating func indexes(
        of run: Run,
        on segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunIndexes {
        var indexes = RunIndexes(segment: segment, objects: [], names: [])
        swap(&indexes.objects, &self.room.indexes.objects)
        swap(&indexes.names, &self.room.indexes.names)
        indexes.objects.removeAll(keepingCapacity: true)
        indexes.names.removeAll(keepingCapacity: true)
        indexes.objects.reserveCapacity(run.objects.count)
        indexes.names.reserveCapacity(run.names.count)
        for object in run.objects { indexes.objects.append(try transaction.objectIndex(of: object, by: segment)) }
        for name in run.names { indexes.names.append(try transaction.nameIndex(of: name)) }
        return indexes
    }

    /// Applies the changes of a stored run that follow what is applied, up to the first that must wait.
    ///
    /// `record`: that of the segment, for the caller to store.
    /// Returns how many it applied.
    private mutating func apply(
        _ run: Run,
        indexes: RunIndexes,
        record: inout SegmentRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Int {
        guard run.firstSequence <= record.appliedSequence + 1 else { return 0 }
        let skipped = Int(clamping: record.appliedSequence + 1 - run.firstSequence)
        var applied = 0
        for change in run.changes.dropFirst(skipped) {
            let next = SegmentPoint(segment: indexes.segment, sequence: record.appliedSequence + 1)
            let points = run.contextEntries[change.contextRange]
            switch try self.readiness(of: next, change.stamp, seen: points, record, in: &transaction) {
            case .waits(let wait): record.waitsFor = wait
            case .ready(let stamp, let cause):
                record.waitsFor = nil
                if try self.defers(next, run.operations[change.operationRange], stamp, &transaction) { break }
                let place = next
                if cause != nil || stamp != change.stamp {
                    try transaction.setRaisedStamp(RaisedStamp(stamp: stamp, cause: cause), at: place)
                    record.firstRaised = min(record.firstRaised ?? .max, place.sequence)
                }
                try self.apply(change, stamp, of: run, indexes: indexes, record: &record, in: &transaction)
                applied += 1
                continue
            }
            break
        }
        self.summary.appliedChangeCount += applied
        return applied
    }

    /// Whether a change can be applied.
    private enum Readiness {
        case waits(Wait)
        /// The effective stamp, and what it follows from.
        case ready(Stamp, cause: SegmentPoint?)
    }

    /// Looks up what the change after the applied ones had seen, and leaves it in `seen`.
    private mutating func readiness(
        of place: SegmentPoint,
        _ ownStamp: Stamp,
        seen points: ArraySlice<Point>,
        _ record: SegmentRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Readiness {
        var stamp = try self.isRestamped(place, record.id, in: &transaction) ? .zero : ownStamp
        var cause: SegmentPoint?
        if place.sequence == record.firstSequence, let parent = record.origin?.parent, parent.sequence > 0 {
            guard transaction.progress(of: parent.segment).appliedSequence >= parent.sequence else {
                let name = ChangeName(try transaction.hash(at: parent) ?? .zero)
                return .waits(.missing(Point(replica: record.id, sequence: parent.sequence, name: name)))
            }
            try self.raise(&stamp, &cause, above: try transaction.effectiveStamp(at: parent), parent)
        } else if place.sequence > record.firstSequence {
            let previous = SegmentPoint(segment: place.segment, sequence: place.sequence - 1)
            try self.raise(&stamp, &cause, above: record.appliedStamp, previous)
        }
        self.room.seen.removeAll(keepingCapacity: true)
        for point in points {
            guard let found = try self.find(point, in: record.circle, &transaction) else {
                return .waits(.missing(point))
            }
            if found.place.sequence == 0 { continue }
            self.room.seen.append(found.place)
            try self.raise(&stamp, &cause, above: found.stamp, found.place)
        }
        if HybridClock.isHeld(stamp, at: self.policy.now) {
            return .waits(.held(until: HybridClock.dueTime(of: stamp)))
        }
        return .ready(stamp, cause: cause)
    }

    /// An effective stamp is above those of all that the change had seen.
    func raise(
        _ stamp: inout Stamp,
        _ cause: inout SegmentPoint?,
        above seen: Stamp,
        _ place: SegmentPoint
    ) throws(StoreError) {
        // Nothing above the last stamp of all is ever applied.
        guard stamp <= seen else { return }
        stamp = seen.successor ?? seen
        cause = place
    }

    /// What a point means in a circle, and its effective stamp; nil if no such change is applied.
    ///
    /// What is in another circle is never found, since not everybody who reads this one has it.
    func find(
        _ point: Point,
        in circle: CircleIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> (place: SegmentPoint, stamp: Stamp)? {
        guard let first = transaction.firstSegment(of: point.replica) else { return nil }
        let progress = transaction.progress(of: first)
        guard progress.circle == circle else { return nil }
        // Most chains have not forked, and one look into the log says all.
        if progress.next == nil, progress.appliedSequence >= point.sequence, point.sequence > 0 {
            let place = SegmentPoint(segment: first, sequence: point.sequence)
            guard let header = try transaction.header(at: place) else {
                throw .damaged("a change is missing from the log")
            }
            guard ChangeName(header.hash) == point.name else { return nil }
            guard let raised = progress.firstRaised, raised <= point.sequence else { return (place, header.stamp) }
            return (place, try transaction.raisedStamp(at: place)?.stamp ?? header.stamp)
        }
        guard let place = try transaction.place(of: point) else { return nil }
        if place.sequence == 0 { return (place, .zero) }
        guard transaction.progress(of: place.segment).appliedSequence >= place.sequence else { return nil }
        return (place, try transaction.effectiveStamp(at: place))
    }

    private mutating func apply(
        _ change: Change,
        _ stamp: Stamp,
        of run: Run,
        indexes: RunIndexes,
        record: inout SegmentRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let sequence = record.appliedSequence + 1
        if sequence == record.firstSequence, let parent = record.origin?.parent, parent.sequence > 0 {
            record.context = try transaction.inheritance(from: parent)
            record.trail = ContextTrail()
            record.trail.inherited = record.context
        }
        let place = SegmentPoint(segment: indexes.segment, sequence: sequence)
        try transaction.extend(&record.context, noting: &record.trail.recent, by: self.room.seen, of: place)
        record.trail.recentPointCount += change.contextRange.count
        let rights = transaction.rights.limits(of: indexes.segment)
        let isMerge = transaction.branches.lastMerging(on: place.segment, after: sequence - 1, through: sequence) != nil
        if isMerge, record.branch == nil {
            try self.merge(self.room.seen, within: record.context, by: place, in: &transaction)
        }
        var write = WriteReference(stamp: stamp, segment: indexes.segment, sequence: sequence, index: 0)
        var context = CausalContext(seen: record.context, author: indexes.segment, ordinal: write.ordinal)
        var (asksForErasure, saysOfBranches) = (false, false)
        for position in change.operationRange {
            defer { write.index += 1 }
            let operation = run.operations[position]
            if operation.kind == .branch { saysOfBranches = true }
            if let rights, !rights.allow(operation, of: run, at: sequence) { continue }
            context.ordinal = write.ordinal
            if operation.kind == .erase { asksForErasure = true }
            if record.branch != nil {
                try self.record(operation, write, of: run, indexes: indexes, in: &transaction)
            } else {
                try self.apply(operation, write, context, of: run, indexes: indexes, in: &transaction)
            }
        }
        try self.noteAction(by: change, of: run, record, at: place, in: &transaction)
        if run.operations[change.operationRange].first?.kind == .undo {
            try self.noteUndo(by: change, of: run, record, at: place, in: &transaction)
        }
        if asksForErasure, record.branch == nil {
            try self.noteErasures(of: change, in: run, at: place, &transaction)
        }
        if saysOfBranches {
            let closed = self.branchesClosed(by: change, of: run, record.introduction?.user)
            try self.close(closed, of: &record, at: place, in: &transaction)
        }
        record.appliedSequence = sequence
        record.appliedStamp = stamp
        // What a merge had seen is asked for by all that have seen it.
        if isMerge || sequence % Limits.checkpointInterval == 0
            || record.trail.recentPointCount >= Limits.checkpointPointCountMax
        {
            try transaction.addCheckpoint(record.context, &record.trail, at: place)
        }
    }

    mutating func apply(
        _ operation: Operation,
        _ write: WriteReference,
        _ context: CausalContext,
        of run: Run,
        indexes: RunIndexes,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard operation.kind.isEdit else { return }
        let object = indexes.objects[Int(operation.object)]
        #if CHECKED
        self.touched.note(object)
        #endif
        switch operation.kind {
        case .set, .unset, .redacted:
            try self.touch(object, by: write, in: &transaction)
            let key = RegisterKey(object: object, name: indexes.names[Int(operation.operand)])
            try self.write(write, operation.kind, context, at: key, in: &transaction)
        case .create:
            guard let body = try? CreationBody(decoding: run.payload, at: operation.payloadRange) else { return }
            try self.create(object, type: body.type, kind: body.kind, by: write, in: &transaction)
        case .move:
            try self.touch(object, by: write, in: &transaction)
            let parent = operation.operand == 0 ? nil : indexes.objects[Int(operation.operand) - 1]
            let position = Position(bytes: Array(run.payload[operation.payloadRange]))
            self.hierarchy.moves.append(
                MoveRecord(write: write, object: object, parent: parent, position: position, isEffective: false)
            )
            try self.note(move: write, of: object, context, in: &transaction)
        case .delete: try self.delete(object, by: write, context, in: &transaction)
        default: break
        }
    }

    mutating func touch(
        _ object: ObjectIndex,
        by write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let isStale = try transaction.update(object) { record in
            record.existence.touch(by: write.segment, at: write.ordinal)
            record.updated = max(record.updated, write.stamp)
            return !record.isVisible
        }
        if isStale { self.noteStale(object) }
    }

    /// Of several creations the first in order makes the object what it is, but first one whose author's the id is.
    mutating func create(
        _ object: ObjectIndex,
        type: String,
        kind: String,
        by write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try self.touch(object, by: write, in: &transaction)
        try transaction.addVersion(write, status: .creation, at: RegisterKey(object: object, name: .lifetime))
        let type = try transaction.nameIndex(of: type)
        let kind = try transaction.nameIndex(of: kind)
        let current = try transaction.look(at: object) { $0.creation }
        if let current, try !transaction.creation(write, of: object, precedes: current.write) { return }
        try transaction.update(object) { record in
            record.creation = ObjectRecord.Creation(write: write, type: type, kind: kind)
        }
    }

    /// A deletion takes away what its author had seen.
    mutating func delete(
        _ object: ObjectIndex,
        by write: WriteReference,
        _ context: CausalContext,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let isStale = try transaction.update(object) { record in
            record.existence.remove(coveredBy: context)
            record.updated = max(record.updated, write.stamp)
            return record.isVisible && !record.shouldBeVisible
        }
        if isStale { self.noteStale(object) }
        try transaction.addVersion(write, status: .deletion, at: RegisterKey(object: object, name: .lifetime))
    }

    // MARK: - Pending changes and rebuilding

    /// Applies stored changes of some segments until none is ready.
    private mutating func applyPending(
        on segments: [SegmentIndex],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var progress = true
        while progress {
            progress = false
            for index in segments {
                // Two chains may wait for each other at each change: no more is loaded than seems to be ready.
                var limits = RunLimits.pending
                limits.changeCountMax = 1
                while true {
                    guard transaction.progress(of: index).isPending else { break }
                    var record = transaction.segment(index)
                    guard try !self.isKnownToWait(record, &transaction) else { break }
                    if let first = self.deferred.changes[index], record.appliedSequence + 1 >= first { break }
                    // Chains may wait for ever, and be long: of those only the first change is read.
                    if let wait = try self.waitOfNext(of: index, record, &transaction) {
                        record.waitsFor = wait
                        try transaction.setSegment(record, at: index)
                        break
                    }
                    let from = record.appliedSequence + 1
                    let run = try transaction.loadRun(of: index, from: from, limits: limits, signed: false)
                    guard let run else { break }
                    let indexes = try self.indexes(of: run, on: index, in: &transaction)
                    defer { self.room.indexes = indexes }
                    let applied = try self.apply(run, indexes: indexes, record: &record, in: &transaction)
                    if applied > 0 {
                        try transaction.setSegment(record, at: index)
                        progress = true
                    }
                    if applied < run.changes.count { break }
                    limits.changeCountMax = min(2 * limits.changeCountMax, RunLimits.pending.changeCountMax)
                }
            }
        }
    }

    /// Whether what a segment's next change was last seen to wait for is still not there: then it need not be loaded.
    private func isKnownToWait(
        _ record: SegmentRecord,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        switch record.waitsFor {
        case nil: return false
        case .held(let dueTime): return self.policy.now < dueTime
        case .missing(let point): return try self.find(point, in: record.circle, &transaction) == nil
        }
    }

    private mutating func resetDerivedState(in transaction: inout some StoreTransaction) throws(StoreError) {
        self.needsRebuild = false
        self.examined = ExaminedConflicts()
        self.hierarchy.moves = []
        self.hierarchy.stale = []
        self.hierarchy.withdrawn = nil
        _ = try self.coverRestamped(in: &transaction)
        transaction.setRights(try self.judgedRights(in: &transaction))
        self.summary.isRevised = true
        try transaction.clearDerivedState()
        for index in transaction.segmentIndices {
            var record = transaction.segment(index)
            record.appliedSequence = record.firstSequence - 1
            record.mergedSequence = record.firstSequence - 1
            record.closedSequence = 0
            record.appliedStamp = .zero
            record.waitsFor = nil
            record.context = SeenSegments()
            record.trail = ContextTrail()
            record.firstRaised = nil
            try transaction.setSegment(record, at: index)
        }
    }
}

extension RunLimits {
    /// How much of a replica's waiting changes is loaded at once.
    static let pending = RunLimits(changeCountMax: 1024, operationCountMax: 1 << 14, byteCountMax: 4 << 20)
}
