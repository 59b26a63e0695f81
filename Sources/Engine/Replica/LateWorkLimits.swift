/// How much work for what comes late is done at once.
///
/// What users get is `LateWorkLimits()`.
package struct LateWorkLimits: Hashable, Sendable {
    /// Of restamps, by changes and operations that are looked at: a core does 50 times as much in a millisecond.
    package var restamps = CatchUpLimits(costMax: 20_000, costPerMillisecond: 4)
    /// Of late moves, by moves that are done again: a core does ten times as much in a millisecond.
    ///
    /// More as time passes than of restamps, since devices that come back have late moves, and what follows in their
    /// segments waits for them. No more at once, since a few bytes of a hostile member may cost as much each time.
    package var lateMoves = CatchUpLimits(costMax: 20_000, costPerMillisecond: 40)
    /// So many steps up the hierarchy are taken one by one for a move; see `MergePolicy.climbedCountMax`.
    package var climbedCountMax = 64

    package init() {}
}

/// How much of one kind of work is done at once, and how much as time passes.
package struct CatchUpLimits: Hashable, Sendable {
    /// So much may be looked at at any time.
    package var costMax: Int
    /// What is beyond that waits until so much for each millisecond has passed.
    package var costPerMillisecond: Int

    package init(costMax: Int, costPerMillisecond: Int) {
        self.costMax = costMax
        self.costPerMillisecond = costPerMillisecond
    }
}
