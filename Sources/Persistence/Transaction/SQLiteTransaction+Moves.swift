package import CRDTCore

// Stamps are unsigned, SQLite's integers are not: those with the highest bit set sort below the others there. So every
// range of stamps is read as one or two ranges of signed numbers, and ties are settled here, by replica ids.
extension SQLiteTransaction {
    package func addMove(_ move: MoveRecord) throws(StoreError) {
        let statement = try self.statements[.insertMove]
        SQLiteTransaction.bind(move.write, to: statement)
        statement.bind(5, move.object.rawValue)
        statement.bind(6, move.parent.map { Int64($0.rawValue) })
        statement.bind(7, move.position.bytes)
        statement.bind(8, move.isEffective)
        try statement.run()
        if move.isEffective { self.placements.note(move) }
    }

    package func setMove(_ move: MoveRecord) throws(StoreError) {
        let statement = try self.statements[.setMove]
        SQLiteTransaction.bind(move.write, to: statement)
        statement.bind(5, move.isEffective)
        try statement.run()
        if !move.isEffective { self.placements.noteChanged(move.object) }
    }

    package func removeMove(
        _ write: WriteReference,
        of object: ObjectIndex
    ) throws(StoreError) -> WriteReference? {
        let statement = try self.statements[.deleteMove]
        defer { statement.reset() }
        SQLiteTransaction.bind(write, to: statement)
        statement.bind(5, object.rawValue)
        self.placements.noteChanged(object)
        return try statement.step() ? write : nil
    }

    package func objectsWithOpenMoves() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try SQLiteTransaction.indexes(try self.statements[.objectsWithOpenMoves])
    }

    package func moves(after write: WriteReference) throws(StoreError) -> [MoveRecord] {
        var moves: [MoveRecord] = []
        let statement = try self.statements[.movesInRange]
        defer { statement.reset() }
        for range in SignedRange.from(write.stamp) {
            statement.bind(1, range.lowerBound)
            statement.bind(2, range.upperBound)
            while try statement.step() {
                let move = try self.move(statement)
                if self.precedes(write, move.write) { moves.append(move) }
            }
            statement.reset()
        }
        return self.settlingTies(moves)
    }

    package func moveCount(from stamp: Stamp, upTo limit: Int) throws(StoreError) -> Int {
        let statement = try self.statements[.movesInRange]
        defer { statement.reset() }
        var count = 0
        for range in SignedRange.from(stamp) {
            statement.bind(1, range.lowerBound)
            statement.bind(2, range.upperBound)
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
        let statement = try self.statements[.allMovesOfObject]
        defer { statement.reset() }
        statement.bind(1, object.rawValue)
        var moves: [MoveRecord] = []
        while try statement.step() { moves.append(try self.move(statement)) }
        return moves
    }

    package func objectsEverBelow(_ parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        if let parent {
            let statement = try self.statements[.objectsMovedBelow]
            statement.bind(1, parent.rawValue)
            return try SQLiteTransaction.indexes(statement)
        }
        try self.listUnplaced()
        var found = Set(try SQLiteTransaction.indexes(try self.statements[.objectsMovedToRoot]))
        // All begin at the root; most are put elsewhere as they are created.
        found.formUnion(try self.unplacedObjects())
        return Array(found)
    }

    package func movesWithoutEffect() throws(StoreError) -> [MoveRecord] {
        var found: [MoveRecord] = []
        for object in try self.objectsWithoutEffect() {
            guard let move = try self.lastMove(of: object, isEffective: false, before: nil) else { continue }
            let effective = try self.lastMove(of: object, isEffective: true, before: nil)
            if let effective, self.precedes(move.write, effective.write) { continue }
            found.append(move)
        }
        return found.sorted { self.precedes($0.write, $1.write) }
    }

    private func objectsWithoutEffect() throws(StoreError) -> [ObjectIndex] {
        try SQLiteTransaction.indexes(try self.statements[.objectsWithoutEffect])
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
            statement.bind(1, object.rawValue)
            statement.bind(2, isEffective)
            statement.bind(3, range.lowerBound)
            statement.bind(4, range.upperBound)
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

    /// Orders moves that are in the order of their stamps already.
    private func settlingTies(_ moves: [MoveRecord]) -> [MoveRecord] {
        let isOrdered = zip(moves, moves.dropFirst()).allSatisfy { self.precedes($0.write, $1.write) }
        return isOrdered ? moves : moves.sorted { self.precedes($0.write, $1.write) }
    }

    /// Binds a write to four parameters: stamp, segment, sequence, index.
    static func bind(_ write: WriteReference, to statement: Statement, at first: Int32 = 1) {
        statement.bind(first, bits: write.stamp.rawValue)
        statement.bind(first + 1, write.segment.rawValue)
        statement.bind(first + 2, bits: write.sequence)
        statement.bind(first + 3, write.index)
    }

    private func move(_ statement: Statement) throws(StoreError) -> MoveRecord {
        MoveRecord(
            write: try self.write(statement),
            object: ObjectIndex(rawValue: statement.uint32(4)),
            parent: statement.isNull(5) ? nil : ObjectIndex(rawValue: statement.uint32(5)),
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
