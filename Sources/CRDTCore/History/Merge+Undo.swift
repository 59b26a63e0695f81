/// What changes say of the actions that they belong to, and of those that they take back.
extension Merge {
    /// Notes to which action an applied change belongs, if it says so, or if its segment hangs on another one.
    ///
    /// An undo ends those that it could have taken back: what says otherwise begins one of its own.
    /// - Complexity: O(log *n*).
    func noteAction(
        by change: Change,
        of run: Run,
        _ record: SegmentRecord,
        at point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        if let last = run.operations[change.operationRange].last, last.kind == .action,
            let statement = try? ActionStatement(decoding: run.payload[last.payloadRange])
        {
            var noted = ActionRecord(
                point: point,
                label: statement.label,
                firstSequence: point.sequence,
                start: statement.start,
                link: statement.link
            )
            if let first = try self.first(of: statement, before: point, in: &transaction) {
                var isEnded = false
                if run.operations[change.operationRange].first?.kind != .undo {
                    isEnded = try self.hasUndo(since: first, of: statement.label, record, in: &transaction)
                }
                if isEnded { noted.start = nil } else { noted.firstSequence = first.sequence }
            }
            try transaction.addAction(noted)
        } else if point.sequence == record.firstSequence, let parent = record.origin?.parent, parent.sequence > 0 {
            let label = try transaction.label(at: parent)
            if !label.isEmpty {
                try transaction.addAction(
                    ActionRecord(point: point, label: label, firstSequence: point.sequence)
                )
            }
        }
    }

    /// The change before one of its segment with which an action began, or came to the segment.
    private func first(
        of statement: ActionStatement,
        before point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        guard let start = statement.start, point.sequence > 1 else { return nil }
        var first = try transaction.firstAction(on: point.segment, startedAt: start).map {
            SegmentPoint(segment: point.segment, sequence: $0.firstSequence)
        }
        if first == nil {
            first = try transaction.change(stampedAt: start, on: point.segment, upTo: point.sequence - 1)
        }
        guard let first, try transaction.firstOfAction(at: first) == first,
            try transaction.label(at: first) == statement.label
        else { return nil }
        return first
    }

    /// Whether an undo on the segment has come since a change whose scope has the actions of a program.
    private func hasUndo(
        since first: SegmentPoint,
        of label: String,
        _ record: SegmentRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let device = record.introduction?.device
        for scope in [UndoScope(device: device, label: label), UndoScope(device: device, label: nil)]
            + [UndoScope(device: nil, label: label), UndoScope(device: nil, label: nil)]
        {
            let last = try transaction.lastUndo(in: scope, on: first.segment, upTo: record.appliedSequence)
            if let last, last.point.sequence > first.sequence { return true }
        }
        return false
    }

    /// Notes what a change says that it takes back, if it is about an earlier change of its own user.
    /// - Complexity: O(log *n*).
    func noteUndo(
        by change: Change,
        of run: Run,
        _ author: SegmentRecord,
        at point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let operation = run.operations[change.operationRange.lowerBound]
        guard let undo = try? Undo(decoding: run.payload[operation.payloadRange]),
            let device = author.introduction?.device,
            let target = try self.place(undo.target, author, seenBy: point, in: &transaction)
        else { return }
        let own = UndoScope(device: device, label: try transaction.label(at: point))
        let scope = undo.scope ?? own
        let word = try transaction.undo(at: target)
        var subject = UndoSubject(change: target)
        let action: SegmentPoint
        if undo.isRedo {
            guard let word, !word.isRedo, undo.merge == nil else { return }
            (subject, action) = (word.subject, word.action)
        } else if let named = undo.merge {
            let merge = try self.place(named, author, seenBy: point, in: &transaction)
            guard let merge,
                transaction.progress(of: merge.segment).branch == author.branch,
                transaction.progress(of: target.segment).branch != author.branch,
                transaction.branches.lastMerging(on: merge.segment, after: merge.sequence - 1, through: merge.sequence)
                    != nil
            else { return }
            (subject.merge, action) = (merge, try transaction.firstOfAction(at: merge))
        } else {
            guard word == nil else { return }
            action = try transaction.firstOfAction(at: target)
        }
        let doer = transaction.segment(action.segment).introduction?.device
        guard scope.contains(doer), try scope.contains(label: transaction.label(at: action)) else { return }
        var next: SegmentPoint?
        if let named = undo.next { next = try self.place(named, author, seenBy: point, in: &transaction) }
        let record = UndoRecord(
            point: point,
            subject: subject,
            target: target,
            isRedo: undo.isRedo,
            action: action,
            scope: scope,
            next: next
        )
        try transaction.addUndo(record)
    }

    /// A change of the author's own user that he had seen.
    private func place(
        _ named: NamedChange,
        _ author: SegmentRecord,
        seenBy point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        let place = try transaction.place(of: named.replica, sequence: named.sequence, hash: named.hash)
        guard let place, place.sequence > 0, let user = author.introduction?.user,
            transaction.segment(place.segment).introduction?.user == user
        else { return nil }
        let seen = place.segment == point.segment ? point.sequence - 1 : author.context[place.segment]
        return place.sequence <= seen ? place : nil
    }
}
