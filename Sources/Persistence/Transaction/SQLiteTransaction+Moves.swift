package import CRDTCore

// Stamps are unsigned, SQLite's integers are not: those with the highest bit set sort below the others there. So every
// range of stamps is read as one or two ranges of signed numbers, and ties are settled here, by replica ids.
extension SQLiteTransaction {
    package func addMove(_ move: MoveRecord) throws(StoreError) {
        let statement = try self.statements[.insertMove]
        try statement.run(move.write, move.object, move.parent, move.position.bytes, move.isEffective)
        if move.isEffective { self.placements.note(move) }
    }

    package func setMove(_ move: MoveRecord) throws(StoreError) {
        try self.statements[.setMove].run(move.write, move.isEffective)
        if !move.isEffective { self.placements.noteChanged(move.object) }
    }

    package func removeMove(
        _ write: WriteReference,
        of object: ObjectIndex
    ) throws(StoreError) -> WriteReference? {
        self.placements.noteChanged(object)
        return try self.statements[.deleteMove].first(write, object) { _ in write }
    }

    package func objectsWithOpenMoves() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.objectsWithOpenMoves].rows { $0.object(0) }
    }

    package func moves(after write: WriteReference) throws(StoreError) -> [MoveRecord] {
        var moves: [MoveRecord] = []
        let statement = try self.statements[.movesInRange]
        defer { statement.reset() }
        for range in SignedRange.from(write.stamp) {
            statement.bindAll(range.lowerBound, range.upperBound)
            while try statement.step() {
                let move = try self.move(statement)
                if self.precedes(write, move.write) { moves.append(move) }
            }
            statement.reset()
        }
        // They are in the order of their stamps already; ties are not.
        return moves.sorted { self.precedes($0.write, $1.write) }
    }

    package func moveCount(from stamp: Stamp, upTo limit: Int) throws(StoreError) -> Int {
        let statement = try self.statements[.movesInRange]
        defer { statement.reset() }
        var count = 0
        for range in SignedRange.from(stamp) {
            statement.bindAll(range.lowerBound, range.upperBound)
            while count < limit, try statement.step() { count += 1 }
            statement.reset()
        }
        return count
    }

    package func lastEffectiveMove(
        of object: ObjectIndex,
        before write: WriteReference
    ) throws(StoreError) -> MoveRecord? {
        try self.lastMove(of: object, isEffective: true, before: write)
    }

    package func lastEffectiveMove(
        of object: ObjectIndex,
        through stamp: Stamp
    ) throws(StoreError) -> MoveRecord? {
        try self.flush()
        return try self.lastMove(of: object, isEffective: true, through: stamp, before: nil)
    }

    package func moves(of object: ObjectIndex) throws(StoreError) -> [MoveRecord] {
        try self.flush()
        return try self.statements[.allMovesOfObject].rows(object) { row throws(StoreError) in try self.move(row) }
    }

    package func objectsEverBelow(_ parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let moved = try self.statements[.objectsMovedBelow].rows(parent) { $0.object(0) }
        if parent != nil { return moved }
        // All begin at the root; most are put elsewhere as they are created.
        try self.listUnplaced()
        return Array(Set(moved).union(try self.unplacedObjects()))
    }

    package func movesWithoutEffect() throws(StoreError) -> [MoveRecord] {
        var found: [MoveRecord] = []
        for object in try self.statements[.objectsWithoutEffect].rows(read: { $0.object(0) }) {
            guard let move = try self.lastMove(of: object, isEffective: false, before: nil) else { continue }
            let effective = try self.lastMove(of: object, isEffective: true, before: nil)
            if let effective, self.precedes(move.write, effective.write) { continue }
            found.append(move)
        }
        return found.sorted { self.precedes($0.write, $1.write) }
    }

    /// The last move of an object, of those with effect or of those without, before a write if one is given.
    private func lastMove(
        of object: ObjectIndex,
        isEffective: Bool,
        through stamp: Stamp = Stamp(rawValue: .max),
        before write: WriteReference?
    ) throws(StoreError) -> MoveRecord? {
        let statement = try self.statements[.movesOfObject]
        defer { statement.reset() }
        for range in SignedRange.upTo(write?.stamp ?? stamp) {
            statement.bindAll(object, isEffective, range.lowerBound, range.upperBound)
            // Rows come with falling stamps; among those with the highest that has any, the last one is wanted.
            var best: MoveRecord?
            while try statement.step() {
                let move = try self.move(statement)
                if let best, best.write.stamp != move.write.stamp { break }
                if let write, !self.precedes(move.write, write) { continue }
                if best.map({ self.precedes($0.write, move.write) }) ?? true { best = move }
            }
            if let best { return best }
            statement.reset()
        }
        return nil
    }

    private func precedes(_ left: WriteReference, _ right: WriteReference) -> Bool {
        WriteOrder.precedes(left, right, self)
    }

    private func move(_ statement: Statement) throws(StoreError) -> MoveRecord {
        MoveRecord(
            write: try self.write(statement),
            object: statement.object(4),
            parent: statement.isNull(5) ? nil : statement.object(5),
            position: Position(bytes: statement.bytes(6)),
            isEffective: statement.bool(7)
        )
    }
}

/// Ranges of stamps as SQLite orders them.
enum SignedRange {
    /// The stamps from one on, in ascending order.
    static func from(_ stamp: Stamp) -> [ClosedRange<Int64>] {
        let signed = Int64(bitPattern: stamp.rawValue)
        return signed < 0 ? [signed ... -1] : [signed...Int64.max, Int64.min ... -1]
    }

    /// The stamps up to one, in descending order.
    static func upTo(_ stamp: Stamp) -> [ClosedRange<Int64>] {
        let signed = Int64(bitPattern: stamp.rawValue)
        return signed < 0 ? [Int64.min...signed, 0...Int64.max] : [0...signed]
    }
}
