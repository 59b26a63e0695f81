/// Hybrid logical clock time: 48 bits of milliseconds since 1970 and a 16-bit counter (Kulkarni et al., "Logical
/// Physical Clocks", 2014).
///
/// With the replica id as tie-break, stamps order all changes of all replicas strictly and totally.
package struct Stamp: Hashable, Comparable, Sendable {
    package var rawValue: UInt64

    /// The stamp before every other; no change carries it.
    package static let zero = Stamp(rawValue: 0)

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The first stamp of a millisecond.
    ///
    /// Times before 1970 are 1970; times past the year 10889 are that year's.
    package init(milliseconds: UInt64) {
        self.rawValue = min(milliseconds, Stamp.millisecondsMax) << 16
    }

    /// The largest number of milliseconds a stamp can hold.
    package static let millisecondsMax: UInt64 = (1 << 48) - 1

    /// Milliseconds since 1970.
    package var milliseconds: UInt64 { self.rawValue >> 16 }

    /// The next stamp, or nil after the last one of all.
    package var successor: Stamp? {
        self.rawValue == .max ? nil : Stamp(rawValue: self.rawValue + 1)
    }

    package static func < (left: Stamp, right: Stamp) -> Bool { left.rawValue < right.rawValue }
}

/// Wall-clock time as told to the core by whoever runs it: milliseconds since 1970.
package struct WallTime: Hashable, Comparable, Sendable {
    package var milliseconds: UInt64

    package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

    package static func < (left: WallTime, right: WallTime) -> Bool { left.milliseconds < right.milliseconds }

    /// This time and some milliseconds more, without wrapping.
    package func advanced(byMilliseconds milliseconds: UInt64) -> WallTime {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return WallTime(milliseconds: overflow ? .max : sum)
    }
}

/// The clock of one replica: what it stamps next is above everything it has stamped or applied.
package struct HybridClock: Hashable, Sendable {
    /// The highest stamp issued or observed.
    package private(set) var last: Stamp

    /// How far ahead of the receiver's wall clock a change may be stamped before it is held: ten minutes.
    package static let skewMaxMilliseconds: UInt64 = 600_000

    package init(last: Stamp = .zero) { self.last = last }

    /// The next stamp, or nil when the last stamp of all has been issued.
    package mutating func next(at now: WallTime) -> Stamp? {
        let wall = Stamp(milliseconds: now.milliseconds)
        if wall > self.last {
            self.last = wall
            return wall
        }
        guard let next = self.last.successor else { return nil }
        self.last = next
        return next
    }

    /// Takes note of the stamp of an applied change.
    ///
    /// Held changes are never observed.
    package mutating func observe(_ stamp: Stamp) {
        self.last = max(self.last, stamp)
    }

    /// Whether a stamp is too far ahead of the wall clock to be applied now.
    package static func isHeld(_ stamp: Stamp, at now: WallTime) -> Bool {
        stamp.milliseconds > now.advanced(byMilliseconds: self.skewMaxMilliseconds).milliseconds
    }

    /// When a held stamp may be applied.
    package static func dueTime(of stamp: Stamp) -> WallTime {
        let milliseconds = stamp.milliseconds
        return WallTime(
            milliseconds: milliseconds > self.skewMaxMilliseconds ? milliseconds - self.skewMaxMilliseconds : 0
        )
    }
}
