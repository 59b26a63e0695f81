/// What changes say that they take back.
package protocol UndoRows {
    mutating func addUndo(_ undo: UndoRecord) throws(StoreError)
    /// What an applied change takes back; nil if nothing.
    mutating func undo(at point: SegmentPoint) throws(StoreError) -> UndoRecord?
    /// The first segment behind one of which some change takes a change back or does it again; nil: from the beginning.
    mutating func segmentWithUndo(
        of change: SegmentPoint,
        after segment: SegmentIndex?
    ) throws(StoreError) -> SegmentIndex?
    /// The last change of a segment, up to a sequence, that takes a change back or does it again.
    mutating func lastUndo(
        of change: SegmentPoint,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UndoRecord?
    /// The last change of a segment, up to a sequence, that takes anything of a scope (nil: of any) back, or does it
    /// again.
    mutating func lastUndo(
        in scope: UndoScope?,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UndoRecord?
}

/// A change that takes back an earlier one of its user, which its author had seen.
package struct UndoRecord: Hashable, Sendable {
    package var point: SegmentPoint
    /// What is taken back, or done again.
    package var subject: UndoSubject
    /// What is reversed: the change itself, or the undo of it.
    package var target: SegmentPoint
    package var isRedo: Bool
    /// The change with which the action began that is taken back, or done again: of the change itself, or of the merge
    /// that had brought it.
    package var action: SegmentPoint
    package var scope: UndoScope
    /// With which change the action begins that is taken back next in the scope, or done again next if this is a redo,
    /// or the edit that bars that; nil if there is nothing.
    package var next: SegmentPoint?

    /// Whether what it is about is taken back then.
    package var isTakenBack: Bool { !self.isRedo }

    package init(
        point: SegmentPoint,
        subject: UndoSubject,
        target: SegmentPoint,
        isRedo: Bool,
        action: SegmentPoint,
        scope: UndoScope,
        next: SegmentPoint?
    ) {
        (self.point, self.subject, self.target, self.action) = (point, subject, target, action)
        (self.isRedo, self.scope, self.next) = (isRedo, scope, next)
    }
}

/// Undos in memory.
struct MemoryUndos: Sendable {
    private var records: [SegmentPoint: UndoRecord] = [:]
    /// Of each segment the sequences of undos, in ascending order; and the same of those of one change.
    private var all: [SegmentIndex: [UInt64]] = [:]
    private var sequences: [SegmentPoint: [SegmentIndex: [UInt64]]] = [:]

    mutating func add(_ undo: UndoRecord) {
        guard self.records.updateValue(undo, forKey: undo.point) == nil else { return }
        let point = undo.point
        Self.insert(point.sequence, into: &self.all[point.segment, default: []])
        let change = undo.subject.change
        Self.insert(point.sequence, into: &self.sequences[change, default: [:]][point.segment, default: []])
    }

    private static func insert(_ sequence: UInt64, into sequences: inout [UInt64]) {
        sequences.insert(sequence, at: sequences.lastIndex { $0 < sequence }.map { $0 + 1 } ?? 0)
    }

    subscript(point: SegmentPoint) -> UndoRecord? { self.records.isEmpty ? nil : self.records[point] }

    func last(of change: SegmentPoint, on segment: SegmentIndex, upTo sequence: UInt64) -> UndoRecord? {
        guard let last = self.sequences[change]?[segment]?.last(where: { $0 <= sequence }) else { return nil }
        return self.records[SegmentPoint(segment: segment, sequence: last)]
    }

    func segment(of change: SegmentPoint, after segment: SegmentIndex?) -> SegmentIndex? {
        let segments = (self.sequences[change] ?? [:]).keys.map(\.rawValue)
        return segments.filter { number in segment.map { $0.rawValue < number } ?? true }.min()
            .map { SegmentIndex(rawValue: $0) }
    }

    func last(in scope: UndoScope?, on segment: SegmentIndex, upTo sequence: UInt64) -> UndoRecord? {
        let places = self.all[segment]?.reversed().lazy.filter { $0 <= sequence }
            .map { SegmentPoint(segment: segment, sequence: $0) }
        return places?.compactMap { self.records[$0] }.first { scope == nil || $0.scope == scope }
    }
}

extension MemoryTransaction {
    package mutating func addUndo(_ undo: UndoRecord) { self.undos.add(undo) }

    package mutating func undo(at point: SegmentPoint) -> UndoRecord? { self.undos[point] }

    package mutating func lastUndo(
        of change: SegmentPoint,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) -> UndoRecord? {
        self.undos.last(of: change, on: segment, upTo: sequence)
    }

    package mutating func segmentWithUndo(of change: SegmentPoint, after segment: SegmentIndex?) -> SegmentIndex? {
        self.undos.segment(of: change, after: segment)
    }

    package mutating func lastUndo(
        in scope: UndoScope?,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) -> UndoRecord? {
        self.undos.last(in: scope, on: segment, upTo: sequence)
    }
}
