/// What the author of an operation had seen: of each segment, and its own segment up to the operation.
package struct CausalContext: Sendable {
    package var seen: SeenSegments
    package var author: SegmentIndex
    package var ordinal: ChainOrdinal

    package init(seen: SeenSegments, author: SegmentIndex, ordinal: ChainOrdinal) {
        self.seen = seen
        self.author = author
        self.ordinal = ordinal
    }

    /// How far a segment was seen: everything below the result was.
    package func end(of segment: SegmentIndex) -> ChainOrdinal {
        if segment == self.author { return self.ordinal }
        let sequence = self.seen[segment]
        return sequence > 0 ? .end(ofSequence: sequence) : .zero
    }

    /// Whether the author had seen a write.
    package func covers(_ write: WriteReference) -> Bool { self.covers(write.segment, write.ordinal) }

    package func covers(_ segment: SegmentIndex, _ ordinal: ChainOrdinal) -> Bool {
        ordinal < self.end(of: segment)
    }
}

extension StoreTransaction {
    /// What the author of a write had seen.
    package mutating func authorContext(of write: WriteReference) throws(StoreError) -> CausalContext {
        CausalContext(seen: try self.context(at: write.point), author: write.segment, ordinal: write.ordinal)
    }

    /// The stored changes of a replica with a sequence, one for each fork there, on its first segments.
    ///
    /// Sequence 0 is the beginning of the chain.
    package func places(of id: ReplicaID, sequence: UInt64, segmentCountMax: Int = .max) -> [SegmentPoint] {
        var places: [SegmentPoint] = []
        var next = self.firstSegment(of: id)
        if sequence == 0 { return next.map { [SegmentPoint(segment: $0, sequence: 0)] } ?? [] }
        var segmentCount = 0
        while let segment = next, segmentCount < segmentCountMax {
            segmentCount += 1
            let progress = self.progress(of: segment)
            if sequence >= progress.firstSequence, sequence <= progress.storedSequence {
                places.append(SegmentPoint(segment: segment, sequence: sequence))
            }
            next = progress.next
        }
        return places
    }

    /// Whether a change of a replica with a sequence is stored, or may be, since there are many forks.
    package func mayHold(_ id: ReplicaID, sequence: UInt64) -> Bool {
        var next = self.firstSegment(of: id)
        for _ in 0..<Limits.unnamedForkCountMax {
            guard let segment = next else { return false }
            let progress = self.progress(of: segment)
            if sequence >= progress.firstSequence, sequence <= progress.storedSequence { return true }
            next = progress.next
        }
        return next != nil
    }

    /// Where a change is stored that a full hash names; nil if it is not.
    package mutating func place(of id: ReplicaID, sequence: UInt64, hash: Hash256) throws(StoreError) -> SegmentPoint? {
        guard sequence > 0 else { return nil }
        for place in try self.places(of: Point(replica: id, sequence: sequence, name: ChangeName(hash))) {
            if try self.hash(at: place) == hash { return place }
        }
        return nil
    }

    /// What a point means here: the change that it names, or, if two have that name, their last common predecessor.
    ///
    /// Nil if no such change is stored. Sequence 0 of the result is the beginning of the chain.
    package mutating func place(of point: Point) throws(StoreError) -> SegmentPoint? {
        var found: SegmentPoint?
        for place in try self.places(of: point) {
            found = found.map { self.commonPlace($0, place) } ?? place
        }
        return found
    }

    /// The last change that two changes of one chain both extend, or are.
    package func commonPlace(_ left: SegmentPoint, _ right: SegmentPoint) -> SegmentPoint {
        var (left, right) = (left, right)
        while left.segment != right.segment {
            // A segment hangs on one with a lower number, since that was there before.
            if left.segment.rawValue > right.segment.rawValue {
                guard let parent = self.origin(of: left.segment)?.parent else { break }
                left = parent
            } else {
                guard let parent = self.origin(of: right.segment)?.parent else { break }
                right = parent
            }
        }
        return SegmentPoint(segment: left.segment, sequence: min(left.sequence, right.sequence))
    }

    /// Whether a change is another one or comes before it in its chain.
    package func isWithin(_ place: SegmentPoint, _ last: SegmentPoint) -> Bool {
        self.commonPlace(place, last) == place
    }

