/// Which writes count in a state: those up to a stamp, of changes that were seen.
///
/// A state of the past, or of a branch, is the same merge over other changes. Their order is the one that is known now.
package struct HistoryView: Sendable {
    /// The last stamp that counts.
    package let lastStamp: Stamp
    /// How far each segment counts; nil if all counts that the main timeline holds.
    package let seen: SeenSegments?
    /// How far segments of branches count whose changes are not merged, or not all of them.
    let unmerged: [SegmentPoint]
    /// Whether what is not here is named as missing, as on the main timeline, and the rest is shown.
    ///
    /// A moment of the past is shown as it was, or not at all.
    let namesMissing: Bool

    private init(
        lastStamp: Stamp,
        seen: SeenSegments?,
        unmerged: [SegmentPoint] = [],
        namesMissing: Bool = false
    ) {
        (self.lastStamp, self.seen, self.unmerged, self.namesMissing) = (lastStamp, seen, unmerged, namesMissing)
    }

    /// The main timeline as it is now, which the tables of a store show.
    package static var present: HistoryView { HistoryView(lastStamp: Stamp(rawValue: .max), seen: nil) }

    var isPresent: Bool { self.seen == nil && self.lastStamp.rawValue == .max }

    /// Everything up to a time.
    package init(at time: WallTime) {
        self.init(lastStamp: Stamp(rawValue: Stamp(milliseconds: time.milliseconds).rawValue | 0xffff), seen: nil)
    }

    /// Some changes, whatever their stamps are, of which none is on a branch that is not merged.
    package init(seen: SeenSegments) {
        self.init(lastStamp: Stamp(rawValue: .max), seen: seen)
    }

    /// Some applied changes, on branches too.
    ///
    /// Effective stamps rise along each segment, so none of the changes has a later one than the last of its segment:
    /// later writes need not be looked at.
    package init(
        seen: SeenSegments,
        namesMissing: Bool = false,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var (lastStamp, unmerged): (Stamp, [SegmentPoint]) = (.zero, [])
        for (segment, sequence) in seen.all {
            let progress = transaction.progress(of: segment)
            if progress.hasUnmerged, sequence > progress.countedSequence {
                unmerged.append(SegmentPoint(segment: segment, sequence: sequence))
            }
            guard sequence >= progress.firstSequence else { continue }
            let isLast = sequence >= progress.appliedSequence
            let end = SegmentPoint(segment: segment, sequence: sequence)
            lastStamp = max(lastStamp, isLast ? progress.appliedStamp : try transaction.effectiveStamp(at: end))
        }
        self.init(lastStamp: lastStamp, seen: seen, unmerged: unmerged, namesMissing: namesMissing)
    }

    /// Whether a write counts.
    package func counts(_ write: WriteReference) -> Bool {
        guard write.stamp <= self.lastStamp else { return false }
        return self.seen.map { write.sequence <= $0[write.segment] } ?? true
    }

    /// Whether an operation of a branch that is not merged counts.
    func counts(_ operation: UnmergedOperation) -> Bool {
        self.seen.map { operation.sequence <= $0[operation.segment] } ?? false
    }
}

extension StoreTransaction {
    /// Some changes with everything that their authors had seen, and the authors of that, and so on.
    ///
    /// Honest authors name all that they had seen; what others leave out is found by way of what they name.
    /// - Complexity: O(*l* log *l*) for *l* segments, and what `context(at:)` takes for each.
    package mutating func closure(of points: [SegmentPoint]) throws(StoreError) -> SeenSegments {
        var (seen, waiting) = (SeenSegments(), points)
        while let point = waiting.popLast() {
            guard seen[point.segment] < point.sequence else { continue }
            self.cover(point, in: &seen)
            let context = try self.context(at: point)
            var next = context.next(from: SegmentIndex(rawValue: 0), beyond: seen)
            while let segment = next {
                waiting.append(SegmentPoint(segment: segment, sequence: context[segment]))
                guard segment.rawValue < .max else { break }
                next = context.next(from: SegmentIndex(rawValue: segment.rawValue + 1), beyond: seen)
            }
        }
        return seen
    }
}

