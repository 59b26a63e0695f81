/// How a segment's context is kept without keeping it whole: what the segment's beginning had seen, and what came on
/// top.
///
/// A context may name very many segments, and there may be very many of them. So a segment that leaves another one
/// shares its beginning with it, and of some changes, the checkpoints, a store keeps what they had seen more than an
/// earlier one.
package struct ContextTrail: Hashable, Sendable {
    /// What the segment's beginning had seen: the change that it hangs on with all that that had seen.
    package var inherited = SeenSegments()
    /// The last numbered checkpoint, and its number; 0 if there is none.
    package var checkpointSequence: UInt64 = 0
    package var checkpointNumber: UInt32 = 0
    /// What has been seen since.
    package var recent = SeenSegments()
    /// How many entries the contexts of the changes since have.
    package var recentPointCount = 0

    package init() {}
}

/// What a change had seen more than an earlier one of its segment.
package struct Checkpoint: Hashable, Sendable {
    /// From 1 on in a segment; 0 for one that was kept between them, where a fork leaves.
    package var number: UInt32
    /// The numbered checkpoint on top of which it is; 0 for the segment's beginning.
    ///
    /// That of number *n* is on top of *n* without its lowest bit, so that few are between any one and the beginning,
    /// and each entry is in few of them (P. Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994).
    package var base: UInt64
    package var additions: SeenSegments

    package init(number: UInt32, base: UInt64, additions: SeenSegments) {
        (self.number, self.base, self.additions) = (number, base, additions)
    }
}

/// The whole context of a change, in memory.
package struct KeptContext: Sendable {
    var sequence: UInt64
    var context: SeenSegments
}

extension StoreTransaction {
    /// What the author of a change had seen, without the change's own segment.
    ///
    /// - Complexity: O(*b*) for the changes since the last checkpoint, at most `Limits.checkpointInterval`; once for a
    ///   segment O(*n* log *n*) for the entries of its contexts.
    package mutating func context(at place: SegmentPoint) throws(StoreError) -> SeenSegments {
        try self.prepareContexts()
        let progress = self.progress(of: place.segment)
        if progress.hasApplied {
            let record = self.segment(place.segment)
            return record.appliedSequence == place.sequence
                ? record.context : try self.trail(at: place, in: record).context
        }
        // Of a segment of which nothing is applied, nothing is kept but the log: what it hangs on is looked for.
        var way = [place]
        while let last = way.last, let parent = self.origin(of: last.segment)?.parent, parent.sequence > 0 {
            way.append(parent)
            if self.progress(of: parent.segment).hasApplied { break }
        }
        var context = SeenSegments()
        for place in way.reversed() {
            let progress = self.progress(of: place.segment)
            if progress.hasApplied {
                context = try self.trail(at: place, in: self.segment(place.segment)).context
            } else {
                var news = SeenSegments()
                let changes = progress.firstSequence...max(progress.firstSequence, place.sequence)
                _ = try self.extend(&context, noting: &news, by: changes, of: place.segment)
            }
            if place != way.first { self.cover(place, in: &context) }
        }
        return context
    }

    /// The context of a change of a segment of which something is applied, and how it is kept.
    mutating func trail(
        at place: SegmentPoint,
        in record: SegmentRecord
    ) throws(StoreError) -> (trail: ContextTrail, context: SeenSegments) {
        var trail = ContextTrail()
        trail.inherited = record.trail.inherited
        var start = record.firstSequence - 1
        if let (sequence, checkpoint) = try self.checkpoint(of: place.segment, upTo: place.sequence) {
            start = sequence
            (trail.checkpointSequence, trail.checkpointNumber) = (sequence, checkpoint.number)
            if checkpoint.number == 0 {
                trail.recent = checkpoint.additions
                trail.checkpointSequence = checkpoint.base
                if checkpoint.base > 0 {
                    trail.checkpointNumber = try self.numberedCheckpoint(of: place.segment, at: checkpoint.base).number
                }
            }
        }
        var context =
            record.context.isLarge
            ? try self.contexts(keptOf: place.segment, trail.inherited).context(at: start) ?? trail.inherited
            : try self.context(of: trail, on: place.segment)
        guard start < place.sequence else { return (trail, context) }
        let changes = start + 1...place.sequence
        let count = try self.extend(&context, noting: &trail.recent, by: changes, of: place.segment)
        trail.recentPointCount = count
        return (trail, context)
    }

