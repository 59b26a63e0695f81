/// Writes whose content was dropped, and erasures that are not done yet.
///
/// A dropped write that another has seen is in no list of versions, and only counted. One that is in force or in
/// conflict is recorded like any other; its content is missing.
package protocol RedactionRows {
    // Dropped writes.

    /// Puts a change in the place of the one that is stored, with more operations redacted; the hash is the same.
    ///
    /// `run`: that change alone.
    mutating func replaceChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError)
    /// The writes to a property that were dropped, in the order of their segments.
    mutating func redactedWrites(at key: RegisterKey) throws(StoreError) -> [RedactedWrites]
    /// Those on one segment; nil if there are none.
    mutating func redactedWrites(
        at key: RegisterKey,
        on segment: SegmentIndex
    ) throws(StoreError) -> RedactedWrites?
    mutating func setRedactedWrites(
        _ redacted: RedactedWrites?,
        at key: RegisterKey,
        on segment: SegmentIndex
    ) throws(StoreError)
    /// Puts a change in the place of the one that is stored, with fewer operations redacted; the hash is the same.
    ///
    /// `run`: that change alone. `places`: the writes in it that are stored otherwise than before.
    mutating func repairChange(
        at point: SegmentPoint,
        by run: Run,
        indexes: RunIndexes,
        places: [UInt32]
    ) throws(StoreError)
    /// Some of the properties with dropped writes, in ascending order, from behind one on.
    mutating func propertiesWithRedactedWrites(after key: RegisterKey?, limit: Int) throws(StoreError) -> [RegisterKey]

    /// How many writes of a change were dropped that are in force, in conflict, or on a branch that is neither merged
    /// nor given up.
    mutating func missingCount(in change: SegmentPoint) throws(StoreError) -> Int
    mutating func setMissingCount(_ count: Int, in change: SegmentPoint) throws(StoreError)
    /// Some of the changes that have such writes, in ascending order, from behind one on.
    mutating func changesMissingContent(after change: SegmentPoint?, limit: Int) throws(StoreError) -> [SegmentPoint]

    // Erasures.

    /// Records an erasure, unless a later one of the same property on the same segment is there, which covers more.
    mutating func addErasure(_ erasure: PendingErasure) throws(StoreError)
    mutating func removeErasure(_ erasure: PendingErasure) throws(StoreError)
    /// Those of the first property behind one that has any that do not wait, in the order of their segments; nil: from
    /// the beginning.
    mutating func erasures(after key: RegisterKey?) throws(StoreError) -> [PendingErasure]
    /// Has an erasure wait until a time.
    mutating func delayErasure(_ erasure: PendingErasure, until time: WallTime) throws(StoreError)
    /// The same for all of a segment that wait.
    mutating func delayErasures(of segment: SegmentIndex, until time: WallTime) throws(StoreError)
    /// Those that wait no longer than until a time, and all of some segments, are done next.
    mutating func releaseErasures(dueBy time: WallTime, of segments: [SegmentIndex]) throws(StoreError)
    /// What waits, segment by segment.
    mutating func waitingErasures() throws(StoreError) -> [WaitingErasures]
}
