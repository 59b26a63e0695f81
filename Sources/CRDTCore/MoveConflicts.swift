/// Moves of one object that had not seen each other: the last in order has its way, and the others are conflicts, as
/// values are, until a move has seen them.
extension Merge {
    /// Takes note of a move: what it had seen is no longer open.
    func note(
        move write: WriteReference,
        of object: ObjectIndex,
        _ context: CausalContext,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.losingMoveForgotten.isPlanted { return }
        #endif
        let move = OpenMove(line: write.line, ordinal: write.ordinal)
        let isSettled = try transaction.update(object) { record in
            if let open = record.openMove {
                guard context.covers(open.line, open.ordinal) else { return false }
            }
            record.openMove = move
            return record.otherOpenMoveCount == 0
        }
        if isSettled { return }
        let key = RegisterKey(object: object, name: .place)
        var count = try transaction.look(at: object) { $0.otherOpenMoveCount }
        for open in count > 0 ? try transaction.conflicts(at: key) : [] where context.covers(open) {
            guard count > 0 else { throw .damaged("an object has more open moves than the database counts") }
            try transaction.setVersion(open, status: .superseded, at: key)
            count -= 1
        }
        if try transaction.look(at: object, { $0.openMove }) != move {
            try transaction.addVersion(write, status: .conflict, at: key)
            count += 1
        }
        try transaction.update(object) { $0.otherOpenMoveCount = count }
    }
}

extension StoreTransaction {
    /// The moves of an object that no other move of it has seen, in order; of several the last is in force, unless it
    /// would close a cycle.
    package mutating func openMoves(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        guard let open = try self.look(at: object, { $0.openMove }) else { return [] }
        let place = LinePoint(line: open.line, sequence: open.ordinal.sequence)
        let stamp = try self.effectiveStamp(at: place)
        let key = RegisterKey(object: object, name: .place)
        var moves = try self.conflicts(at: key)
        moves.append(
            WriteReference(stamp: stamp, line: open.line, sequence: place.sequence, index: open.ordinal.index)
        )
        return moves.sorted { WriteOrder.precedes($0, $1, self) }
    }
}