    /// The context that a trail of a segment leads to.
    ///
    /// - Throws: `StoreError.damaged` if a checkpoint is missing.
    package mutating func context(of trail: ContextTrail, on segment: SegmentIndex) throws(StoreError) -> SeenSegments {
        var context = trail.inherited
        var next = trail.checkpointSequence
        while next > 0 {
            let checkpoint = try self.numberedCheckpoint(of: segment, at: next)
            context.formUnion(checkpoint.additions)
            next = checkpoint.base
        }
        context.formUnion(trail.recent)
        return context
    }

    private mutating func numberedCheckpoint(
        of segment: SegmentIndex,
        at sequence: UInt64
    ) throws(StoreError) -> Checkpoint {
        let found = try self.checkpoint(of: segment, upTo: sequence)
        guard let (place, checkpoint) = found, place == sequence, checkpoint.number > 0 else {
            throw .damaged("a checkpoint is missing from the database")
        }
        return checkpoint
    }

    /// The contexts at the checkpoints of a segment, ascending.
    ///
    /// They are put together once, from the segment's beginning on, so that large ones share their parts.
    private mutating func contexts(
        keptOf segment: SegmentIndex,
        _ inherited: SeenSegments
    ) throws(StoreError) -> [KeptContext] {
        if let known = self.keptContexts(of: segment) { return known }
        var context = inherited
        var kept: [KeptContext] = []
        for (sequence, checkpoint) in try self.checkpoints(of: segment) {
            context.formUnion(checkpoint.additions)
            kept.append(KeptContext(sequence: sequence, context: context))
        }
        self.setKeptContexts(kept, of: segment)
        return kept
    }

    private mutating func keep(_ context: SeenSegments, at place: SegmentPoint) {
        guard var kept = self.keptContexts(of: place.segment) else { return }
        self.setKeptContexts(nil, of: place.segment)
        let position = kept.firstPosition { $0.sequence >= place.sequence }
        kept.insert(KeptContext(sequence: place.sequence, context: context), at: position)
        self.setKeptContexts(kept, of: place.segment)
    }

    /// Makes a change, which is about to be the last applied one of its segment, the segment's next numbered
    /// checkpoint.
    mutating func addCheckpoint(
        _ context: SeenSegments,
        _ trail: inout ContextTrail,
        at place: SegmentPoint
    ) throws(StoreError) {
        var checkpoint = Checkpoint(
            number: trail.checkpointNumber + 1,
            base: trail.checkpointSequence,
            additions: trail.recent
        )
        for _ in 0..<checkpoint.number.trailingZeroBitCount {
            let before = try self.numberedCheckpoint(of: place.segment, at: checkpoint.base)
            checkpoint.additions.formUnion(before.additions)
            checkpoint.base = before.base
        }
        try self.setCheckpoint(checkpoint, at: place)
        self.keep(context, at: place)
        (trail.checkpointSequence, trail.checkpointNumber) = (place.sequence, checkpoint.number)
        (trail.recent, trail.recentPointCount) = (SeenSegments(), 0)
    }

    /// What a fork inherits from the change that it leaves, which is applied.
    ///
    /// Many may leave there, and the same is asked for them when the database is opened: so it is kept.
    mutating func inheritance(from parent: SegmentPoint) throws(StoreError) -> SeenSegments {
        let record = self.segment(parent.segment)
        var context: SeenSegments
        if record.context.isLarge,
            let kept = try self.contexts(keptOf: parent.segment, record.trail.inherited).context(at: parent.sequence)
        {
            context = kept
        } else if try self.checkpoint(of: parent.segment, upTo: parent.sequence)?.sequence == parent.sequence {
            context = try self.context(at: parent)
        } else {
            var trail = record.trail
            context = record.context
            if record.appliedSequence != parent.sequence { (trail, context) = try self.trail(at: parent, in: record) }
            let checkpoint = Checkpoint(number: 0, base: trail.checkpointSequence, additions: trail.recent)
            try self.setCheckpoint(checkpoint, at: parent)
            self.keep(context, at: parent)
        }
        self.cover(parent, in: &context)
        return context
    }
}

extension [KeptContext] {
    fileprivate func context(at sequence: UInt64) -> SeenSegments? {
        let position = self.firstPosition { $0.sequence >= sequence }
        return position < self.count && self[position].sequence == sequence ? self[position].context : nil
    }
}
