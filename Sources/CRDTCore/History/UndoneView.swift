/// What the author of a change that takes another one back had found.
///
/// A redo puts things back below a folder that did not live even then, and so leaves a folder alone that was only kept
/// in sight.
package struct UndoneView {
    private let user: UserID
    private let context: CausalContext
    private var history: History

    /// `undo`: a change of the user that takes another one back.
    package init(
        before undo: SegmentPoint,
        by user: UserID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        self.user = user
        let seen = try transaction.seen(before: undo)
        self.history = History(try HistoryView(seen: seen, in: &transaction))
        self.context = CausalContext(
            seen: try transaction.context(at: undo),
            author: undo.segment,
            ordinal: .end(ofSequence: undo.sequence)
        )
    }

    /// Whether an object stood below a parent.
    package mutating func stood(
        _ object: ObjectIndex,
        below parent: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        try self.history.place(of: object, in: &transaction).parent == parent
    }

    /// Whether only undos and redos of the user have touched an object since, of what counts in a history.
    package func isUntouched(
        _ object: ObjectIndex,
        in history: History,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        for write in try history.operations(on: object, in: &transaction) where !self.context.covers(write) {
            let isOwn = transaction.segment(write.segment).introduction?.user == self.user
            guard isOwn, try transaction.undo(at: write.point) != nil else { return false }
        }
        return try history.lastRedactedWrites(on: object, in: &transaction).allSatisfy { last in
            self.context.covers(last.segment, ChainOrdinal(sequence: last.sequence, index: 0))
        }
    }
}
