/// How far each segment of a store was seen: a sequence for each, 0 where nothing of it was.
///
/// Most contexts see few segments, and a row of numbers is all they need. Larger ones are trees whose parts are shared:
/// a fork has seen what the change that it leaves had seen, and a member can have as many forks as he likes leave a
/// change that has seen as many segments as he likes. A copy costs nothing, and what it learns on top costs that alone.
package struct SeenSegments: Sendable {
    /// The sequences of the first segments, if no others were seen.
    private var row: [UInt64] = []
    /// All that were seen, if others were.
    private var tree: SeenTree?

    /// Up to so many segments are kept in a row.
    private static let rowCountMax = 64

    package init() {}

    /// Whether nothing was seen.
    package var isEmpty: Bool { self.row.isEmpty && self.tree == nil }

    /// Whether others can share parts of it, and so had better be made from it.
    var isLarge: Bool { self.tree != nil }

    /// The number above that of the last segment that was seen.
    package var endOfLines: Int { self.tree?.endOfLines ?? self.row.count }

    /// How far a segment was seen; 0 if it was not.
    ///
    /// - Complexity: O(1) in a row, else O(log *n*) for the highest segment *n*.
    package subscript(segment: SegmentIndex) -> UInt64 {
        if let tree { return tree[segment.rawValue] }
        let position = Int(segment.rawValue)
        return position < self.row.count ? self.row[position] : 0
    }

    /// The segments that were seen, in ascending order, and how far.
    package var all: [(segment: SegmentIndex, sequence: UInt64)] {
        if let tree { return tree.all }
        return self.row.indices.filter { self.row[$0] > 0 }.map { (SegmentIndex(rawValue: UInt32($0)), self.row[$0]) }
    }

    /// The first segment, from one on, that was seen farther than by others.
    ///
    /// - Complexity: O(log *n*) for the highest segment *n*, and O(1) for each segment that has to be looked at and
    ///   that is not in a part which both share.
    package func next(from segment: SegmentIndex, beyond others: SeenSegments) -> SegmentIndex? {
        if let tree = self.tree {
            if let other = others.tree {
                return tree.next(from: segment.rawValue, beyond: other).map { SegmentIndex(rawValue: $0) }
            }
            var next = tree.next(from: segment.rawValue, beyond: SeenTree())
            while let found = next {
                let index = SegmentIndex(rawValue: found)
                if tree[found] > others[index] { return index }
                next = found < .max ? tree.next(from: found + 1, beyond: SeenTree()) : nil
            }
            return nil
        }
        var position = Int(segment.rawValue)
        while position < self.row.count {
            let index = SegmentIndex(rawValue: UInt32(position))
            if self.row[position] > others[index] { return index }
            position += 1
        }
        return nil
    }

    /// Takes in that a segment was seen up to a sequence above 0; returns false if that was known.
    package mutating func raise(_ segment: SegmentIndex, to sequence: UInt64) -> Bool {
        guard self[segment] < sequence else { return false }
        let position = Int(segment.rawValue)
        guard self.tree == nil, position < SeenSegments.rowCountMax else {
            self.raiseInTree(segment, to: sequence)
            return true
        }
        if position >= self.row.count {
            self.row.append(contentsOf: repeatElement(0, count: position + 1 - self.row.count))
        }
        self.row[position] = sequence
        return true
    }

    private mutating func raiseInTree(_ segment: SegmentIndex, to sequence: UInt64) {
        if self.tree == nil {
            var tree = SeenTree()
            for (segment, sequence) in self.all { tree.raise(segment.rawValue, to: sequence) }
            self.tree = tree
            self.row = []
        }
        self.tree?.raise(segment.rawValue, to: sequence)
    }

    /// These, but for one segment, which was seen up to another sequence; 0 if it was not seen.
    func replacing(_ segment: SegmentIndex, by sequence: UInt64) -> SeenSegments {
        var replaced = SeenSegments()
        for (other, seen) in self.all where other != segment { _ = replaced.raise(other, to: seen) }
        if sequence > 0 { _ = replaced.raise(segment, to: sequence) }
        return replaced
    }

    /// What was seen by both.
    package func intersection(_ others: SeenSegments) -> SeenSegments {
        var both = SeenSegments()
        for (segment, sequence) in self.all where others[segment] > 0 {
            _ = both.raise(segment, to: min(sequence, others[segment]))
        }
        return both
    }

    /// Takes in all that others have seen.
    package mutating func formUnion(_ others: SeenSegments) {
        for (segment, sequence) in others.all { _ = self.raise(segment, to: sequence) }
    }
}

extension SeenSegments: Hashable {
    package static func == (left: SeenSegments, right: SeenSegments) -> Bool {
        if let left = left.tree, let right = right.tree {
            return left.isSame(as: right) || left.all.elementsEqual(right.all, by: ==)
        }
        return left.tree == nil && right.tree == nil && left.row == right.row
    }

    package func hash(into hasher: inout Hasher) {
        for (segment, sequence) in self.all {
            hasher.combine(segment)
            hasher.combine(sequence)
        }
    }
}

extension SeenSegments: ExpressibleByArrayLiteral {
    /// The sequences of the segments from the first on.
    package init(arrayLiteral sequences: UInt64...) {
        for (position, sequence) in sequences.enumerated() where sequence > 0 {
            _ = self.raise(SegmentIndex(rawValue: UInt32(position)), to: sequence)
        }
    }
}
