internal import CRDTCore

/// What a device knows of the time beside what its clock shows now.
///
/// A clock that shows less than it once did was wrong then or is wrong now, and its owner cannot know which. So it says
/// no time to anyone until it shows as much again, or a clock that nobody set back shows the same.
struct ClockEvidence: Hashable {
    /// The latest time that this device's clock is known to have shown.
    var latestShown: WallTime
    /// Whether others were told what it shows.
    var isTold = true

    /// No clock that shows less is believed: one without a battery starts long before 2001.
    static let plausibleMilliseconds: UInt64 = 978_307_200_000

    /// How far apart clocks may be that confirm each other: what the one holds is far ahead of the other, too.
    static let agreementMilliseconds = HybridClock.skewMaxMilliseconds / 2

    init(latestShown: WallTime) { self.latestShown = latestShown }

    /// Whether the clock shows less than it once did, by more than what is borne without holding changes.
    func wasSetBack(at now: ClockReading) -> Bool {
        now.wall < self.dueTime
    }

    /// From when on it shows enough again.
    var dueTime: WallTime { HybridClock.dueTime(of: Stamp(milliseconds: self.latestShown.milliseconds)) }
}

/// What another device's clock showed when it was last heard, from which follows what it shows later.
struct PeerClock: Hashable {
    /// Its wall time less our monotonic time, in milliseconds.
    private var offset: Int64
    /// Whether the user was told that it differs from ours.
    var isDifferenceTold = false

    init(_ time: WallTime, heardAt moment: ClockReading) { self.offset = Self.offset(time, moment) }

    /// How far it is ahead of ours now, in milliseconds.
    func millisecondsAhead(at now: ClockReading) -> Int64 {
        let (difference, overflow) = self.offset.subtractingReportingOverflow(Self.offset(now.wall, now))
        return overflow ? (self.offset < 0 ? .min : .max) : difference
    }

    /// The time that it shows now.
    func time(at now: ClockReading) -> WallTime {
        let (time, overflow) = Int64(clamping: now.wall.milliseconds)
            .addingReportingOverflow(self.millisecondsAhead(at: now))
        return WallTime(milliseconds: overflow ? .max : UInt64(max(0, time)))
    }

    private static func offset(_ time: WallTime, _ moment: ClockReading) -> Int64 {
        Int64(clamping: time.milliseconds) &- Int64(clamping: moment.monotonicMilliseconds)
    }
}

extension Int64 {
    /// Whether so many milliseconds between two clocks have changes held.
    package var isNoticeableClockDifference: Bool { self.magnitude > HybridClock.skewMaxMilliseconds }
}
