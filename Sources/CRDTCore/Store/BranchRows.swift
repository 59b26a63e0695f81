/// The branches of the workspace, and what is not merged of them.
package protocol BranchRows {
    /// Every statement about a branch that is stored.
    var branches: BranchTable { get }
    mutating func addBranch(_ record: BranchRecord) throws(StoreError)
    /// Records an operation of a branch that is not merged.
    mutating func addUnmerged(_ operation: UnmergedOperation) throws(StoreError)
    /// Forgets those of one change on an object.
    mutating func removeUnmerged(_ point: SegmentPoint, of object: ObjectIndex) throws(StoreError)
    /// Those at a key, in the order of their segments and sequences.
    mutating func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation]
    /// The last one at a key on a segment, up to a sequence.
    mutating func lastUnmerged(
        at key: RegisterKey,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation?
    /// Those on an object.
    mutating func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation]
    /// The objects that some of them put below a parent (nil: the root).
    mutating func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]

    /// Notes that a change of the main timeline had seen a segment of a branch up to a sequence when it merged it.
    ///
    /// It is for programs that read the tables; a store without any has nothing to do.
    mutating func noteTaken(
        _ segment: SegmentIndex,
        through sequence: UInt64,
        by change: SegmentPoint
    ) throws(StoreError)
}
