/// Erasures, as they are found in changes that begin to count.
///
/// They change nothing of the state: what they erase was superseded by the write that comes with them. So they are only
/// noted here, and `Erasing` does them.
extension Merge {
    /// Notes the erasures of a change that has just been applied.
    ///
    /// No statement brings back what is erased, so nobody erases who could be removed by somebody else than the owner.
    mutating func noteErasures(
        of change: Change,
        in run: Run,
        at place: SegmentPoint,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        if let ends = transaction.rights.limits(of: place.segment), place.sequence > ends.manager { return }
        for erasure in run.effectiveErasures(of: change) {
            let key = RegisterKey(
                object: try transaction.objectIndex(of: erasure.object, by: place.segment),
                name: try transaction.nameIndex(of: erasure.name)
            )
            try transaction.addErasure(PendingErasure(key: key, change: place))
            self.summary.notedErasureCount += 1
        }
    }
}
