/// What a change that takes another one back had done to the state, as far as nobody has edited that since.
///
/// A redo takes the effect of an undo back: everything becomes exactly what it was before the undo. A later undo or
/// redo stands for what was before the change that it took back, or if that was done otherwise since, for what was
/// before itself: who did it again may have found the object gone, and nothing to write.
package struct UndoneEffect {
    private let user: UserID
    private let undo: SegmentPoint
    private let context: CausalContext
    private var before: History
    /// What counts where the redo is written, and what is taken back there.
    private var history: History
    private var state: UndoState

    /// `undo`: a change of the user that takes another one back.
    package init(
        of undo: SegmentPoint,
        by user: UserID,
        _ history: History,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        (self.undo, self.user, self.history) = (undo, user, history)
        self.state = UndoState(of: user, in: history, &transaction)
        self.before = History(try Self.view(before: undo, in: &transaction))
        self.context = CausalContext(
            seen: try transaction.context(at: undo),
            author: undo.segment,
            ordinal: .end(ofSequence: undo.sequence)
        )
    }

    /// What counted for the author of a change.
    private static func view(
        before point: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> HistoryView {
        try HistoryView(seen: try transaction.seen(before: point), in: &transaction)
    }

    /// What a change takes back, if it is one of the user.
    private func ownUndo(
        at point: SegmentPoint,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> UndoRecord? {
        guard transaction.segment(point.segment).introduction?.user == self.user else { return nil }
        return try transaction.undo(at: point)
    }

    /// What an undo or redo of the user stands for that has written something; nil for any other write.
    private mutating func former(
        of write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> HistoryView? {
        guard let undo = try self.ownUndo(at: write.point, &transaction) else { return nil }
        let isLast = try self.state.lastWord(of: write, in: &transaction) != nil
        return try Self.view(before: isLast ? undo.target : undo.point, in: &transaction)
    }

    /// The write to a property that was in force before the undo, if the property is as the undo left it.
    ///
    /// - Returns: nil if somebody has written to it since; a write of nil if there was none before.
    package mutating func write(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (before: WriteReference?, isUntouched: Bool) {
        var current = try self.history.lastWrite(at: key, in: &transaction)
        while let write = current, write.point != self.undo {
            guard let view = try self.former(of: write, in: &transaction) else { return (current, false) }
            var reader = History(view)
            current = try reader.lastWrite(at: key, in: &transaction)
        }
        guard current != nil else { return (nil, false) }
        return (try self.before.lastWrite(at: key, in: &transaction), true)
    }

    /// The move of an object that was in force before the undo, if the object stands where the undo put it.
    package mutating func move(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (before: MoveRecord?, isUntouched: Bool) {
        let moves = try self.history.moves(of: object, in: &transaction).filter(\.isEffective)
            .sorted { WriteOrder.precedes($1.write, $0.write, transaction) }
        var current = moves.first
        while let move = current, move.write.point != self.undo {
            guard let view = try self.former(of: move.write, in: &transaction) else { return (current, false) }
            current = moves.first { view.counts($0.write) }
        }
        guard current != nil else { return (nil, false) }
        return (moves.first { self.before.view.counts($0.write) }, true)
    }

    /// Whether an object stood below a parent before the undo.
    package mutating func stood(
        _ object: ObjectIndex,
        below parent: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        try self.before.place(of: object, in: &transaction).parent == parent
    }

    /// Whether an object lived before the undo, and whether only undos and redos have touched it since.
    package mutating func life(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (before: Bool, isUntouched: Bool) {
        let before = try self.before.isAlive(object, in: &transaction)
        for write in try self.history.operations(on: object, in: &transaction) where !self.context.covers(write) {
            if try self.ownUndo(at: write.point, &transaction) == nil { return (before, false) }
        }
        for last in try self.history.lastRedactedWrites(on: object, in: &transaction)
        where !self.context.covers(last.segment, ChainOrdinal(sequence: last.sequence, index: 0)) {
            return (before, false)
        }
        return (before, true)
    }
}
