/// A time since the world began, or a length of time, in microseconds.
struct VirtualTime: Hashable, Comparable, Sendable {
    var microseconds: UInt64

    static let zero = VirtualTime(microseconds: 0)

    static func microseconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count) }
    static func milliseconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count * 1_000) }
    static func seconds(_ count: UInt64) -> VirtualTime { VirtualTime(microseconds: count * 1_000_000) }

    var milliseconds: UInt64 { self.microseconds / 1_000 }
    var seconds: Double { Double(self.microseconds) / 1_000_000 }

    static func < (left: VirtualTime, right: VirtualTime) -> Bool { left.microseconds < right.microseconds }

    static func + (left: VirtualTime, right: VirtualTime) -> VirtualTime {
        VirtualTime(microseconds: left.microseconds + right.microseconds)
    }

    /// Zero where `right` is later.
    static func - (left: VirtualTime, right: VirtualTime) -> VirtualTime {
        VirtualTime(microseconds: left.microseconds - min(left.microseconds, right.microseconds))
    }
}
