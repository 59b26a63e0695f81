/// The log: segments, changes and operations, and the numbers that stand for ids in it.
package protocol LogRows: SegmentOrdering {
    // Numbers for ids. An id gets one when it is first asked for.

    mutating func objectIndex(of id: ObjectID, in circle: CircleIndex) throws(StoreError) -> ObjectIndex
    mutating func nameIndex(of name: String) throws(StoreError) -> NameIndex

    // Segments. Their indexes run from 0 without gaps; there are few enough to hold in memory.

    mutating func setSegment(_ record: consuming SegmentRecord, at index: SegmentIndex) throws(StoreError)
    /// Adds a segment behind the others of its replica, in the circle that its introduction names, and returns its
    /// number.
    mutating func addSegment(_ record: consuming SegmentRecord) throws(StoreError) -> SegmentIndex
    /// The first segment of a replica; nil if nothing of it was ever stored.
    func firstSegment(of id: ReplicaID) -> SegmentIndex?
    /// Where the changes of forks are. Whoever appends to the log adds them, and a failed write leaves none behind.
    var forks: ForkIndex { get set }
    /// The frontier, until a segment changes: each comparison and each greeting of a peer asks for it.
    var knownFrontier: Frontier? { get set }

    // Changes and operations, keyed (segment, sequence, index).

    /// Appends a verified run behind what is stored of its segment. `Merge` has checked that it fits. The run may be
    /// the tail of a longer one: only what its changes' ranges point at belongs to it.
    mutating func appendLog(_ run: VerifiedRun, indexes: RunIndexes) throws(StoreError)
    /// Stamp and hash of a stored change; nil if it is not stored.
    mutating func header(at point: SegmentPoint) throws(StoreError) -> ChangeHeader?
    /// What the stored changes of a segment after one sequence and up to another add to the context, in order.
    mutating func contexts(
        of segment: SegmentIndex,
        after sequence: UInt64,
        through last: UInt64
    ) throws(StoreError) -> [Point]
    /// A stored run from `sequence` on, ending at the last signature within the limits, or at the first signature there
    /// is if that lies beyond them; `signed` false asks for some changes up to the limit whether signed there or not.
    /// Nil if nothing is stored there.
    mutating func loadRun(
        of segment: SegmentIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) throws(StoreError) -> Run?
    /// One stored operation in full words; nil if it is not stored.
    mutating func edit(_ write: WriteReference) throws(StoreError) -> Edit?
    /// Whether only the hash of what a stored write has written is here.
    ///
    /// - Complexity: O(log *n*) in the log.
    mutating func isRedacted(_ write: WriteReference) throws(StoreError) -> Bool
    /// The number of the last commit that changed any object; 0 if there is none, or commits are not numbered.
    var lastCommit: Int64 { get }
}
