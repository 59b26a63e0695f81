internal import CRDTCore

extension StateChecks {
    /// P12: what each segment has seen is what its log says, read from the beginning.
    static func contexts(in transaction: inout some StoreTransaction) throws(StoreError) -> String? {
        for index in transaction.segmentIndices {
            let record = transaction.segment(index)
            guard record.progress.hasApplied else { continue }
            let last = SegmentPoint(segment: index, sequence: record.appliedSequence)
            let logged = try self.loggedContext(at: last, in: &transaction)
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

    private static func loggedContext(
        at last: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentIndex: UInt64] {
        var way = [last]
        while let parent = way.last.flatMap({ transaction.segment($0.segment).origin?.parent }), parent.sequence > 0 {
            way.append(parent)
        }
        var seen: [SegmentIndex: UInt64] = [:]
        func cover(_ place: SegmentPoint, in transaction: borrowing some StoreTransaction) {
            var next: SegmentPoint? = place
            while let place = next, place.sequence > 0 {
                seen[place.segment] = max(seen[place.segment] ?? 0, place.sequence)
                next = transaction.segment(place.segment).origin?.parent
            }
        }
        for place in way.reversed() {
            let before = transaction.segment(place.segment).firstSequence - 1
            for point in try transaction.contexts(of: place.segment, after: before, through: place.sequence) {
                if let named = try transaction.place(of: point) { cover(named, in: transaction) }
            }
            if place != last { cover(place, in: transaction) }
        }
        return seen
    }
}
