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
    /// merged by changes that it has seen.
    private static func loggedContext(
        at last: SegmentPoint,
        _ known: inout [SegmentPoint: [SegmentIndex: UInt64]],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentIndex: UInt64] {
        if let found = known[last] { return found }
        let record = transaction.segment(last.segment)
        var seen: [SegmentIndex: UInt64] = [:]
        if let parent = record.origin?.parent, parent.sequence > 0 {
            seen = try self.loggedContext(at: parent, &known, in: &transaction)
            try self.cover(parent, in: &seen, &known, of: &transaction)
        }
        var before = record.firstSequence - 1
        while before < last.sequence {
            // All at once where nobody says anything of branches.
            let through = transaction.branches.hasMergings ? before + 1 : last.sequence
            let merged = transaction.branches.mergings(on: last.segment, after: before, through: through)
            for point in try transaction.contexts(of: last.segment, after: before, through: through) {
                guard let named = try transaction.place(of: point) else { continue }
                let branch = transaction.progress(of: named.segment).branch
                guard branch == record.branch || merged.contains(where: { $0.branch == branch }) else { continue }
                try self.cover(named, in: &seen, &known, of: &transaction)
            }
            before = through
        }
        known[last] = seen
        return seen
    }

    private static func cover(
        _ place: SegmentPoint,
        in seen: inout [SegmentIndex: UInt64],
        _ known: inout [SegmentPoint: [SegmentIndex: UInt64]],
        of transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var next: SegmentPoint? = place
        while let place = next, place.sequence > 0 {
            let before = seen[place.segment] ?? 0
            seen[place.segment] = max(before, place.sequence)
            next = transaction.segment(place.segment).origin?.parent
            guard before < place.sequence else { continue }
            let mergings = transaction.branches.mergings(on: place.segment, after: before, through: place.sequence)
            guard let last = mergings.last?.sequence else { continue }
            let merge = SegmentPoint(segment: place.segment, sequence: last)
            seen.merge(try self.loggedContext(at: merge, &known, in: &transaction)) { max($0, $1) }
        }
    }
}
