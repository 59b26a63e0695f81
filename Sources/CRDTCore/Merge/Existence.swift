/// An OR-set of one element: whether an object lives.
///
/// For each segment that touched the object it keeps the last touch and how far removals have covered that segment's
/// touches. Space is bounded by the number of segments that touched the object, not by the number of deletions
/// (A. Bieniusa et al., "An Optimized Conflict-free Replicated Set", 2012).
package struct Existence: Hashable, Sendable {
    /// What is known of one segment's touches.
    package struct Entry: Hashable, Sendable {
        package var segment: SegmentIndex
        package var touched: ChainOrdinal
        package var removed: ChainOrdinal

        package init(segment: SegmentIndex, touched: ChainOrdinal, removed: ChainOrdinal) {
            self.segment = segment
            self.touched = touched
            self.removed = removed
        }
    }

    // Most objects are touched by one segment only; that one needs no array.
    private var first: Entry?
    private var others: [Entry] = []

    package init() {}

    /// Whether some touch is not covered by a removal.
    package var isAlive: Bool {
        guard let first = self.first else { return false }
        return first.touched > first.removed || self.others.contains { $0.touched > $0.removed }
    }

    /// Whether a removal covers a write.
    package func hasRemoved(_ write: WriteReference) -> Bool {
        self.entries.contains { $0.segment == write.segment && $0.removed >= write.ordinal }
    }

    /// All entries, in the order in which the segments first touched the object here.
    package var entries: [Entry] {
        self.first.map { [$0] + self.others } ?? []
    }

    /// Puts back an entry as a store kept it.
    package mutating func restore(_ entry: Entry) {
        if self.first == nil {
            self.first = entry
        } else {
            self.others.append(entry)
        }
    }

    /// A creation, a write or a move keeps the object, or brings it to life.
    package mutating func touch(by segment: SegmentIndex, at ordinal: ChainOrdinal) {
        guard let first = self.first else {
            self.first = Entry(segment: segment, touched: ordinal, removed: .zero)
            return
        }
        if first.segment == segment {
            self.first?.touched = max(first.touched, ordinal)
        } else if let position = self.others.firstIndex(where: { $0.segment == segment }) {
            self.others[position].touched = max(self.others[position].touched, ordinal)
        } else {
            self.others.append(Entry(segment: segment, touched: ordinal, removed: .zero))
        }
    }

    /// A deletion removes exactly the touches its context covers.
    ///
    /// Causal delivery has brought all of those before it.
    package mutating func remove(coveredBy context: CausalContext) {
        if let entry = self.first {
            self.first?.removed = max(entry.removed, min(entry.touched, context.end(of: entry.segment)))
        }
        for position in self.others.indices {
            let entry = self.others[position]
            self.others[position].removed = max(entry.removed, min(entry.touched, context.end(of: entry.segment)))
        }
    }
}
