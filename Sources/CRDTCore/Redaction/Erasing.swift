/// Does the erasures that were noted, some at a time: drops the content of all writes that they cover.
///
/// Nothing else changes: a later write of the same change had seen each of them (`Erasure`). Leaves stand for them, so
/// every signature holds. It can be broken off after any step; what is left to do stays noted.
///
/// An open branch may show what is to be dropped. That stays, with all that the branch needs beside it, until the
/// branch shows it no more. What stands on a branch that was given up counts nowhere, and is dropped with the rest.
package struct Erasing: Sendable {
    /// The number of writes that one step drops, and about the number of operations that it looks at.
    package static let stepWriteCountMax = 1_024
    package static let stepOperationCountMax = 1 << 16
    /// Erasures of one property that are done together.
    private static let togetherCountMax = 16

    /// What was done.
    package struct Summary: Hashable, Sendable {
        /// Writes whose content was dropped.
        package var erasedWriteCount = 0
        /// Operations, writes and branches that were looked at.
        package var cost = 0
        /// Erasures that wait, since they are too many.
        package var delayedCount = 0
        /// Whether erasures are left that an open branch bars, or whose change is not applied now.
        package var isBarred = false

        package init() {}
    }

    package private(set) var summary = Summary()
    package private(set) var isDone = false
    /// The last property that was looked at.
    private var last: RegisterKey?

    package init() {}

    /// A write that is to be dropped, of a property.
    private struct Victim {
        var write: WriteReference
        var key: RegisterKey
    }

    /// Goes on for as long as one step may take.
    ///
    /// - Complexity: O(*n* log *m*) for *n* operations and writes that are looked at, of *m* in the log.
    package mutating func step(
        _ merge: inout Merge,
        allowing allowance: inout ErasureAllowance,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        let views = try transaction.openViews()
        self.summary.cost += views.count * transaction.segmentCount
        // However much the branches cost, each step gets on.
        let start = self.summary.cost
        var (victims, finished): ([Victim], [PendingErasure]) = ([], [])
        while victims.count < Self.stepWriteCountMax, self.summary.cost - start < Self.stepOperationCountMax {
            var erasures = try transaction.erasures(after: self.last)
            guard let key = erasures.first?.key else {
                self.isDone = true
                break
            }
            let isWhole = try self.delay(&erasures, at: key, views, &allowance, in: &transaction)
            guard !erasures.isEmpty else {
                if isWhole { self.last = key }
                continue
            }
            let room = Self.stepWriteCountMax - victims.count
            let found = try self.examine(erasures, at: key, views, room: room, in: &transaction)
            victims += found.victims.prefix(room).map { Victim(write: $0, key: key) }
            // With more than there is room for, the next step looks at the same property again.
            guard found.victims.count <= room else { break }
            finished += found.finished
            let isFinished = isWhole && found.finished.count == erasures.count
            if !found.finished.isEmpty, !isFinished { break }
            self.last = key
            if found.finished.isEmpty { self.summary.isBarred = true }
        }
        try self.drop(victims, &merge, in: &transaction, cryptography)
        for erasure in finished { try transaction.removeErasure(erasure) }
    }

    /// Has those of other devices wait that erase more than is allowed now, and those of devices that were stopped.
    ///
    /// Those of one property are done together, or wait; of very many the first, and the others are left out.
    /// - Returns: whether none was left out.
    private mutating func delay(
        _ erasures: inout [PendingErasure],
        at key: RegisterKey,
        _ views: [HistoryView],
        _ allowance: inout ErasureAllowance,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let own = allowance.device else { return true }
        var (kept, fresh): ([PendingErasure], [PendingErasure]) = ([], [])
        for erasure in erasures {
            let device = transaction.segment(erasure.change.segment).device
            if erasure.isReleased || device == own {
                kept.append(erasure)
            } else if device.map({ allowance.stopped.contains($0) }) ?? true {
                try transaction.delayErasure(erasure, until: PendingErasure.never)
                self.summary.delayedCount += 1
            } else {
                fresh.append(erasure)
            }
        }
        let isWhole = fresh.count <= Self.togetherCountMax
        fresh = Array(fresh.prefix(Self.togetherCountMax))
        erasures = kept + fresh
        guard !fresh.isEmpty else { return isWhole }
        let room = max(0, allowance.writeCount)
        let found = try self.examine(fresh, at: key, views, room: room, in: &transaction)
        guard found.victims.count > room else {
            allowance.writeCount -= found.victims.count
            // Charged once, also if the rest of the step has no room for them.
            let past = WallTime(milliseconds: 0)
            for erasure in found.finished where !found.victims.isEmpty {
                try transaction.delayErasure(erasure, until: past)
            }
            try transaction.releaseErasures(dueBy: past, of: [])
            return isWhole
        }
        for erasure in fresh { try transaction.delayErasure(erasure, until: allowance.due) }
        self.summary.delayedCount += fresh.count
        erasures = kept
        return isWhole
    }

    /// What the erasures of one property drop, or the first of them, and which are done with that.
    private mutating func examine(
        _ erasures: [PendingErasure],
        at key: RegisterKey,
        _ views: [HistoryView],
        room: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (victims: [WriteReference], finished: [PendingErasure]) {
        var (taken, contexts): ([PendingErasure], [CausalContext]) = ([], [])
        for erasure in erasures where taken.count < Self.togetherCountMax {
            let segment = erasure.change.segment
            guard erasure.change.sequence <= transaction.progress(of: segment).countedSequence else { continue }
            let seen = try transaction.context(at: erasure.change)
            // What stands in the same change is stamped as the write that takes its place.
            let ordinal = ChainOrdinal(sequence: erasure.change.sequence, index: 0)
            contexts.append(CausalContext(seen: seen, author: segment, ordinal: ordinal))
            taken.append(erasure)
        }
        var (ends, cost): ([SegmentIndex: ChainOrdinal], Int) = ([:], 1 + contexts.count)
        // What branches show is known only of all of them together.
        let limit = views.isEmpty ? room + 1 : .max
        var covered = try transaction.supersededWrites(at: key, upTo: limit) { write in
            cost += 1
            if let end = ends[write.segment] { return write.ordinal < end }
            cost += contexts.count
            let end = contexts.map { $0.end(of: write.segment) }.max() ?? .zero
            ends[write.segment] = end
            return write.ordinal < end
        }
        covered += try transaction.givenUpWrites(at: key, seenBy: contexts)
        self.summary.cost += cost + views.count * covered.count
        guard let shown = try transaction.shown(of: covered, at: key, in: views) else { return ([], []) }
        return (covered.filter { !shown.contains($0.point) }, shown.isEmpty ? taken : [])
    }

    private static let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)

    private mutating func drop(
        _ victims: [Victim],
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        var changes: [SegmentPoint: [Victim]] = [:]
        for victim in victims { changes[victim.write.point, default: []].append(victim) }
        let places = changes.keys.sorted()
        for place in places {
            let loaded = try transaction.loadRun(
                of: place.segment,
                from: place.sequence,
                limits: Self.one,
                signed: false
            )
            guard let run = loaded, run.changes.count == 1 else { throw .damaged("a change is missing from the log") }
            self.summary.cost += run.operations.count
            let members = changes[place] ?? []
            // The run may be the tail of a longer one.
            let positions = Set(members.map { Int(run.changes[0].operationStart) + Int($0.write.index) })
            guard let (rest, dropped) = run.erasing(positions, cryptography), dropped.count == members.count else {
                throw .damaged("a write that is to be erased is not in the log")
            }
            let indexes = try merge.indexes(of: rest, on: place.segment, in: &transaction)
            if transaction.isGivenUp(place) {
                try merge.forget(place, run, in: &transaction)
                try merge.record(rest, indexes, at: place, in: &transaction)
            } else {
                for victim in members {
                    try transaction.removeVersion(victim.write, at: victim.key)
                    try transaction.countRedacted(1, in: place, at: victim.write.stamp, of: victim.key)
                }
            }
            try transaction.replaceChange(at: place, by: rest, indexes: indexes)
            self.summary.erasedWriteCount += dropped.count
        }
    }
}

