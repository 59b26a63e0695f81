/// How far each line of a store was seen: a sequence for each, 0 where nothing of it was.
///
/// Most contexts see few lines, and a row of numbers is all they need. Larger ones are trees whose parts are shared: a
/// fork has seen what the change that it leaves had seen, and a member can have as many forks as he likes leave a
/// change that has seen as many lines as he likes. A copy costs nothing, and what it learns on top costs that alone.
package struct SeenLines: Sendable {
    /// The sequences of the first lines, if no others were seen.
    private var row: [UInt64] = []
    /// All that were seen, if others were.
    private var tree: SeenTree?

    /// Up to so many lines are kept in a row.
    private static let rowCountMax = 64

    package init() {}

    /// Whether nothing was seen.
    package var isEmpty: Bool { self.row.isEmpty && self.tree == nil }

    /// Whether others can share parts of it, and so had better be made from it.
    var isLarge: Bool { self.tree != nil }

    /// The number above that of the last line that was seen.
    package var endOfLines: Int { self.tree?.endOfLines ?? self.row.count }

    /// How far a line was seen; 0 if it was not.
    ///
    /// - Complexity: O(1) in a row, else O(log *n*) for the highest line *n*.
    package subscript(line: LineIndex) -> UInt64 {
        if let tree { return tree[line.rawValue] }
        let position = Int(line.rawValue)
        return position < self.row.count ? self.row[position] : 0
    }

    /// The lines that were seen, in ascending order, and how far.
    package var all: [(line: LineIndex, sequence: UInt64)] {
        if let tree { return tree.all }
        return self.row.indices.filter { self.row[$0] > 0 }.map { (LineIndex(rawValue: UInt32($0)), self.row[$0]) }
    }

    /// The first line, from one on, that was seen farther than by others.
    ///
    /// - Complexity: O(log *n*) for the highest line *n*, and O(1) for each line that has to be looked at and that is
    ///   not in a part which both share.
    package func next(from line: LineIndex, beyond others: SeenLines) -> LineIndex? {
        if let tree = self.tree {
            if let other = others.tree {
                return tree.next(from: line.rawValue, beyond: other).map { LineIndex(rawValue: $0) }
            }
            var next = tree.next(from: line.rawValue, beyond: SeenTree())
            while let found = next {
                let index = LineIndex(rawValue: found)
                if tree[found] > others[index] { return index }
                next = found < .max ? tree.next(from: found + 1, beyond: SeenTree()) : nil
            }
            return nil
        }
        var position = Int(line.rawValue)
        while position < self.row.count {
            let index = LineIndex(rawValue: UInt32(position))
            if self.row[position] > others[index] { return index }
            position += 1
        }
        return nil
    }

    /// Takes in that a line was seen up to a sequence above 0; returns false if that was known.
    package mutating func raise(_ line: LineIndex, to sequence: UInt64) -> Bool {
        guard self[line] < sequence else { return false }
        let position = Int(line.rawValue)
        guard self.tree == nil, position < SeenLines.rowCountMax else {
            self.raiseInTree(line, to: sequence)
            return true
        }
        if position >= self.row.count {
            self.row.append(contentsOf: repeatElement(0, count: position + 1 - self.row.count))
        }
        self.row[position] = sequence
        return true
    }

    private mutating func raiseInTree(_ line: LineIndex, to sequence: UInt64) {
        if self.tree == nil {
            var tree = SeenTree()
            for (line, sequence) in self.all { tree.raise(line.rawValue, to: sequence) }
            self.tree = tree
            self.row = []
        }
        self.tree?.raise(line.rawValue, to: sequence)
    }

    /// These, but for one line, which was seen up to another sequence; 0 if it was not seen.
    func replacing(_ line: LineIndex, by sequence: UInt64) -> SeenLines {
        var replaced = SeenLines()
        for (other, seen) in self.all where other != line { _ = replaced.raise(other, to: seen) }
        if sequence > 0 { _ = replaced.raise(line, to: sequence) }
        return replaced
    }

    /// What was seen by both.
    package func intersection(_ others: SeenLines) -> SeenLines {
        var both = SeenLines()
        for (line, sequence) in self.all where others[line] > 0 {
            _ = both.raise(line, to: min(sequence, others[line]))
        }
        return both
    }

    /// Takes in all that others have seen.
    package mutating func formUnion(_ others: SeenLines) {
        for (line, sequence) in others.all { _ = self.raise(line, to: sequence) }
    }
}

extension SeenLines: Hashable {
    package static func == (left: SeenLines, right: SeenLines) -> Bool {
        if let left = left.tree, let right = right.tree {
            return left.isSame(as: right) || left.all.elementsEqual(right.all, by: ==)
        }
        return left.tree == nil && right.tree == nil && left.row == right.row
    }

    package func hash(into hasher: inout Hasher) {
        for (line, sequence) in self.all {
            hasher.combine(line)
            hasher.combine(sequence)
        }
    }
}

extension SeenLines: ExpressibleByArrayLiteral {
    /// The sequences of the lines from the first on.
    package init(arrayLiteral sequences: UInt64...) {
        for (position, sequence) in sequences.enumerated() where sequence > 0 {
            _ = self.raise(LineIndex(rawValue: UInt32(position)), to: sequence)
        }
    }
}
