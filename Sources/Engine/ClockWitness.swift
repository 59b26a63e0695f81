internal import CRDTCore

/// What another device's clock showed at a moment, from which follows what it shows later.
struct ClockWitness: Hashable {
    /// Its wall time less our monotonic time, in milliseconds.
    private var offset: Int64

    /// No clock that shows less is believed: 2001.
    static let plausibleMilliseconds: UInt64 = 978_307_200_000

    init(_ wallTime: WallTime, heardAt moment: Moment) {
        self.offset = Self.offset(wallTime, moment)
    }

    /// Whether our clock shows the same now, within what is borne without holding changes.
    func agrees(with moment: Moment) -> Bool {
        let difference = Self.offset(moment.wall, moment).subtractingReportingOverflow(self.offset)
        return !difference.overflow && difference.partialValue.magnitude <= HybridClock.skewMaxMilliseconds
    }

    private static func offset(_ wallTime: WallTime, _ moment: Moment) -> Int64 {
        Int64(clamping: wallTime.milliseconds) &- Int64(clamping: moment.monotonicMilliseconds)
    }
}
