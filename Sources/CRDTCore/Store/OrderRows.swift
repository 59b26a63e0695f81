/// What follows from the log for whole changes: effective stamps, and contexts at some of them.
package protocol OrderRows {
    mutating func raisedStamp(at point: LinePoint) throws(StoreError) -> RaisedStamp?
    mutating func setRaisedStamp(_ stamp: RaisedStamp?, at point: LinePoint) throws(StoreError)
    /// The changes whose raised stamp follows from a change.
    mutating func raisedStamps(causedBy point: LinePoint) throws(StoreError) -> [LinePoint]
    /// The hash of a line's last stored change, without copying its record.
    func storedHash(of index: LineIndex) -> Hash256
    /// Every restamp that is stored, whether it counts or not.
    var restamps: RestampTable { get }
    /// Records a restamp that is not settled: what it covers is ordered as if it were not there.
    mutating func addRestamp(_ record: RestampRecord) throws(StoreError)
    mutating func settleRestamp(_ record: RestampRecord) throws(StoreError)
    /// What is restamped by right in a replica's chain by what is settled, where that has been put together.
    func restampedChain(of replica: ReplicaID) -> RestampedChain?
    mutating func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID)
    /// Sees to it that records of lines have their contexts.
    mutating func prepareContexts() throws(StoreError)
    /// Keeps what a change had seen; see `ContextTrail`.
    mutating func setCheckpoint(_ checkpoint: Checkpoint, at place: LinePoint) throws(StoreError)
    /// The last checkpoint of a line up to a sequence.
    mutating func checkpoint(
        of line: LineIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint)?
    /// All checkpoints of a line, in order.
    mutating func checkpoints(
        of line: LineIndex
    ) throws(StoreError) -> [(sequence: UInt64, checkpoint: Checkpoint)]
    /// Forgets those after a sequence, and the contexts that are kept of the line.
    mutating func removeCheckpoints(of line: LineIndex, after sequence: UInt64) throws(StoreError)
    /// The contexts at all checkpoints of a line, if somebody has put them together.
    ///
    /// A note to save work, which a store may forget at any time.
    func keptContexts(of line: LineIndex) -> [KeptContext]?
    mutating func setKeptContexts(_ contexts: [KeptContext]?, of line: LineIndex)
}
