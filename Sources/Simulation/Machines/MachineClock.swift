package import CRDTCore

/// A machine's wall clock: right, wrong, fast, slow, stuck or coarse.
package struct MachineClock: Sendable {
    /// What it showed at a time, and how much it moves in a microsecond of true time, in millionths.
    private var anchor = VirtualTime.zero
    private var shownThen: Int64 = Int64(MachineClock.epochMilliseconds) * 1_000
    private var rate: Int64 = 1_000_000
    /// In what steps it shows the time.
    var tickMilliseconds: UInt64 = 1

    /// The true wall time when a world begins: 14 November 2023.
    static let epochMilliseconds: UInt64 = 1_700_000_000_000

    /// What the clock shows, in microseconds since 1970.
    private func microseconds(at time: VirtualTime) -> Int64 {
        let passed = Int64((time - self.anchor).microseconds)
        let (whole, part) = passed.quotientAndRemainder(dividingBy: 1_000_000)
        return self.shownThen + whole * self.rate + part * self.rate / 1_000_000
    }

    /// What the clock shows.
    package func wall(at time: VirtualTime) -> WallTime {
        let shown = UInt64(max(0, self.microseconds(at: time)) / 1_000)
        return WallTime(milliseconds: shown - shown % self.tickMilliseconds)
    }

    /// By how much it is wrong.
    func millisecondsWrong(at time: VirtualTime) -> UInt64 {
        (Int64(self.wall(at: time).milliseconds) - Int64(MachineClock.truth(at: time).milliseconds)).magnitude
    }

    /// What a clock that is right shows.
    static func truth(at time: VirtualTime) -> WallTime {
        WallTime(milliseconds: MachineClock.epochMilliseconds + time.milliseconds)
    }

    /// Sets it to the true time and some milliseconds more, going at the right speed.
    package mutating func set(offsetMilliseconds: Int64, at time: VirtualTime) {
        let truth = Int64(MachineClock.epochMilliseconds) * 1_000 + Int64(time.microseconds)
        self.restart(at: time, showing: truth + offsetMilliseconds * 1_000, rate: 1_000_000)
    }

    /// Sets it to 1970.
    mutating func setToEpoch(at time: VirtualTime) { self.restart(at: time, showing: 0, rate: 1_000_000) }

    mutating func jump(milliseconds: Int64, at time: VirtualTime) {
        self.restart(at: time, showing: self.microseconds(at: time) + milliseconds * 1_000, rate: self.rate)
    }

    mutating func drift(partsPerMillion: Int, at time: VirtualTime) {
        self.restart(at: time, showing: self.microseconds(at: time), rate: 1_000_000 + Int64(partsPerMillion))
    }

    package mutating func stop(at time: VirtualTime) {
        self.restart(at: time, showing: self.microseconds(at: time), rate: 0)
    }

    private mutating func restart(at time: VirtualTime, showing shown: Int64, rate: Int64) {
        self.anchor = time
        self.shownThen = shown
        self.rate = rate
    }
}
