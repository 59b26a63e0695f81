internal import CRDTCore
internal import SyncProtocol

/// A peer as one that is asked for leaves.
struct BlobSource: Sendable {
    /// What was asked for and has not come, or is not on the disk yet.
    var wants: [UInt32: Want] = [:]
    var nextNumber: UInt32 = 0
    /// Bytes that were asked for and are not on the disk.
    var openByteCount = 0
    /// Bytes that may be asked for ahead.
    private(set) var budgetByteCount = BlobExchangeLimits.budgetFirst
    /// Blobs of which it has nothing, or sends what is wrong.
    var lacksAll: Set<BlobRoot> = []
    /// Leaves that it does not have, of blobs of which it has others.
    var lacks: [BlobRoot: [Int: UInt64]] = [:]
    /// When it last sent something that was asked for, or was asked while nothing was open.
    var lastProgress: UInt64
    /// Whether it did not send for so long that others are asked, until it sends again.
    var isStalled = false
    private var rate: Rate

    struct Want: Sendable {
        var root: BlobRoot
        var shape: BlobShape
        var group: Int
        /// The leaves that it was asked for.
        var asked: UInt64
        /// Those that have not come.
        var open: UInt64
        /// The leaves that have come, and are on the way to the disk.
        var written: UInt64 = 0
        var awaitsProof: Bool
        /// The leaf of which pieces have come, and its bytes.
        var leaf: UInt8 = 0
        var bytes: [UInt8] = []
    }

    /// What came in the last second that was full, and in this one.
    private struct Rate: Sendable {
        var second: UInt64
        var byteCount = 0
        var lastByteCount = 0

        mutating func add(_ count: Int, at now: UInt64) {
            let second = now / 1_000
            if second != self.second {
                self.lastByteCount = second == self.second + 1 ? self.byteCount : 0
                (self.second, self.byteCount) = (second, 0)
            }
            self.byteCount += count
        }
    }

    init(now: UInt64) {
        self.lastProgress = now
        self.rate = Rate(second: now / 1_000)
    }

    /// How many leaves more it may be asked for.
    var room: Int {
        let budget = self.isStalled ? BlobExchangeLimits.budgetMin : self.budgetByteCount
        guard self.wants.count < BlobExchangeLimits.openWantCountMax else { return 0 }
        return max(0, (budget - self.openByteCount + BlobShape.leafByteCount - 1) / BlobShape.leafByteCount)
    }

    /// When others are to be asked for what it was asked for.
    var stallDeadline: UInt64? {
        self.openByteCount > 0 && !self.isStalled ? self.lastProgress + BlobExchangeLimits.stallAfter : nil
    }

    /// Takes note of bytes that have come: twice as much is asked for in each round trip, until that is what comes in
    /// `budgetMilliseconds`.
    mutating func noteCame(_ byteCount: Int, at now: UInt64) {
        (self.lastProgress, self.isStalled) = (now, false)
        self.rate.add(byteCount, at: now)
        let perSecond = max(self.rate.byteCount, self.rate.lastByteCount)
        let most = perSecond * Int(BlobExchangeLimits.budgetMilliseconds) / 1_000
        if self.budgetByteCount < most { self.budgetByteCount += byteCount }
        self.budgetByteCount = min(self.budgetByteCount, BlobExchangeLimits.budgetMax)
    }

    /// The leaves of a group that it may have.
    func mayHave(_ root: BlobRoot, _ group: Int) -> UInt64 {
        self.lacksAll.contains(root) ? 0 : ~(self.lacks[root]?[group] ?? 0)
    }

    mutating func forgetLack(of root: BlobRoot) {
        self.lacksAll.remove(root)
        self.lacks[root] = nil
    }

    /// The leaves of a group that it was asked for, and that are not on the disk.
    func asked(_ root: BlobRoot, _ group: Int) -> UInt64 {
        self.wants.values.reduce(0) { asked, want in
            want.root == root && want.group == group ? asked | want.open | want.written : asked
        }
    }
}