/// How much of what others erase is erased at once: of one that was stolen, a device's user notices within a day what
/// it does to the past of all.
package struct ErasureAllowance: Sendable {
    /// The device that erases: what it asks for itself is done in any case.
    package var device: DeviceID?
    /// So many writes may be erased now that all other devices together ask for: one can make up any number of them.
    package var writeCount: Int
    /// When what is beyond is done.
    package var due: WallTime
    /// Devices whose erasures are not done.
    package var stopped: Set<DeviceID>

    package init(device: DeviceID?, writeCount: Int, due: WallTime, stopped: Set<DeviceID> = []) {
        (self.device, self.writeCount, self.due, self.stopped) = (device, writeCount, due, stopped)
    }

    /// Everything is done at once.
    package static var unlimited: ErasureAllowance {
        ErasureAllowance(device: nil, writeCount: .max, due: PendingErasure.never)
    }
}

extension StoreTransaction {
    /// What counts on each open branch.
    mutating func openViews() throws(StoreError) -> [HistoryView] {
        var views: [HistoryView] = []
        for branch in self.openBranches { views.append(try self.view(of: branch.opening.id)) }
        return views
    }

    /// The changes of some writes to a property that are in force on open branches.
    ///
    /// - Returns: nil if such a branch could not be read any more without all the others.
    mutating func shown(
        of writes: [WriteReference],
        at key: RegisterKey,
        in views: [HistoryView]
    ) throws(StoreError) -> Set<SegmentPoint>? {
        guard !writes.isEmpty, !views.isEmpty else { return [] }
        let candidates = Set(writes)
        var (shown, inForce): (Set<SegmentPoint>, [(view: HistoryView, write: WriteReference?)]) = ([], [])
        for view in views {
            do throws(StoreError) {
                var history = History(view)
                let write = try history.write(at: key, in: &self)
                inForce.append((view, write))
                if let write, candidates.contains(write) { shown.insert(write.point) }
            } catch .compacted {
                // It cannot be read as it is.
            }
        }
        var redacted: [SegmentIndex: RedactedWrites] = [:]
        for known in try self.redactedWrites(at: key) { redacted[known.segment] = known }
        for write in writes where !shown.contains(write.point) && !self.isGivenUp(write.point) {
            let known = redacted[write.segment]
            redacted[write.segment] = RedactedWrites.adding(1, in: write.point, at: write.stamp, to: known)
        }
        let all = redacted.values.sorted { $0.segment.rawValue < $1.segment.rawValue }
        for (view, write) in inForce {
            do throws(StoreError) {
                try self.requireKept(write, beside: all, in: view)
            } catch .compacted {
                return nil
            }
        }
        return shown
    }

