/// What a merge goes by: the clock, and how much it takes on at once.
package struct MergePolicy: Sendable {
    /// What the clock shows; what is stamped far beyond it is held.
    package var now: WallTime
    /// The user whose devices may restamp everyone's changes.
    package var founder: UserID
    /// Whether restamps that are stored, and not settled, are deferred: the state is as if they had not come yet.
    package var defersRestamps = false
    /// Restamps that are deferred in any case.
    package var ignoredRestamps: Set<StampedRestamp> = []
    /// So many recorded moves may be done again for the sake of late ones; changes beyond that are deferred.
    package var redoneMoveCountMax = Int.max
    /// The segment of which nothing is deferred.
    package var promptSegment: SegmentIndex?
    /// So many steps up the hierarchy are taken one by one, before a forest of what is above is made.
    package var climbedCountMax = 64

    package init(now: WallTime, founder: UserID) {
        self.now = now
        self.founder = founder
    }
}

/// What a merge leaves for a later one.
package struct DeferredWork: Hashable, Sendable {
    /// Whether there may be restamps that are stored, with all of their stretches, and not settled.
    package var hasRestamps = false
    /// The first change of each segment that is deferred, and with it all that follow: the state is as if they had not
    /// come.
    package var changes: [SegmentIndex: UInt64] = [:]

    package init(hasRestamps: Bool = false) { self.hasRestamps = hasRestamps }
}

/// What changes have asked for since the hierarchy was settled last.
struct UnsettledHierarchy {
    var moves: [MoveRecord] = []
    /// The earliest move that was taken out of the order, and the objects of all that were.
    var withdrawn: (first: WriteReference, objects: Set<ObjectIndex>)?
    /// The earliest stamp of the moves that this transaction takes in late.
    var firstLateStamp: Stamp?
    /// Objects that show and should not, or the other way round.
    var stale: [ObjectIndex] = []
}
