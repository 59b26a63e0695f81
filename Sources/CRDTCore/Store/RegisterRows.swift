/// Registers and their earlier or concurrent writes; also the creations and deletions of objects.
package protocol RegisterRows {
    mutating func register(_ key: RegisterKey) throws(StoreError) -> Register?
    mutating func setRegister(_ register: Register, at key: RegisterKey) throws(StoreError)
    /// Records a write that is not in force.
    mutating func addVersion(
        _ write: WriteReference,
        status: VersionStatus,
        at key: RegisterKey
    ) throws(StoreError)
    mutating func setVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) throws(StoreError)
    /// Gives a write another stamp, if it is recorded.
    mutating func restampVersion(_ write: WriteReference, to stamp: Stamp, at key: RegisterKey) throws(StoreError)
    /// Takes out a recorded write.
    mutating func removeVersion(_ write: WriteReference, at key: RegisterKey) throws(StoreError)
    /// The writes recorded with `.conflict`, in no particular order.
    mutating func conflicts(at key: RegisterKey) throws(StoreError) -> [WriteReference]
    /// Those on the first segment, from one on, that has any; all conflicts of a segment are in one place.
    mutating func firstConflicts(at key: RegisterKey, from segment: SegmentIndex) throws(StoreError) -> [WriteReference]
    /// All registers of an object, in no particular order.
    mutating func registers(of object: ObjectIndex) throws(StoreError) -> [(NameIndex, Register)]
    /// Takes away everything that is recorded of a register, or of a name that stands for something else.
    mutating func removeRegister(_ key: RegisterKey) throws(StoreError)
    /// Of the recorded writes to a property up to a stamp that are wanted, all with the highest stamp that any has.
    ///
    /// - Complexity: O(log *n* + *k*) for *k* later ones that are not wanted.
    mutating func lastWrites(
        at key: RegisterKey,
        through stamp: Stamp,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference]
    /// The recorded deletions of an object, in no particular order.
    mutating func deletions(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// Every operation on an object that is recorded, moves and creations and deletions included, in no particular
    /// order.
    mutating func history(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// The applied creations of an object with their effective stamps, in no particular order; none if there is one.
    mutating func creations(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// The highest stamp of the recorded operations on an object.
    mutating func lastStamp(of object: ObjectIndex) throws(StoreError) -> Stamp
    /// The objects with several applied creations that differ in type or kind, in no particular order.
    mutating func objectsWithDifferentCreations() throws(StoreError) -> [ObjectIndex]
    /// All registers with conflicts, in no particular order.
    mutating func conflictedRegisters() throws(StoreError) -> [(RegisterKey, Register)]
    /// So many of the writes to a property that are superseded, and wanted, in no particular order.
    mutating func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference]
}