extension StoreTransaction {
    /// The changes of the main timeline, or of a branch, that no other one of it had seen: with all that their authors
    /// had seen, and what a branch begins with, its state.
    ///
    /// - Complexity: O(*h* *l*) for *h* heads, of which there are few, and *l* segments.
    package mutating func heads(of branch: BranchID? = nil) throws(StoreError) -> [SegmentPoint] {
        var ends: [(point: SegmentPoint, stamp: Stamp)] = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            guard progress.hasApplied, progress.branch == branch else { continue }
            ends.append((SegmentPoint(segment: segment, sequence: progress.appliedSequence), progress.appliedStamp))
        }
        if let branch { ends += try self.baseEnds(of: branch) }
        return try self.heads(among: ends)
    }

    /// The changes with which all of some others were seen.
    package mutating func heads(in seen: SeenSegments) throws(StoreError) -> [SegmentPoint] {
        var ends: [(point: SegmentPoint, stamp: Stamp)] = []
        for (segment, sequence) in seen.all where sequence >= self.progress(of: segment).firstSequence {
            let point = SegmentPoint(segment: segment, sequence: sequence)
            ends.append((point, try self.effectiveStamp(at: point)))
        }
        return try self.heads(among: ends)
    }

    private mutating func heads(
        among ends: [(point: SegmentPoint, stamp: Stamp)]
    ) throws(StoreError) -> [SegmentPoint] {
        // Nothing had seen a change with a stamp above its own.
        let ends = ends.sorted { $0.stamp > $1.stamp }
        var (heads, seen): ([SegmentPoint], SeenSegments) = ([], SeenSegments())
        for (point, _) in ends where seen[point.segment] < point.sequence {
            heads.append(point)
            seen.formUnion(try self.closure(of: [point]))
        }
        return heads
    }

    /// What counts on a timeline now; nil for the main one.
    package mutating func view(of branch: BranchID?) throws(StoreError) -> HistoryView {
        guard let branch else { return .present }
        return try HistoryView(seen: self.closure(of: self.heads(of: branch)), namesMissing: true, in: &self)
    }

    /// Whether all is here and applied that a branch begins with.
    package mutating func holdsBase(of branch: BranchID) throws(StoreError) -> Bool {
        try self.baseEnds(of: branch).count == self.branches[branch]?.opening.base.count
    }

    /// What a branch begins with, with all that the authors of that had seen, as far as it is here.
    mutating func base(of branch: BranchID) throws(StoreError) -> SeenSegments {
        try self.closure(of: self.baseEnds(of: branch).map(\.point))
    }

    /// What a branch begins with, as far as it is here.
    private mutating func baseEnds(
        of branch: BranchID
    ) throws(StoreError) -> [(point: SegmentPoint, stamp: Stamp)] {
        var ends: [(point: SegmentPoint, stamp: Stamp)] = []
        for change in self.branches[branch]?.opening.base ?? [] {
            let place = try self.place(of: change.replica, sequence: change.sequence, hash: change.hash)
            guard let place, self.progress(of: place.segment).appliedSequence >= place.sequence else { continue }
            ends.append((place, try self.effectiveStamp(at: place)))
        }
        return ends
    }

    /// How far each segment had come at a time, on the main timeline or on a branch.
    ///
    /// Effective stamps rise along each segment, and along all that a change had seen: nothing counts that had seen
    /// something which does not. What a branch held counts from the change on that merged it.
    ///
    /// - Complexity: O(*l* log *n*) for *l* segments with *n* changes; with branches, that of a closure besides.
    package mutating func seen(
        through stamp: Stamp,
        on branch: BranchID? = nil
    ) throws(StoreError) -> SeenSegments {
        var seen = SeenSegments()
        var (ends, hasBranches): ([SegmentPoint], Bool) = ([], branch != nil)
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            if progress.branch != nil { hasBranches = true }
            guard progress.hasApplied, progress.branch == branch else { continue }
            let applied = progress.firstSequence..<progress.appliedSequence + 1
            let later = try applied.firstPosition { sequence throws(StoreError) in
                try self.effectiveStamp(at: SegmentPoint(segment: segment, sequence: sequence)) > stamp
            }
            guard later > progress.firstSequence else { continue }
            ends.append(SegmentPoint(segment: segment, sequence: later - 1))
            _ = seen.raise(segment, to: later - 1)
        }
        guard hasBranches else { return seen }
        if let branch { ends += try self.baseEnds(of: branch).map(\.point) }
        return try self.closure(of: ends)
    }
}

extension StoreTransaction {
    /// The write that an operation of a branch is, as it is ordered now.
    package mutating func write(of operation: UnmergedOperation) throws(StoreError) -> WriteReference {
        let stamp = try self.effectiveStamp(at: operation.point)
        return WriteReference(
            stamp: stamp,
            segment: operation.segment,
            sequence: operation.sequence,
            index: operation.index
        )
    }

    /// The history of an object without what does not count in the main state: a store may name that as well.
    package mutating func countedHistory(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for write in try self.history(of: object)
        where write.sequence <= self.progress(of: write.segment).countedSequence {
            if try self.countsByRight(write) { found.append(write) }
        }
        return found
    }
}