    /// An open branch that shows an earlier value of a property than the one in force, or would have to be read
    /// without one that it needs, if the past of the property were erased now; nil if there is none.
    package mutating func branchBarringErasure(at key: RegisterKey) throws(StoreError) -> BranchID? {
        let open = self.openBranches.map(\.opening.id)
        guard !open.isEmpty else { return nil }
        let winner = try self.register(key)?.winner
        var writes = try self.givenUpWrites(at: key)
        if let winner {
            writes += try self.supersededWrites(at: key, upTo: .max) { _ in true }
            writes += try self.conflicts(at: key) + [winner]
        }
        for branch in open {
            let shown = try self.shown(of: writes, at: key, in: [try self.view(of: branch)])
            guard let shown, shown.allSatisfy({ $0 == winner?.point }) else { return branch }
        }
        return nil
    }

    /// The writes to a property on branches that were given up, as far as their content is here.
    package mutating func givenUpWrites(at key: RegisterKey) throws(StoreError) -> [WriteReference] {
        var writes: [WriteReference] = []
        for operation in try self.unmergedOperations(at: key)
        where operation.kind != .redacted && operation.kind.isWrite && self.isGivenUp(operation.point) {
            writes.append(
                WriteReference(
                    stamp: try self.effectiveStamp(at: operation.point),
                    segment: operation.segment,
                    sequence: operation.sequence,
                    index: operation.index
                )
            )
        }
        return writes
    }

    /// Those of them that were given up by changes which some authors had seen.
    package mutating func givenUpWrites(
        at key: RegisterKey,
        seenBy contexts: [CausalContext]
    ) throws(StoreError) -> [WriteReference] {
        var (found, ends): ([WriteReference], [BranchID: SeenSegments]) = ([], [:])
        for write in try self.givenUpWrites(at: key) {
            guard let branch = self.progress(of: write.segment).branch else { continue }
            if ends[branch] == nil {
                var seen = SeenSegments()
                for closing in self.branches.closings(of: branch) {
                    let ordinal = ChainOrdinal(sequence: closing.sequence, index: 0)
                    guard contexts.contains(where: { $0.covers(closing.segment, ordinal) }) else { continue }
                    seen.formUnion(try self.givenUp(of: branch, by: closing))
                }
                ends[branch] = seen
            }
            if let end = ends[branch]?[write.segment], write.sequence <= end { found.append(write) }
        }
        return found
    }
}