    /// The change before one in its chain; nil for the first.
    package func place(before place: SegmentPoint) -> SegmentPoint? {
        if place.sequence > self.progress(of: place.segment).firstSequence {
            return SegmentPoint(segment: place.segment, sequence: place.sequence - 1)
        }
        return self.origin(of: place.segment).flatMap { $0.parent.sequence > 0 ? $0.parent : nil }
    }

    /// Takes a change and all before it in its chain into a context.
    package func cover(_ place: SegmentPoint, in context: inout SeenSegments) {
        var next: SegmentPoint? = place
        while let place = next {
            guard place.sequence > 0, context.raise(place.segment, to: place.sequence) else { return }
            next = self.origin(of: place.segment)?.parent
        }
    }

    /// The same, noting what was news, and the last change of each stretch of it that merges something.
    private func cover(
        _ place: SegmentPoint,
        in context: inout SeenSegments,
        noting news: inout SeenSegments,
        merges: inout [SegmentPoint]
    ) {
        let branches = self.branches
        var next: SegmentPoint? = place
        while let place = next {
            let before = context[place.segment]
            guard place.sequence > 0, context.raise(place.segment, to: place.sequence) else { return }
            _ = news.raise(place.segment, to: place.sequence)
            if let last = branches.lastMerging(on: place.segment, after: before, through: place.sequence) {
                merges.append(SegmentPoint(segment: place.segment, sequence: last))
            }
            next = self.origin(of: place.segment)?.parent
        }
    }

    /// Takes what some changes of a segment name into the context of the last of them, noting what was news.
    ///
    /// Returns how much they name.
    mutating func extend(
        _ context: inout SeenSegments,
        noting news: inout SeenSegments,
        by changes: ClosedRange<UInt64>,
        of segment: SegmentIndex
    ) throws(StoreError) -> Int {
        var (count, next) = (0, changes.lowerBound)
        while next <= changes.upperBound {
            // Where nobody has merged anything, it does not matter which of the changes names what.
            let end = self.branches.hasMergings ? next : changes.upperBound
            var places: [SegmentPoint] = []
            for point in try self.contexts(of: segment, after: next - 1, through: end) {
                count += 1
                if let place = try self.place(of: point) { places.append(place) }
            }
            try self.extend(&context, noting: &news, by: places, of: SegmentPoint(segment: segment, sequence: end))
            next = end + 1
        }
        return count
    }

    /// Takes what a change names into its context.
    ///
    /// That is what it names of its own timeline, and of those that it says it merges. What it names of others was
    /// taken in if it sees for the first time a change that had merged it; else it is merely known.
    ///
    /// - Complexity: O(*n* log *m*) for *n* named changes; where it names changes of other timelines, and sees others
    ///   that merge something, as many steps as there are pairs of these.
    mutating func extend(
        _ context: inout SeenSegments,
        noting news: inout SeenSegments,
        by places: [SegmentPoint],
        of change: SegmentPoint
    ) throws(StoreError) {
        guard !places.isEmpty else { return }
        let own = self.progress(of: change.segment).branch
        let said = self.branches.mergings(on: change.segment, after: change.sequence - 1, through: change.sequence)
        let merged = Set(said.map(\.branch))
        var (merges, others): ([SegmentPoint], [SegmentPoint]) = ([], [])
        for place in places {
            let branch = self.progress(of: place.segment).branch
            if branch == own || merged.contains(branch) {
                self.cover(place, in: &context, noting: &news, merges: &merges)
            } else {
                others.append(place)
            }
        }
        for merge in merges where !others.isEmpty {
            let taken = try self.context(at: merge)
            for place in others where place.sequence <= taken[place.segment] {
                var ignored: [SegmentPoint] = []
                self.cover(place, in: &context, noting: &news, merges: &ignored)
            }
        }
    }

    /// The effective stamp of a change that has been applied.
    package mutating func effectiveStamp(at place: SegmentPoint) throws(StoreError) -> Stamp {
        let record = self.segment(place.segment)
        if place.sequence < record.firstSequence {
            guard let parent = record.origin?.parent, parent.sequence > 0 else { return .zero }
            return try self.effectiveStamp(at: parent)
        }
        if record.appliedSequence == place.sequence { return record.appliedStamp }
        if let first = record.firstRaised, first <= place.sequence, let raised = try self.raisedStamp(at: place) {
            return raised.stamp
        }
        guard let header = try self.header(at: place) else { throw .damaged("a change is missing from the log") }
        return header.stamp
    }
}
