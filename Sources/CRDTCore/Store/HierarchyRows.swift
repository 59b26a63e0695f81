/// Objects, their places, and all moves.
package protocol HierarchyRows {
    /// Looks at the record of an object without copying it.
    mutating func look<Result>(
        at object: ObjectIndex,
        _ body: (ObjectRecord) -> Result
    ) throws(StoreError) -> Result
    /// Changes the record of an object where it lies, and returns what the change returns.
    mutating func update<Result>(
        _ object: ObjectIndex,
        _ change: (inout ObjectRecord) -> Result
    ) throws(StoreError) -> Result
    /// How many objects show.
    mutating func visibleObjectCount() throws(StoreError) -> Int
    /// Objects that are known, whether they show or not, in ascending order of ids and circles, from behind one on.
    mutating func knownObjects(after last: CircledObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex]
    /// All objects of other circles than home, in no particular order.
    mutating func objectsOutsideOfHome() throws(StoreError) -> [ObjectIndex]
    /// What shows otherwise to who reads all circles, as far as that was looked at: it follows from the rest.
    var overlay: CircleOverlay { get set }
    /// The last commit that changed any object; 0 if there is none.
    var lastCommit: Int64 { get }
    /// Some of the objects that have changed behind a place, each with the last commit that changed it, in that order.
    mutating func changePlaces(after place: ChangePlace, limit: Int) throws(StoreError) -> [ChangePlace]

    /// Records a move that is not recorded yet.
    mutating func addMove(_ move: MoveRecord) throws(StoreError)
    /// Takes out the move that an operation is, if it is one that is recorded; returns where it stood in the order.
    mutating func removeMove(_ write: WriteReference, of object: ObjectIndex) throws(StoreError) -> WriteReference?
    /// All objects with moves that had not seen each other, and that no later move has seen, in no particular order.
    mutating func objectsWithOpenMoves() throws(StoreError) -> [ObjectIndex]
    /// Changes whether a recorded move is effective.
    mutating func setMove(_ move: MoveRecord) throws(StoreError)
    /// The recorded moves ordered after a write, ascending in (stamp, replica id, ordinal).
    mutating func moves(after write: WriteReference) throws(StoreError) -> [MoveRecord]
    /// How many recorded moves have a stamp or a later one; no more than the limit are counted.
    mutating func moveCount(from stamp: Stamp, upTo limit: Int) throws(StoreError) -> Int
    /// The last effective recorded move of an object ordered before a write.
    mutating func lastEffectiveMove(
        of object: ObjectIndex,
        before write: WriteReference
    ) throws(StoreError) -> MoveRecord?
    /// The last effective recorded move of an object up to a stamp.
    mutating func lastEffectiveMove(
        of object: ObjectIndex,
        through stamp: Stamp
    ) throws(StoreError) -> MoveRecord?
    /// All recorded moves of an object, in no particular order.
    mutating func moves(of object: ObjectIndex) throws(StoreError) -> [MoveRecord]
    /// The objects that some recorded move puts below a parent (nil: the root, where all begin), in no order.
    mutating func objectsEverBelow(_ parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]
    /// The last recorded move of each object whose last move is not effective.
    mutating func movesWithoutEffect() throws(StoreError) -> [MoveRecord]
}
