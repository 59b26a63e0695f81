/// Where writes that were dropped stand in the order of those that are kept.
extension StoreTransaction {
    /// The highest effective stamp that dropped writes of a segment may have, as far as it counts in a view.
    ///
    /// Effective stamps rise along each segment.
    private mutating func lastStamp(of redacted: RedactedWrites, in view: HistoryView?) throws(StoreError) -> Stamp {
        let progress = self.progress(of: redacted.segment)
        let end = min(redacted.last, view?.seen?[redacted.segment] ?? .max, progress.appliedSequence)
        guard end >= progress.firstSequence else { return .zero }
        return try self.effectiveStamp(at: SegmentPoint(segment: redacted.segment, sequence: end))
    }

    /// Counts so many more dropped writes to a property, in a change with an effective stamp.
    mutating func countRedacted(
        _ count: Int64,
        in change: SegmentPoint,
        at stamp: Stamp,
        of key: RegisterKey
    ) throws(StoreError) {
        let known = try self.redactedWrites(at: key, on: change.segment)
        let redacted = RedactedWrites.adding(count, in: change, at: stamp, to: known)
        try self.setRedactedWrites(redacted, at: key, on: change.segment)
    }

    /// Counts so many less in a change.
    ///
    /// `leavingOthers`: whether others of the same property are left there.
    mutating func uncountRedacted(
        _ count: Int64,
        in change: SegmentPoint,
        of key: RegisterKey,
        leavingOthers: Bool = false
    ) throws(StoreError) {
        let known = try self.redactedWrites(at: key, on: change.segment)
        var rest = known?.removing(count, in: change, leavingOthers: leavingOthers)
        if let found = rest { rest?.lastStamp = try self.lastStamp(of: found, in: nil) }
        try self.setRedactedWrites(rest, at: key, on: change.segment)
    }

    /// How far dropped writes of a segment may count in a view: from the first one on, which counts itself; nil if none
    /// does.
    mutating func counted(
        _ redacted: RedactedWrites,
        in view: HistoryView
    ) throws(StoreError) -> (first: SegmentPoint, last: SegmentPoint)? {
        let (segment, sequence) = (redacted.segment, redacted.first)
        let counted = self.progress(of: segment).countedSequence
        guard sequence <= counted else { return nil }
        let first = SegmentPoint(segment: segment, sequence: sequence)
        let stamp = try self.effectiveStamp(at: first)
        guard view.counts(WriteReference(stamp: stamp, segment: segment, sequence: sequence, index: 0)) else {
            return nil
        }
        let end = min(redacted.last, view.seen?[segment] ?? counted)
        return (first, SegmentPoint(segment: segment, sequence: max(end, sequence)))
    }

    /// Throws `compacted` if a write that was dropped, and counts in a view, may come after the one that was found.
    ///
    /// A kept write comes after all that were dropped. Whoever has found that one, or a later one, has missed none.
    ///
    /// `view`: nil if all writes count, or nobody knows which.
    package mutating func requireKept(
        _ found: WriteReference?,
        at key: RegisterKey,
        in view: HistoryView? = nil
    ) throws(StoreError) {
        try self.requireKept(found, beside: try self.redactedWrites(at: key), in: view)
    }

    /// The same for dropped writes that a caller has, or would have.
    mutating func requireKept(
        _ found: WriteReference?,
        beside redacted: [RedactedWrites],
        in view: HistoryView?
    ) throws(StoreError) {
        for redacted in redacted {
            if let view, try self.counted(redacted, in: view) == nil { continue }
            let last = try self.lastStamp(of: redacted, in: view)
            if found.map({ $0.stamp <= last }) ?? true { throw .compacted }
        }
    }

    /// Throws `compacted` if a property may have a dropped write in a view, which does not name it as missing.
    ///
    /// - Complexity: O(*n* log *m*) for *n* properties with dropped writes.
    package mutating func requireKept(in view: HistoryView) throws(StoreError) {
        if view.namesMissing { return }
        var history = History(view)
        let keys = try self.propertiesWithRedactedWrites(after: nil, limit: .max)
        for key in keys { _ = try history.write(at: key, in: &self) }
    }

    /// The last dropped and superseded write to a property on a segment that counts.
    ///
    /// - Complexity: O(*n*) in the changes between it and the last of all.
    mutating func lastRedacted(at key: RegisterKey, on segment: SegmentIndex) throws(StoreError) -> WriteReference? {
        guard let redacted = try self.redactedWrites(at: key, on: segment) else { return nil }
        var place = SegmentPoint(
            segment: segment,
            sequence: min(redacted.last, self.progress(of: segment).countedSequence)
        )
        while place.sequence >= redacted.first {
            let run = try self.change(at: place)
            for (index, position) in run.changes[0].operationRange.enumerated().reversed() {
                let operation = run.operations[position]
                guard operation.kind == .redacted,
                    try self.objectIndex(of: run.objects[Int(operation.object)], by: segment) == key.object,
                    try self.nameIndex(of: run.name(of: operation)) == key.name
                else { continue }
                let write = WriteReference(
                    stamp: try self.effectiveStamp(at: place),
                    segment: segment,
                    sequence: place.sequence,
                    index: UInt32(index)
                )
                if try !self.isRecorded(write.ordinal, on: segment, at: key) { return write }
            }
            place.sequence -= 1
        }
        return nil
    }

    // MARK: - What they had touched

    /// The dropped writes to properties of an object.
    mutating func redactedWrites(on object: ObjectIndex) throws(StoreError) -> [RedactedWrites] {
        var found: [RedactedWrites] = []
        for name in try self.namesWithRedactedWrites(of: object) {
            found += try self.redactedWrites(at: RegisterKey(object: object, name: name))
        }
        return found
    }

    /// The properties of an object that have dropped writes, and perhaps no other.
    mutating func namesWithRedactedWrites(of object: ObjectIndex) throws(StoreError) -> [NameIndex] {
        var names: [NameIndex] = []
        var last = RegisterKey(packed: RegisterKey(object: object, name: NameIndex(rawValue: 0)).packed &- 1)
        var isFirst = object.rawValue == 0
        while true {
            let keys = try self.propertiesWithRedactedWrites(after: isFirst ? nil : last, limit: 64)
            for key in keys {
                guard key.object == object else { return names }
                names.append(key.name)
                last = key
            }
            guard keys.count == 64 else { return names }
            isFirst = false
        }
    }

    /// Whether a dropped write to an object counts in a view that none of some deletions had seen.
    ///
    /// Throws `compacted` if that cannot be known.
    mutating func isTouched(
        _ object: ObjectIndex,
        besides deletions: [CausalContext],
        in view: HistoryView
    ) throws(StoreError) -> Bool {
        var isUncertain = false
        for redacted in try self.redactedWrites(on: object) {
            guard let (first, last) = try self.counted(redacted, in: view) else { continue }
            let begin = ChainOrdinal(sequence: first.sequence, index: 0)
            if !deletions.contains(where: { $0.covers(first.segment, begin) }) { return true }
            let end = ChainOrdinal(sequence: last.sequence, index: 0)
            if !deletions.contains(where: { $0.covers(last.segment, end) }) { isUncertain = true }
        }
        if isUncertain { throw .compacted }
        return false
    }
}
