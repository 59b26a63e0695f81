internal import CRDTCore

extension StateChecks {
    /// P12: what each line has seen is what its log says, read from the beginning.
    static func contexts(in transaction: inout some StoreTransaction) throws(StoreError) -> String? {
        for position in 0..<transaction.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            let record = transaction.line(index)
            guard record.progress.hasApplied else { continue }
            let last = LinePoint(line: index, sequence: record.appliedSequence)
            let logged = try self.loggedContext(at: last, in: &transaction)
            let kept = Dictionary(uniqueKeysWithValues: record.context.all.map { ($0.line, $0.sequence) })
            if kept != logged {
                let line = kept.keys.first { kept[$0] != logged[$0] } ?? logged.keys.first { kept[$0] != logged[$0] }
                guard let line else { continue }
                return "\(record.id) branch \(position) is said to have seen \(kept[line] ?? 0) of branch "
                    + "\(line.rawValue), and has seen \(logged[line] ?? 0)"
            }
        }
        return nil
    }

    private static func loggedContext(
        at last: LinePoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [LineIndex: UInt64] {
        var way = [last]
        while let parent = way.last.flatMap({ transaction.line($0.line).origin?.parent }), parent.sequence > 0 {
            way.append(parent)
        }
        var seen: [LineIndex: UInt64] = [:]
        func cover(_ place: LinePoint, in transaction: borrowing some StoreTransaction) {
            var next: LinePoint? = place
            while let place = next, place.sequence > 0 {
                seen[place.line] = max(seen[place.line] ?? 0, place.sequence)
                next = transaction.line(place.line).origin?.parent
            }
        }
        for place in way.reversed() {
            let before = transaction.line(place.line).firstSequence - 1
            for point in try transaction.contexts(of: place.line, after: before, through: place.sequence) {
                if let named = try transaction.place(of: point) { cover(named, in: transaction) }
            }
            if place != last { cover(place, in: transaction) }
        }
        return seen
    }
}
