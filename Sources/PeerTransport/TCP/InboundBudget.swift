/// Counts received bytes that the driver has not acknowledged, and says whether there is room for one more read.
package struct InboundBudget: Sendable {
    private let limit: Int
    package private(set) var unacknowledged = 0
    package private(set) var peak = 0

    package init(limit: Int) {
        self.limit = limit
    }

    /// There is room for one read of the largest size; so the limit holds to the byte.
    package var hasRoom: Bool {
        self.unacknowledged <= self.limit - TransportLimits.largestRead
    }

    package mutating func handOut(_ byteCount: Int) {
        self.unacknowledged += byteCount
        self.peak = max(self.peak, self.unacknowledged)
    }

    /// Returns how many bytes this really acknowledged: never more than there were.
    package mutating func acknowledge(_ byteCount: Int) -> Int {
        let acknowledged = min(max(byteCount, 0), self.unacknowledged)
        self.unacknowledged -= acknowledged
        return acknowledged
    }
}
