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
        let move = OpenMove(segment: write.segment, ordinal: write.ordinal)
        try transaction.update(object) { record in
            if !record.otherOpenMoves.isEmpty {
                record.otherOpenMoves.removeAll { context.covers($0.segment, $0.ordinal) }
            }
            if let open = record.openMove, !context.covers(open.segment, open.ordinal) {
                record.otherOpenMoves.append(move)
            } else {
                record.openMove = move
            }
        }
    }
}

extension StoreTransaction {
    /// The move that an object owes its place to; nil if it was never moved.
    package mutating func moveInForce(of object: ObjectIndex) throws(StoreError) -> MoveRecord? {
        try self.lastEffectiveMove(of: object, before: .end)
    }

    /// The moves of an object that no other move of it has seen, in order; of several the last is in force, unless it
    /// would close a cycle.
    package mutating func openMoves(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        let open = try self.look(at: object) { record in (record.openMove.map { [$0] } ?? []) + record.otherOpenMoves }
        var moves: [WriteReference] = []
        for move in open {
            let (sequence, index) = (move.ordinal.sequence, move.ordinal.index)
            let stamp = try self.effectiveStamp(at: SegmentPoint(segment: move.segment, sequence: sequence))
            moves.append(WriteReference(stamp: stamp, segment: move.segment, sequence: sequence, index: index))
        }
        return moves.sorted { WriteOrder.precedes($0, $1, self) }
    }
}
