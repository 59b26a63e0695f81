package import CRDTCore

/// What a transaction does to the list of objects that stood at the root before a move put them anywhere.
///
/// It is settled at the end, when the moves are there.
struct Placements {
    /// Objects that the database did not have, with the stamps of their creations.
    fileprivate var new: [(object: ObjectIndex, created: Stamp?)] = []
    /// The first moves with effect that were recorded of objects.
    fileprivate var moves: [ObjectIndex: Stamp] = [:]
    /// Objects whose creation is another one, or of which some move has no effect any more.
    fileprivate var changed: [ObjectIndex] = []
    /// Whether nothing is listed, and all objects are to be looked at.
    var areUnknown = false

    mutating func noteNew(_ object: ObjectIndex, createdAt stamp: Stamp?) { self.new.append((object, stamp)) }

    mutating func noteChanged(_ object: ObjectIndex) { self.changed.append(object) }

    /// Notes a move with effect.
    mutating func note(_ move: MoveRecord) {
        let known = self.moves[move.object]
        if known.map({ move.write.stamp < $0 }) ?? true { self.moves[move.object] = move.write.stamp }
    }
}

extension SQLiteTransaction {
    /// Lists those of the objects that this transaction created, or whose moves it changed, which stood at the root
    /// before a move put them anywhere.
    ///
    /// An object stays in the list if a move comes later that has put it somewhere.
    /// - Complexity: O(*n* + *m* log *k*) for *n* new objects, and *m* others of *k* of which something has changed.
    func listUnplaced() throws(StoreError) {
        var unplaced: [UInt32: UInt64] = [:]
        func list(_ object: ObjectIndex) { unplaced[object.rawValue >> 6, default: 0] |= 1 << (object.rawValue & 63) }
        if self.placements.areUnknown {
            for object in try self.statements[.allUnplaced].rows(read: { $0.object(0) }) { list(object) }
        } else {
            for (object, created) in self.placements.new
            where created == nil || self.placements.moves[object] != created { list(object) }
            for object in self.placements.changed where try self.isUnplaced(object) { list(object) }
        }
        self.placements = Placements()
        guard !unplaced.isEmpty else { return }
        let statement = try self.statements[.insertUnplaced]
        for (block, objects) in unplaced.sorted(by: { $0.key < $1.key }) {
            try statement.run(block, objects)
        }
    }

    private func isUnplaced(_ object: ObjectIndex) throws(StoreError) -> Bool {
        try self.statements[.isUnplaced].first(object) { $0.bool(0) } ?? false
    }

    /// The objects that are listed.
    func unplacedObjects() throws(StoreError) -> [ObjectIndex] {
        let statement = try self.statements[.unplacedObjects]
        defer { statement.reset() }
        var found: [ObjectIndex] = []
        while try statement.step() {
            let (block, objects) = (statement.uint32(0), statement.bits(1))
            for place in 0..<64 as Range<UInt32> where objects >> place & 1 == 1 {
                found.append(ObjectIndex(rawValue: block << 6 | place))
            }
        }
        return found
    }

    /// Whether an object is not listed that stood at the root before a move put it anywhere, so that root listings of
    /// the past leave it out.
    ///
    /// Reads all objects.
    package func hasUnlistedPlace() throws(StoreError) -> Bool {
        try self.statements[.hasUnlistedPlace].first { $0.bool(0) } ?? false
    }
}
