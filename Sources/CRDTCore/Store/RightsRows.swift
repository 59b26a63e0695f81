/// Who may do what in the circle.
package protocol RightsRows {
    /// Every statement that is stored, and what is settled of them.
    var rights: RightsTable { get }
    /// Records where a statement is.
    mutating func addRights(_ place: StatementPlace) throws(StoreError)
    /// Takes how far segments count, which follows from what is recorded.
    mutating func setRights(_ rights: RightsTable)
}

extension StoreTransaction {
    /// Whether an operation that is stored counts by right.
    mutating func countsByRight(_ write: WriteReference) throws(StoreError) -> Bool {
        guard let ends = self.rights.limits(of: write.segment), write.sequence > ends.least else { return true }
        guard let edit = try self.edit(write) else { return false }
        return ends.allow(edit, at: write.sequence)
    }

    /// The circles that a user had left in a state of the past.
    ///
    /// - Complexity: O(*s*) for *s* statements about him in circles that he has ever left.
    mutating func circlesLeft(by user: UserID, in view: HistoryView) throws(StoreError) -> Set<CircleIndex> {
        var left: Set<CircleIndex> = []
        for number in 0..<UInt32(self.circles.count) {
            let circle = CircleIndex(rawValue: number)
            guard let rights = self.rights.rights(in: circle), rights.hasEverLeft(user) else { continue }
            var counted: Set<StatementPlace> = []
            for place in rights.places(about: user) {
                let (segment, sequence) = (place.change.segment, place.change.sequence)
                let stamp = try self.header(at: place.change)?.stamp ?? .zero
                let write = WriteReference(stamp: stamp, segment: segment, sequence: sequence, index: place.index)
                if view.counts(write) { counted.insert(place) }
            }
            if rights.hasLeft(user, by: counted.contains) { left.insert(circle) }
        }
        return left
    }
}

extension Edit {
    /// What its author must be allowed; nil for what needs no right.
    package var need: RightNeed? {
        switch self {
        case .set(_, let name, _), .unset(_, let name), .redacted(_, let name, _): .write(name)
        case .create, .move, .delete, .erase: .role(.writer)
        default: nil
        }
    }
}

extension RightEnds {
    /// How far all edits count.
    package var least: UInt64 { self.writer }

    /// Whether an edit counts in a change with a sequence.
    package func allow(_ edit: Edit, at sequence: UInt64) -> Bool {
        edit.need.map { sequence <= self.end(of: $0) } ?? true
    }

    /// Whether an operation of a run counts in a change with a sequence.
    func allow(_ operation: Operation, of run: Run, at sequence: UInt64) -> Bool {
        if sequence <= self.writer { return true }
        if operation.kind.isWrite { return sequence <= self.end(writing: run.name(of: operation)) }
        return !operation.kind.hasObject
    }

    /// The changes after the first of two ends of some kind of edit, up to the other, where they differ.
    func turned(from former: RightEnds) -> [ClosedRange<UInt64>] {
        var ranges: [ClosedRange<UInt64>] = []
        func note(_ left: UInt64, _ right: UInt64) {
            if left != right { ranges.append(min(left, right) + 1...max(left, right)) }
        }
        note(former.writer, self.writer)
        for name in Set(former.names.keys).union(self.names.keys) {
            note(former.end(writing: name.text), self.end(writing: name.text))
        }
        return ranges
    }
}

extension StoreTransaction {
    /// What of an applied change has no effect for want of a right, by what is settled.
    package mutating func rejectedEdits(of change: SegmentPoint) throws(StoreError) -> [Edit] {
        guard let ends = self.rights.limits(of: change.segment),
            change.sequence <= self.progress(of: change.segment).appliedSequence
        else { return [] }
        let run = try self.change(at: change)
        var edits: [Edit] = []
        for operation in run.operations[run.changes[0].operationRange] {
            guard let edit = try? run.edit(operation), !ends.allow(edit, at: change.sequence) else { continue }
            edits.append(edit)
        }
        return edits
    }
}
