/// What changes say of the actions that they belong to.
package protocol ActionRows {
    mutating func addAction(_ record: ActionRecord) throws(StoreError)
    /// The last statement on a segment, up to a sequence.
    mutating func lastAction(on segment: SegmentIndex, upTo sequence: UInt64) throws(StoreError) -> ActionRecord?
    /// The same of one program.
    mutating func lastAction(
        of label: String,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> ActionRecord?
    /// The first statement on a segment that names a start of its action.
    mutating func firstAction(on segment: SegmentIndex, startedAt start: Stamp) throws(StoreError) -> ActionRecord?
    /// The first statement on a segment after a sequence.
    mutating func firstAction(on segment: SegmentIndex, after sequence: UInt64) throws(StoreError) -> ActionRecord?
    /// The last change of an action that began with a change, before a sequence; nil if only that change is.
    mutating func lastPiece(of first: SegmentPoint, before sequence: UInt64) throws(StoreError) -> SegmentPoint?
}

/// What an applied change says of its action.
package struct ActionRecord: Hashable, Sendable {
    package var point: SegmentPoint
    /// The name of the program that made it, and those after it that say nothing.
    package var label: String
    /// The change of its segment with which the action began, or came to the segment.
    package var firstSequence: UInt64
    /// The stamp of the change with which the action began, as the change says; nil if it begins here.
    package var start: Stamp?
    /// What it has to do with the change of the action that comes before it in the order of writes.
    package var link: ActionLink

    package init(
        point: SegmentPoint,
        label: String,
        firstSequence: UInt64,
        start: Stamp? = nil,
        link: ActionLink = .follows
    ) {
        (self.point, self.label, self.firstSequence) = (point, label, firstSequence)
        (self.start, self.link) = (start, link)
    }
}

extension StoreTransaction {
    /// The name of the program that made an applied change.
    package mutating func label(at point: SegmentPoint) throws(StoreError) -> String {
        try self.lastAction(on: point.segment, upTo: point.sequence)?.label ?? ""
    }

    /// The change of its segment with which the action of an applied change began, or came to the segment.
    package mutating func firstOfAction(at point: SegmentPoint) throws(StoreError) -> SegmentPoint {
        let record = try self.lastAction(on: point.segment, upTo: point.sequence)
        guard let record, record.point == point else { return point }
        return SegmentPoint(segment: point.segment, sequence: record.firstSequence)
    }

    /// What a change has to do with the change of its action before it, which is in another circle.
    mutating func actionLink(at point: SegmentPoint) throws(StoreError) -> ActionLink {
        let record = try self.lastAction(on: point.segment, upTo: point.sequence)
        return record.flatMap { $0.point == point ? $0.link : nil } ?? .follows
    }

    /// The stamp of the change with which the action of a change began, in whatever circle; nil if that is not here.
    mutating func actionStart(of point: SegmentPoint) throws(StoreError) -> Stamp? {
        let record = try self.lastAction(on: point.segment, upTo: point.sequence)
        if let record, record.point == point, let start = record.start { return start }
        return try self.header(at: self.firstOfAction(at: point))?.stamp
    }

    /// Whether a change says again what somebody wrote where an object was moved from.
    package mutating func isCarriedOver(at point: SegmentPoint) throws(StoreError) -> Bool {
        let record = try self.lastAction(on: point.segment, upTo: point.sequence)
        guard let record else { return false }
        return record.label == LeftWrite.label || record.point == point && record.link == .carriesOver
    }

    /// The action by which a device has made a write, or merged it into the main timeline: the name of the program, and
    /// the stamp of the change with which it began.
    ///
    /// - Returns: nil if another device has, or if the write takes something back, or does it again.
    /// - Complexity: O(*n* *s*) for *n* merges and *s* segments if it was made on a branch.
    package mutating func action(
        of write: SegmentPoint,
        by device: DeviceID
    ) throws(StoreError) -> (label: String, start: Stamp)? {
        guard try self.undo(at: write) == nil else { return nil }
        let isOnBranch = self.progress(of: write.segment).branch != nil
        let point = isOnBranch ? try self.merge(ofBranchWith: write) : write
        guard let point, self.segment(point.segment).device == device, let start = try self.actionStart(of: point)
        else { return nil }
        return (try self.label(at: self.firstOfAction(at: point)), start)
    }

    /// The first change that has merged a write of a branch into the main timeline.
    private mutating func merge(ofBranchWith write: SegmentPoint) throws(StoreError) -> SegmentPoint? {
        var first: WriteReference?
        for segment in self.segmentIndices where self.progress(of: segment).branch == nil {
            let end = self.progress(of: segment).countedSequence
            for merging in self.branches.mergings(on: segment, after: 0, through: end) {
                let point = SegmentPoint(segment: segment, sequence: merging.sequence)
                guard try self.closure(of: [point])[write.segment] >= write.sequence else { continue }
                let merge = try self.firstOperation(of: point)
                if first.map({ WriteOrder.precedes(merge, $0, self) }) ?? true { first = merge }
                break
            }
        }
        return first?.point
    }

    /// The change with which the action began that came to a segment with a change; nil if it began there, or if that
    /// is not here.
    ///
    /// `segments`: where it may have begun, with the last sequence of each that counts.
    /// - Complexity: O(*s* log *n*) for *s* segments of *n* changes.
    mutating func start(
        ofActionAt first: SegmentPoint,
        among segments: [SegmentIndex: UInt64]
    ) throws(StoreError) -> SegmentPoint? {
        let record = try self.lastAction(on: first.segment, upTo: first.sequence)
        guard let record, record.point == first, let start = record.start else { return nil }
        let device = self.segment(first.segment).device
        for (segment, end) in segments.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where segment != first.segment && self.segment(segment).device == device {
            guard let found = try self.change(stampedAt: start, on: segment, upTo: end),
                try self.firstOfAction(at: found) == found, try self.label(at: found) == record.label,
                try WriteOrder.precedes(self.firstOperation(of: found), self.firstOperation(of: first), self)
            else { continue }
            return found
        }
        return nil
    }

    /// The change of a segment that its author has stamped so; nil if there is none up to a sequence.
    ///
    /// - Complexity: O(log *n*) in the changes of the segment.
    mutating func change(
        stampedAt stamp: Stamp,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> SegmentPoint? {
        var (first, end) = (self.progress(of: segment).firstSequence, sequence + 1)
        while first < end {
            let middle = SegmentPoint(segment: segment, sequence: first + (end - first) / 2)
            guard let found = try self.header(at: middle)?.stamp else { return nil }
            if found == stamp { return middle }
            if found < stamp { first = middle.sequence + 1 } else { end = middle.sequence }
        }
        return nil
    }

    /// The last change of a segment that a program has made, up to a sequence.
    mutating func lastChange(
        by label: String,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> SegmentPoint? {
        let first = self.progress(of: segment).firstSequence
        guard sequence >= first else { return nil }
        let own = try self.lastAction(of: label, on: segment, upTo: sequence)
        // A chain begins with changes of the program that has no name.
        guard own != nil || label.isEmpty else { return nil }
        let next = try self.firstAction(on: segment, after: own?.point.sequence ?? 0)
        let last = min(sequence, next.map { $0.point.sequence - 1 } ?? .max)
        return last >= first ? SegmentPoint(segment: segment, sequence: last) : nil
    }
}

/// Statements about actions in memory.
struct MemoryActions: Sendable {
    /// In the order of their sequences.
    private var records: [SegmentIndex: [ActionRecord]] = [:]

    mutating func add(_ record: ActionRecord) {
        var all = self.records[record.point.segment] ?? []
        let place = all.firstPosition { $0.point.sequence >= record.point.sequence }
        guard place == all.endIndex || all[place].point != record.point else { return }
        all.insert(record, at: place)
        self.records[record.point.segment] = all
    }

    func last(
        on segment: SegmentIndex,
        upTo sequence: UInt64,
        where isWanted: (ActionRecord) -> Bool = { _ in true }
    ) -> ActionRecord? {
        self.records[segment]?.last { $0.point.sequence <= sequence && isWanted($0) }
    }

    func first(on segment: SegmentIndex, after sequence: UInt64) -> ActionRecord? {
        self.records[segment]?.first { $0.point.sequence > sequence }
    }

    func first(on segment: SegmentIndex, startedAt start: Stamp) -> ActionRecord? {
        self.records[segment]?.first { $0.start == start }
    }
}

extension MemoryTransaction {
    package mutating func addAction(_ record: ActionRecord) { self.actions.add(record) }

    package mutating func lastAction(on segment: SegmentIndex, upTo sequence: UInt64) -> ActionRecord? {
        self.actions.last(on: segment, upTo: sequence)
    }

    package mutating func lastAction(
        of label: String,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) -> ActionRecord? {
        self.actions.last(on: segment, upTo: sequence) { $0.label == label }
    }

    package mutating func firstAction(on segment: SegmentIndex, after sequence: UInt64) -> ActionRecord? {
        self.actions.first(on: segment, after: sequence)
    }

    package mutating func firstAction(on segment: SegmentIndex, startedAt start: Stamp) -> ActionRecord? {
        self.actions.first(on: segment, startedAt: start)
    }

    package mutating func lastPiece(of first: SegmentPoint, before sequence: UInt64) -> SegmentPoint? {
        guard sequence > first.sequence else { return nil }
        let last = self.actions.last(on: first.segment, upTo: sequence - 1) {
            $0.firstSequence == first.sequence && $0.point != first
        }
        return last?.point
    }
}
