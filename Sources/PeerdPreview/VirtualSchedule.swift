internal import PeerdKit

/// Things that will happen, by their time in microseconds and then by the order in which they were scheduled.
struct VirtualSchedule<Element> {
    /// The entries, the next one last.
    private var entries: [(time: UInt64, element: Element)] = []

    /// The time of the next thing.
    var nextTime: UInt64? { self.entries.last?.time }

    /// - Complexity: O(*n*); few things are under way between two devices.
    mutating func schedule(_ element: Element, at time: UInt64) {
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].time > time { low = middle + 1 } else { high = middle }
        }
        self.entries.insert((time, element), at: low)
    }

    mutating func next() -> (time: UInt64, element: Element)? { self.entries.popLast() }
}
