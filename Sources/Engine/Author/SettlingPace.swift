/// When restamps and late moves are settled: soon, as long as that is little, and otherwise so that it takes a small
/// part of the time.
///
/// A restamp of a few bytes may order a long history anew, and the next one again; a move that comes late has all later
/// ones done again. Until it is settled it is like something that has not arrived, and many are settled together, by a
/// transaction of their own. What follows a late move in its line waits with it; everything else waits for the length
/// of that transaction alone, whoever sent it.
struct SettlingPace {
    let limits: SettlingLimits

    /// So many moves may be done again within what takes in the late one, since who passes that on pays for it.
    private static let allowanceMax = 20_000
    /// The part of `costMax` that may always be done at once, so that devices that write at the same time do not wait.
    private static let allowanceDivisor = 640

    /// What was looked at, less what is made up for by time, at a moment in monotonic milliseconds.
    private var debt = 0
    private var time: UInt64 = 0

    init(_ limits: SettlingLimits) { self.limits = limits }

    /// The number of moves that may be done again at once for the sake of a late one.
    var allowance: Int {
        min(Self.allowanceMax, max(self.limits.costMax / Self.allowanceDivisor, self.limits.costMax - self.debt))
    }

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
