/// What follows from the log for whole changes: effective stamps, and contexts at some of them.
package protocol OrderRows {
    mutating func raisedStamp(at point: SegmentPoint) throws(StoreError) -> RaisedStamp?
    mutating func setRaisedStamp(_ stamp: RaisedStamp?, at point: SegmentPoint) throws(StoreError)
    /// The changes whose raised stamp follows from a change.
    mutating func raisedStamps(causedBy point: SegmentPoint) throws(StoreError) -> [SegmentPoint]
    /// The hash of a segment's last stored change, without copying its record.
    func storedHash(of index: SegmentIndex) -> Hash256
    /// Every restamp that is stored, whether it counts or not.
    var restamps: RestampTable { get }
    /// Records a restamp that is not settled: what it covers is ordered as if it were not there.
    mutating func addRestamp(_ record: RestampRecord) throws(StoreError)
    mutating func settleRestamp(_ record: RestampRecord) throws(StoreError)
    /// What is restamped by right in a replica's chain by what is settled, where that has been put together.
    func restampedChain(of replica: ReplicaID) -> RestampedChain?
    mutating func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID)
    /// Sees to it that records of segments have their contexts.
    mutating func prepareContexts() throws(StoreError)
    /// Keeps what a change had seen; see `ContextTrail`.
    mutating func setCheckpoint(_ checkpoint: Checkpoint, at place: SegmentPoint) throws(StoreError)
    /// The last checkpoint of a segment up to a sequence.
    mutating func checkpoint(
        of segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint)?
    /// All checkpoints of a segment, in order.
    mutating func checkpoints(
        of segment: SegmentIndex
    ) throws(StoreError) -> [(sequence: UInt64, checkpoint: Checkpoint)]
    /// Forgets those after a sequence, and the contexts that are kept of the segment.
    mutating func removeCheckpoints(of segment: SegmentIndex, after sequence: UInt64) throws(StoreError)
    /// The contexts at all checkpoints of a segment, if somebody has put them together.
    ///
    /// A note to save work, which a store may forget at any time.
    func keptContexts(of segment: SegmentIndex) -> [KeptContext]?
    mutating func setKeptContexts(_ contexts: [KeptContext]?, of segment: SegmentIndex)
}
