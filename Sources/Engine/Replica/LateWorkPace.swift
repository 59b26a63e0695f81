internal import CRDTCore

/// When restamps and late moves are settled: soon, as long as that is little, and otherwise so that it takes a small
/// part of the time.
///
/// A restamp of a few bytes may order a long history anew, and the next one again; a move that comes late has all later
/// ones done again. Until it is settled it is like something that has not arrived, and many are settled together, by a
/// transaction of their own. What follows a late move in its segment waits with it; everything else waits for the
/// length of that transaction alone, whoever sent it.
struct CatchUpPace {
    let limits: CatchUpLimits

    /// The part of `costMax` that may always be done at once, so that devices that write at the same time do not wait.
    private static let allowanceDivisor = 64

    /// What was looked at, less what is made up for by time, at a moment in monotonic milliseconds.
    private var debt = 0
    private var time: UInt64 = 0

    init(_ limits: CatchUpLimits) { self.limits = limits }

    /// The number of moves that may be done again at once for the sake of a late one.
    var allowance: Int { max(self.limits.costMax / Self.allowanceDivisor, self.limits.costMax - self.debt) }

    /// When more is allowed.
    var nextTime: UInt64 {
        let excess = max(0, self.debt - self.limits.costMax)
        let wait = UInt64((excess + self.limits.costPerMillisecond - 1) / self.limits.costPerMillisecond)
        return self.time > .max - wait ? .max : self.time + wait
    }

    mutating func advance(to now: UInt64) {
        let passed = Int(min(now - min(now, self.time), UInt64(Int32.max)))
        self.debt = max(0, self.debt - passed * self.limits.costPerMillisecond)
        self.time = now
    }

    /// Takes note of what was looked at.
    mutating func note(cost: Int) { self.debt += cost }
}

/// The paces of both kinds of late work.
struct LateWorkPace {
    private var restamps: CatchUpPace
    private var lateMoves: CatchUpPace
    private let climbedCountMax: Int

    init(_ limits: LateWorkLimits) {
        self.restamps = CatchUpPace(limits.restamps)
        self.lateMoves = CatchUpPace(limits.lateMoves)
        self.climbedCountMax = limits.climbedCountMax
    }

    /// What was looked at is made up for by time.
    mutating func advance(to now: UInt64) {
        self.restamps.advance(to: now)
        self.lateMoves.advance(to: now)
    }

    /// When what was deferred is due, in monotonic milliseconds; nil if there is nothing.
    func time(of deferred: DeferredWork) -> UInt64? {
        var times: [UInt64] = []
        if deferred.hasRestamps { times.append(self.restamps.nextTime) }
        let hasLateMoves = !deferred.changes.isEmpty
        if hasLateMoves { times.append(self.lateMoves.nextTime) }
        return times.min()
    }

    /// Lets a merge take on as much as is allowed.
    ///
    /// `catchesUpAt`: what was deferred and is due by then is not deferred again.
    func limit(_ policy: inout MergePolicy, _ deferred: inout DeferredWork, catchesUpAt time: UInt64?) {
        policy.climbedCountMax = self.climbedCountMax
        // What a peer sends, or a user writes, does not wait for restamps; nor is it they who are slow then.
        policy.defersRestamps = time.map { self.restamps.nextTime > $0 } ?? true
        guard let time, self.lateMoves.nextTime <= time else {
            policy.redoneMoveCountMax = self.lateMoves.allowance
            return
        }
        deferred.changes = [:]
        policy.promptSegment = nil
    }

    /// Takes note of what a merge has looked at.
    mutating func note(_ summary: Merge.Summary, since before: Merge.Summary) {
        self.restamps.note(cost: summary.restampCost - before.restampCost)
        self.lateMoves.note(cost: summary.redoneMoveCount - before.redoneMoveCount)
    }
}
