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
    /// The change of its segment with which the action began.
    package var firstSequence: UInt64

    package init(point: SegmentPoint, label: String, firstSequence: UInt64) {
        (self.point, self.label, self.firstSequence) = (point, label, firstSequence)
    }
}

extension StoreTransaction {
    /// The name of the program that made an applied change.
    package mutating func label(at point: SegmentPoint) throws(StoreError) -> String {
        try self.lastAction(on: point.segment, upTo: point.sequence)?.label ?? ""
    }

    /// The change with which the action of an applied change began.
    package mutating func firstOfAction(at point: SegmentPoint) throws(StoreError) -> SegmentPoint {
        let record = try self.lastAction(on: point.segment, upTo: point.sequence)
        guard let record, record.point == point else { return point }
        return SegmentPoint(segment: point.segment, sequence: record.firstSequence)
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

    package mutating func lastPiece(of first: SegmentPoint, before sequence: UInt64) -> SegmentPoint? {
        guard sequence > first.sequence else { return nil }
        let last = self.actions.last(on: first.segment, upTo: sequence - 1) {
            $0.firstSequence == first.sequence && $0.point != first
        }
        return last?.point
    }
}
