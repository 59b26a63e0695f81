/// How far each line of a store was seen: a sequence for each, 0 where nothing of it was.
///
/// Most contexts see most of few lines, and a row of numbers is all they need. One that sees few of many keeps those
/// alone: its size follows from what its author named, and not from how many lines there are, of which a member can
/// open as many as he likes.
package struct SeenLines: Hashable, Sendable {
    /// The numbers of the lines in ascending order, if only those that were seen are kept.
    private var lines: [UInt32]?
    private var sequences: [UInt64] = []
    /// How many lines were seen.
    private var seenCount = 0

    /// Up to so many lines are kept in a row in any case.
    private static let rowCountMax = 64
    /// More are kept in a row if at least one of so many was seen.
    private static let rowCountForOneSeen = 4

    package init() {}

    /// Whether nothing was seen.
    package var isEmpty: Bool { self.seenCount == 0 }

    /// The number above that of the last line that was seen.
    package var endOfLines: Int {
        guard let lines else { return self.sequences.count }
        return lines.last.map { Int($0) + 1 } ?? 0
    }

    /// How far a line was seen; 0 if it was not.
    ///
    /// - Complexity: O(1) in a row, else O(log *n*) in the lines that were seen.
    package subscript(line: LineIndex) -> UInt64 {
        guard let lines else {
            let position = Int(line.rawValue)
            return position < self.sequences.count ? self.sequences[position] : 0
        }
        let place = SeenLines.place(of: line.rawValue, in: lines)
        return place < lines.count && lines[place] == line.rawValue ? self.sequences[place] : 0
    }

    /// The lines that were seen, in ascending order, and how far.
    package var all: [(line: LineIndex, sequence: UInt64)] {
        guard let lines else {
            return self.sequences.indices.filter { self.sequences[$0] > 0 }
                .map { (LineIndex(rawValue: UInt32($0)), self.sequences[$0]) }
        }
        return lines.indices.map { (LineIndex(rawValue: lines[$0]), self.sequences[$0]) }
    }

    /// Takes in that a line was seen up to a sequence above 0; returns false if that was known.
    package mutating func raise(_ line: LineIndex, to sequence: UInt64) -> Bool {
        self.lines == nil ? self.raiseInRow(line, to: sequence) : self.raiseAmongSeen(line, to: sequence)
    }

    private mutating func raiseInRow(_ line: LineIndex, to sequence: UInt64) -> Bool {
        let position = Int(line.rawValue)
        if position >= self.sequences.count {
            guard SeenLines.isRow(count: position + 1, seenCount: self.seenCount + 1) else {
                let seen = self.all
                self.lines = seen.map(\.line.rawValue)
                self.sequences = seen.map(\.sequence)
                return self.raiseAmongSeen(line, to: sequence)
            }
            self.sequences.append(contentsOf: repeatElement(0, count: position + 1 - self.sequences.count))
        }
        let before = self.sequences[position]
        guard before < sequence else { return false }
        if before == 0 { self.seenCount += 1 }
        self.sequences[position] = sequence
        return true
    }

    private mutating func raiseAmongSeen(_ line: LineIndex, to sequence: UInt64) -> Bool {
        guard var lines = self.lines else { return false }
        let place = SeenLines.place(of: line.rawValue, in: lines)
        if place < lines.count, lines[place] == line.rawValue {
            guard self.sequences[place] < sequence else { return false }
            self.sequences[place] = sequence
            return true
        }
        self.lines = nil
        lines.insert(line.rawValue, at: place)
        self.sequences.insert(sequence, at: place)
        self.seenCount += 1
        let count = lines.last.map { Int($0) + 1 } ?? 0
        guard SeenLines.isRow(count: count, seenCount: self.seenCount) else {
            self.lines = lines
            return true
        }
        var row = [UInt64](repeating: 0, count: count)
        for (line, sequence) in zip(lines, self.sequences) { row[Int(line)] = sequence }
        self.sequences = row
        return true
    }

    private static func isRow(count: Int, seenCount: Int) -> Bool {
        count <= self.rowCountMax || count <= self.rowCountForOneSeen * seenCount
    }

    /// Where a line is, or would be, among others.
    private static func place(of line: UInt32, in lines: [UInt32]) -> Int {
        var (low, high) = (0, lines.count)
        while low < high {
            let middle = low + (high - low) / 2
            if lines[middle] < line { low = middle + 1 } else { high = middle }
        }
        return low
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
