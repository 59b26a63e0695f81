internal import PeerdKit

/// Things that will happen, by their time in microseconds and then by the order in which they were scheduled.
struct VirtualSchedule<Element> {
    /// The entries, the next one last.
    private var entries: [(time: UInt64, element: Element)] = []

    /// The time of the next thing.
    var nextTime: UInt64? { self.entries.last?.time }

    /// - Complexity: O(*n*); few things are under way between two devices.
    mutating func schedule(_ element: Element, at time: UInt64) {
        self.entries.insert((time, element), at: self.entries.firstPosition { $0.time <= time })
    }

    mutating func next() -> (time: UInt64, element: Element)? { self.entries.popLast() }
}
