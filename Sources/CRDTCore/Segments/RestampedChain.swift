/// What is restamped by right in one replica's chain: pieces of its segments.
///
/// A restamp orders what follows, in its stretch, after the last change that is stamped no later than it. Pieces only
/// ever grow, as restamps and the ends of their stretches arrive, and each change comes in once, however many restamps
/// there are of it: whoever looks at what came in last looks at each change once.
package struct RestampedChain: Sendable {
    /// Some changes that follow each other on a segment.
    package struct Piece: Hashable, Sendable {
        package var segment: SegmentIndex
        package var sequences: ClosedRange<UInt64>
    }

    /// A piece of a segment, and how early its changes are stamped.
    private struct Stretch {
        var sequences: ClosedRange<UInt64>
        /// The first change, and each that is stamped earlier than all before it: one, where stamps rise.
        var lows: [(sequence: UInt64, stamp: Stamp)]

        /// The lowest stamp from the first change to one of them.
        func lowest(through sequence: UInt64) -> Stamp {
            self.lows[self.lows.firstPosition { $0.sequence > sequence } - 1].stamp
        }

        /// Takes in the stretch that follows this one.
        mutating func append(_ next: Stretch) {
            let lowest = self.lowest(through: self.sequences.upperBound)
            self.lows += next.lows[next.lows.firstPosition { $0.stamp < lowest }...]
            self.sequences = self.sequences.lowerBound...next.sequences.upperBound
        }
    }

    /// What is restamped before the first change of a segment.
    private struct Depth {
        /// The change from which on all of it is.
        var first: SegmentPoint
        /// The lowest stamp of it.
        var lowest: Stamp
    }

    /// Of each segment, in order, with gaps between them.
    private var stretches: [SegmentIndex: [Stretch]] = [:]
    /// What is restamped before some segments that are restamped from their first change on: so that a stretch through
    /// very many forks is walked once.
    private var depths: [SegmentIndex: Depth] = [:]

    package init() {}

    /// - Complexity: O(log *n*) for *n* pieces of the segment.
    package func contains(_ place: SegmentPoint) -> Bool {
        guard let stretches = self.stretches[place.segment] else { return false }
        let position = stretches.firstPosition { $0.sequences.upperBound >= place.sequence }
        return position < stretches.count && stretches[position].sequences.lowerBound <= place.sequence
    }

    /// Takes in what a restamp orders, whose stretch ends at a stored change, and returns what of it was not in yet.
    ///
    /// - Complexity: O(*n* log *m*) amortized, for the *n* changes that came in, and *m* that are in.
    package mutating func cover(
        from end: SegmentPoint,
        by restamp: StampedRestamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Piece] {
        var news: [Piece] = []
        var walked: [(segment: SegmentIndex, start: UInt64, lowest: Stamp)] = []
        var next: SegmentPoint? = end
        while let last = next, last.sequence >= restamp.restamp.firstSequence, last.sequence > 0 {
            let start = transaction.progress(of: last.segment).firstSequence
            let first = max(restamp.restamp.firstSequence, start)
            let lowest = try self.cover(last, downTo: first, after: restamp.stamp, &news, in: &transaction)
            guard let lowest, first == start else { break }
            walked.append((last.segment, start, lowest))
            var below = SegmentPoint(segment: last.segment, sequence: start)
            if let depth = self.depths[last.segment] {
                // Of what is before, all is in that this could order.
                guard depth.lowest > restamp.stamp else { break }
                below = depth.first
            }
            next = transaction.place(before: below)
        }
        self.noteDepths(walked)
        return news
    }

    /// `walked`: segments that are restamped from their first change on, each the one that the former hangs on, or that
    /// what is restamped before the former does.
    private mutating func noteDepths(_ walked: [(segment: SegmentIndex, start: UInt64, lowest: Stamp)]) {
        var below: Depth?
        for segment in walked.reversed() {
            if let below {
                let known = self.depths[segment.segment]
                let lowest = min(below.lowest, known?.lowest ?? below.lowest)
                self.depths[segment.segment] = Depth(first: below.first, lowest: lowest)
            }
            let depth = self.depths[segment.segment]
            below = Depth(
                first: depth?.first ?? SegmentPoint(segment: segment.segment, sequence: segment.start),
                lowest: min(segment.lowest, depth?.lowest ?? segment.lowest)
            )
        }
    }

    /// Takes in the changes of one segment up to a place, from the last on that is stamped no later than `stamp`.
    ///
    /// Returns the lowest stamp down to `first`; nil if one of them is stamped no later.
    private mutating func cover(
        _ last: SegmentPoint,
        downTo first: UInt64,
        after stamp: Stamp,
        _ news: inout [Piece],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Stamp? {
        var stretches: [Stretch] = []
        // Taken out meanwhile, so that it is not copied.
        swap(&stretches, &self.stretches[last.segment, default: []])
        defer { swap(&stretches, &self.stretches[last.segment, default: []]) }
        var position = stretches.firstPosition { $0.sequences.upperBound >= last.sequence }
        var (sequence, lowest) = (last.sequence, Stamp(rawValue: .max))
        while sequence >= first {
            if position < stretches.count, stretches[position].sequences.contains(sequence) {
                lowest = min(lowest, stretches[position].lowest(through: sequence))
                sequence = stretches[position].sequences.lowerBound - 1
            } else {
                let end = position > 0 ? stretches[position - 1].sequences.upperBound + 1 : first
                let gap = max(first, end)...sequence
                let fresh = try Self.stretch(gap, of: last.segment, after: stamp, in: &transaction)
                if let fresh {
                    news.append(Piece(segment: last.segment, sequences: fresh.sequences))
                    lowest = min(lowest, fresh.lowest(through: sequence))
                    Self.insert(fresh, at: &position, into: &stretches)
                }
                guard fresh?.sequences.lowerBound == gap.lowerBound else { return nil }
                sequence = gap.lowerBound - 1
            }
            guard lowest > stamp else { return nil }
        }
        return lowest
    }

    /// The changes at the end of a range that are all stamped later than `stamp`; nil if the last is not.
    private static func stretch(
        _ range: ClosedRange<UInt64>,
        of segment: SegmentIndex,
        after stamp: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Stretch? {
        // From the last to the first.
        var lows: [(sequence: UInt64, stamp: Stamp)] = []
        var first = range.upperBound + 1
        while first > range.lowerBound {
            let place = SegmentPoint(segment: segment, sequence: first - 1)
            guard let header = try transaction.header(at: place) else {
                throw .damaged("a change is missing from the log")
            }
            guard header.stamp > stamp else { break }
            while let later = lows.last, later.stamp >= header.stamp { lows.removeLast() }
            first = place.sequence
            lows.append((first, header.stamp))
        }
        return lows.isEmpty ? nil : Stretch(sequences: first...range.upperBound, lows: lows.reversed())
    }

    /// Puts a stretch before the one at a position, and joins it with those that it touches.
    ///
    /// `position`: afterwards that of what it is part of.
    private static func insert(_ fresh: Stretch, at position: inout Int, into stretches: inout [Stretch]) {
        var (joined, end) = (fresh, position)
        if end < stretches.count, stretches[end].sequences.lowerBound == fresh.sequences.upperBound + 1 {
            joined.append(stretches[end])
            end += 1
        }
        if position > 0, stretches[position - 1].sequences.upperBound + 1 == fresh.sequences.lowerBound {
            position -= 1
            var former = stretches[position]
            former.append(joined)
            joined = former
        }
        stretches.replaceSubrange(position..<end, with: CollectionOfOne(joined))
    }
}
