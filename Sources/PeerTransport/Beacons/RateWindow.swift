/// Lets through at most so many events in each second.
package struct RateWindow: Sendable {
    private static let length: UInt64 = 1_000_000_000

    private let limit: Int
    private var start: UInt64?
    private var count = 0

    package init(limit: Int) {
        self.limit = limit
    }

    /// The time is in nanoseconds of any clock that does not go back.
    package mutating func admit(at now: UInt64) -> Bool {
        if let start = self.start, now >= start, now - start < Self.length {
            guard self.count < self.limit else { return false }
        } else {
            self.start = now
            self.count = 0
        }
        self.count += 1
        return self.limit > 0
    }
}
