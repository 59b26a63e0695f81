/// What is restamped by right in one replica's chain: pieces of its segments.
///
/// It only ever grows, as restamps and the ends of their stretches arrive, and each change comes in once, however many
/// restamps there are of it: whoever looks at what came in last looks at each change once.
package struct RestampedChain: Sendable {
    /// Some changes that follow each other on a segment.
    package struct Piece: Hashable, Sendable {
        package var segment: SegmentIndex
        package var sequences: ClosedRange<UInt64>
    }

    /// Of each segment, in order, with gaps between them.
    private var pieces: [SegmentIndex: [ClosedRange<UInt64>]] = [:]
    /// The first change of some segments, and all before it down to this one, are restamped: so that a stretch through
    /// very many forks is walked once.
    private var depths: [SegmentIndex: SegmentPoint] = [:]

    package init() {}

    /// - Complexity: O(log *n*) for *n* pieces of the segment.
    package func contains(_ place: SegmentPoint) -> Bool {
        guard let ranges = self.pieces[place.segment] else { return false }
        let position = ranges.firstPosition { $0.upperBound >= place.sequence }
        return position < ranges.count && ranges[position].lowerBound <= place.sequence
    }

    /// Takes in a stretch that ends at a stored change, and returns what of it was not in yet.
    ///
    /// - Complexity: O(*n* log *m*) amortized, for the *n* segments that came in, and *m* that are in.
    package mutating func cover(
        from end: SegmentPoint,
        downTo first: UInt64,
        in transaction: borrowing some StoreTransaction
    ) -> [Piece] {
        var news: [Piece] = []
        var walked: [SegmentIndex] = []
        var lowest = end
        var next: SegmentPoint? = end
        while let last = next, last.sequence >= first, last.sequence > 0 {
            let start = transaction.progress(of: last.segment).firstSequence
            lowest = SegmentPoint(segment: last.segment, sequence: max(first, start))
            news += self.insert(lowest.sequence...last.sequence, on: last.segment)
            guard lowest.sequence == start else { break }
            walked.append(last.segment)
            if let depth = self.depths[last.segment], depth.segment != last.segment { lowest = depth }
            next = transaction.place(before: lowest)
        }
        for segment in walked { self.depths[segment] = lowest }
        return news
    }

    /// Takes in a range of a segment and returns what was missing of it.
    private mutating func insert(_ range: ClosedRange<UInt64>, on segment: SegmentIndex) -> [Piece] {
        var ranges: [ClosedRange<UInt64>] = []
        // Taken out meanwhile, so that it is not copied.
        swap(&ranges, &self.pieces[segment, default: []])
        defer { swap(&ranges, &self.pieces[segment, default: []]) }
        let position = ranges.firstPosition { $0.upperBound >= range.lowerBound - 1 }
        var (end, merged, missing) = (position, range, range.lowerBound)
        var news: [Piece] = []
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound + 1 {
            let former = ranges[end]
            if missing < former.lowerBound {
                news.append(Piece(segment: segment, sequences: missing...(former.lowerBound - 1)))
            }
            missing = max(missing, former.upperBound + 1)
            merged = min(merged.lowerBound, former.lowerBound)...max(merged.upperBound, former.upperBound)
            end += 1
        }
        if missing <= range.upperBound { news.append(Piece(segment: segment, sequences: missing...range.upperBound)) }
        if !news.isEmpty { ranges.replaceSubrange(position..<end, with: CollectionOfOne(merged)) }
        return news
    }
}
