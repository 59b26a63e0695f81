internal import CRDTCore

extension StateChecks {
    /// P12: what each segment has seen is what its log says, read from the beginning.
    static func contexts(in transaction: inout some StoreTransaction) throws(StoreError) -> String? {
        var known: [SegmentPoint: [SegmentIndex: UInt64]] = [:]
        for index in transaction.segmentIndices {
            let record = transaction.segment(index)
            guard record.progress.hasApplied else { continue }
            let last = SegmentPoint(segment: index, sequence: record.appliedSequence)
            let logged = try self.loggedContext(at: last, &known, in: &transaction)
            let kept = Dictionary(uniqueKeysWithValues: record.context.all.map { ($0.segment, $0.sequence) })
            if kept != logged {
                let segment = kept.keys.first { kept[$0] != logged[$0] } ?? logged.keys.first { kept[$0] != logged[$0] }
                guard let segment else { continue }
                return "\(record.id) segment \(index.rawValue) is said to have seen \(kept[segment] ?? 0) of segment "
                    + "\(segment.rawValue), and has seen \(logged[segment] ?? 0)"
            }
        }
        return nil
    }

    /// What a change has taken in, by the log: of other timelines only what a change says that it merges, and what was
    /// merged by changes that are seen together with it.
    private static func loggedContext(
        at last: SegmentPoint,
        _ known: inout [SegmentPoint: [SegmentIndex: UInt64]],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentIndex: UInt64] {
        if let found = known[last] { return found }
        let record = transaction.segment(last.segment)
        var (seen, merges): ([SegmentIndex: UInt64], [SegmentPoint]) = ([:], [])
        if let parent = record.origin?.parent, parent.sequence > 0 {
            seen = try self.loggedContext(at: parent, &known, in: &transaction)
            self.cover(parent, in: &seen, &merges, of: transaction)
        }
        var before = record.firstSequence - 1
        while before < last.sequence {
            // All at once where nobody says anything of branches.
            let through = transaction.branches.hasMergings ? before + 1 : last.sequence
            let merged = transaction.branches.mergings(on: last.segment, after: before, through: through)
            var others: [SegmentPoint] = []
            merges = []
            for point in try transaction.contexts(of: last.segment, after: before, through: through) {
                guard let named = try transaction.place(of: point) else { continue }
                let branch = transaction.progress(of: named.segment).branch
                if branch == record.branch || merged.contains(where: { $0.branch == branch }) {
                    self.cover(named, in: &seen, &merges, of: transaction)
                } else {
                    others.append(named)
                }
            }
            for merge in merges where !others.isEmpty {
                let taken = try self.loggedContext(at: merge, &known, in: &transaction)
                for other in others where other.sequence <= taken[other.segment] ?? 0 {
                    var ignored: [SegmentPoint] = []
                    self.cover(other, in: &seen, &ignored, of: transaction)
                }
            }
            before = through
        }
        known[last] = seen
        return seen
    }

    /// Takes in a change with all before it in its chain; `merges`: those of them that merge something, as far as they
    /// are new.
    private static func cover(
        _ place: SegmentPoint,
        in seen: inout [SegmentIndex: UInt64],
        _ merges: inout [SegmentPoint],
        of transaction: borrowing some StoreTransaction
    ) {
        var next: SegmentPoint? = place
        while let place = next, place.sequence > 0 {
            let before = seen[place.segment] ?? 0
            seen[place.segment] = max(before, place.sequence)
            next = transaction.segment(place.segment).origin?.parent
            for merging in transaction.branches.mergings(on: place.segment, after: before, through: place.sequence) {
                merges.append(SegmentPoint(segment: place.segment, sequence: merging.sequence))
            }
        }
    }
}
