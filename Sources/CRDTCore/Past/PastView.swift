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
    /// Some changes with everything that their authors had seen.
    package mutating func closure(of points: [LinePoint]) throws(StoreError) -> SeenLines {
        var seen = SeenLines()
        for point in points {
            seen.formUnion(try self.context(at: point))
            _ = seen.raise(point.line, to: point.sequence)
        }
        return seen
    }
}
