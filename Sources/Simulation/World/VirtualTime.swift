/// A time since the world began, or a length of time, in microseconds.
package struct VirtualTime: Hashable, Comparable, Sendable {
    package var microseconds: UInt64

    package static let zero = VirtualTime(microseconds: 0)

    package static func microseconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count) }
    package static func milliseconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count * 1_000) }
    package static func seconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count * 1_000_000) }

    package var milliseconds: UInt64 { self.microseconds / 1_000 }
    package var seconds: Double { Double(self.microseconds) / 1_000_000 }

    package static func < (left: VirtualTime, right: VirtualTime) -> Bool { left.microseconds < right.microseconds }

    package static func + (left: VirtualTime, right: VirtualTime) -> VirtualTime {
        VirtualTime(microseconds: left.microseconds + right.microseconds)
    }

    /// Zero where `right` is later.
    package static func - (left: VirtualTime, right: VirtualTime) -> VirtualTime {
        VirtualTime(microseconds: left.microseconds - min(left.microseconds, right.microseconds))
    }
}
