internal import CRDTCore
package import Engine
internal import Foundation

/// The clocks of this machine: the only place that reads them for the node.
package enum SystemClock {
    package static func now() -> ClockReading {
        ClockReading(
            wall: WallTime(milliseconds: self.milliseconds(of: CLOCK_REALTIME)),
            monotonicMilliseconds: self.milliseconds(of: CLOCK_MONOTONIC)
        )
    }

    /// The processor's time that this thread has taken.
    package static func threadMilliseconds() -> UInt64 { self.milliseconds(of: CLOCK_THREAD_CPUTIME_ID) }

    private static func milliseconds(of clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        // Times before 1970 are 1970.
        return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(max(0, time.tv_nsec)) / 1_000_000
    }
}
