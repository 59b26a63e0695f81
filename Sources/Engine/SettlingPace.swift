/// When restamps and late moves are settled: soon, as long as that is little, and otherwise so that it takes a small
/// part of the time.
///
/// A restamp of a few bytes may order a long history anew, and the next one again; a move that comes late has all later
/// ones done again. Until it is settled it is like something that has not arrived, and many are settled together, by a
/// transaction of their own: nothing else waits for them but for the length of that one, whoever sent them.
struct SettlingPace {
    /// So much may be looked at at any time.
    #if DEBUG || PLANTED_BUGS
    /// Little, so that whatever looks for errors puts things off, too.
    static let costMax = 30
    #else
    static let costMax = 20_000
    #endif
    /// What is beyond that waits until so much for each millisecond has passed: a core does 50 times as much.
    static let costPerMillisecond = 4

    /// What was looked at, less what is made up for by time, at a moment in monotonic milliseconds.
    private var debt = 0
    private var time: UInt64 = 0

    /// So many moves may be done again at once for the sake of a late one: a few always, so that devices that write at
    /// the same time do not wait.
    var allowance: Int { max(Self.costMax / 64, Self.costMax - self.debt) }

    /// When more is allowed.
    var nextTime: UInt64 {
        let excess = max(0, self.debt - Self.costMax)
        let wait = UInt64((excess + Self.costPerMillisecond - 1) / Self.costPerMillisecond)
        return self.time > .max - wait ? .max : self.time + wait
    }

    mutating func advance(to now: UInt64) {
        let passed = Int(min(now - min(now, self.time), UInt64(Int32.max)))
        self.debt = max(0, self.debt - passed * Self.costPerMillisecond)
        self.time = now
    }

    /// Takes note of what was looked at.
    mutating func note(cost: Int) { self.debt += cost }
}
