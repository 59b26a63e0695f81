/// Which writes count in a state of the past: those up to a stamp, of changes that were seen.
///
/// A state of the past is the same merge over fewer changes. Their order is the one that is known now.
package struct PastView: Sendable {
    /// The last stamp that counts.
    package var lastStamp: Stamp
    /// How far each line counts; nil if all of it does.
    package var seen: SeenLines?

    /// Everything up to a time.
    package init(at time: WallTime) {
        self.lastStamp = Stamp(rawValue: Stamp(milliseconds: time.milliseconds).rawValue | 0xffff)
    }

    /// Some changes, whatever their stamps are.
    package init(seen: SeenLines) {
        self.lastStamp = Stamp(rawValue: .max)
        self.seen = seen
    }

    /// Whether a write counts.
    package func counts(_ write: WriteReference) -> Bool {
        guard write.stamp <= self.lastStamp else { return false }
        return self.seen.map { write.sequence <= $0[write.line] } ?? true
    }
}

extension StoreTransaction {
    /// Some changes with everything that their authors had seen, and the authors of that, and so on.
    ///
    /// Honest authors name all that they had seen; what others leave out is found by way of what they name.
    /// - Complexity: O(*l* log *l*) for *l* lines, and what `context(at:)` takes for each.
    package mutating func closure(of points: [LinePoint]) throws(StoreError) -> SeenLines {
        var (seen, waiting) = (SeenLines(), points)
        while let point = waiting.popLast() {
            guard seen[point.line] < point.sequence else { continue }
            self.cover(point, in: &seen)
            let context = try self.context(at: point)
            var next = context.next(from: LineIndex(rawValue: 0), beyond: seen)
            while let line = next {
                waiting.append(LinePoint(line: line, sequence: context[line]))
                guard line.rawValue < .max else { break }
                next = context.next(from: LineIndex(rawValue: line.rawValue + 1), beyond: seen)
            }
        }
        return seen
    }
}

extension StoreTransaction {
    /// The applied changes that no other applied change had seen: with all that their authors had seen, everything.
    ///
    /// - Complexity: O(*h* *l*) for *h* heads, of which there are few, and *l* lines.
    package mutating func heads() throws(StoreError) -> [LinePoint] {
        var ends: [(point: LinePoint, stamp: Stamp)] = []
        for position in 0..<self.lineCount {
            let line = LineIndex(rawValue: UInt32(position))
            let progress = self.progress(of: line)
            guard progress.hasApplied else { continue }
            ends.append((LinePoint(line: line, sequence: progress.appliedSequence), progress.appliedStamp))
        }
        // Nothing had seen a change with a stamp above its own.
        ends.sort { $0.stamp > $1.stamp }
        var (heads, seen): ([LinePoint], SeenLines) = ([], SeenLines())
        for (point, _) in ends where seen[point.line] < point.sequence {
            heads.append(point)
            seen.formUnion(try self.closure(of: [point]))
        }
        return heads
    }

    /// How far each line had come at a time.
    ///
    /// Effective stamps rise along each line, and along all that a change had seen: nothing counts that had seen
    /// something which does not.
    ///
    /// - Complexity: O(*l* log *n*) for *l* lines with *n* changes.
    package mutating func seen(through stamp: Stamp) throws(StoreError) -> SeenLines {
        var seen = SeenLines()
        for position in 0..<self.lineCount {
            let line = LineIndex(rawValue: UInt32(position))
            let progress = self.progress(of: line)
            guard progress.hasApplied else { continue }
            var (low, high) = (progress.firstSequence - 1, progress.appliedSequence)
            while low < high {
                let middle = high - (high - low) / 2
                if try self.effectiveStamp(at: LinePoint(line: line, sequence: middle)) <= stamp {
                    low = middle
                } else {
                    high = middle - 1
                }
            }
            if low >= progress.firstSequence { _ = seen.raise(line, to: low) }
        }
        return seen
    }
}
