extension Merge {
    /// Notes what a change says that it takes back, if it is about an earlier change of its own user.
    ///
    /// A word about what another device has written counts only if edits come with it: one that does nothing would have
    /// that device's next undo go a step too far.
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
            let scope = undo.scope ?? author.introduction?.device.map({ .device($0) }),
            let target = try self.place(undo.target, author, seenBy: point, in: &transaction)
        else { return }
        var undone = target
        if undo.isRedo {
            guard let first = try transaction.undo(at: target), !first.isRedo else { return }
            undone = first.change
        }
        let device = transaction.segment(undone.segment).introduction?.device
        guard scope.contains(device) else { return }
        if device != author.introduction?.device {
            guard run.operations[change.operationRange].contains(where: { $0.kind.isEdit }) else { return }
        }
        var next: SegmentPoint?
        if let named = undo.next { next = try self.place(named, author, seenBy: point, in: &transaction) }
        let record = UndoRecord(point: point, change: undone, target: target, scope: scope, next: next)
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
