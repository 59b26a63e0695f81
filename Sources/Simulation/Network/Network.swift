/// Which links there are and how they are just now.
package struct Network {
    private let topology: Topology
    private let peerCount: Int
    private let links: LinkClass
    /// The group of each peer while there is a partition.
    private var groups: [Int: Int] = [:]
    private(set) var isPartitioned = false
    /// When nothing passes from one peer to another.
    private var blockedUntil: [Direction: VirtualTime] = [:]
    /// Machines that were healed at the end and all reach each other, whatever the topology; empty before.
    private var core: Set<Int> = []

    struct Direction: Hashable {
        var from: Int
        var to: Int
    }

    init(_ plan: Plan) {
        self.topology = plan.topology
        self.peerCount = plan.peerCount
        self.links = plan.links
    }

    // MARK: - What passes

    /// Whether a link joins two machines at all.
    func hasLink(_ left: Int, _ right: Int) -> Bool {
        self.core.contains(left) && self.core.contains(right)
            || self.topology.links(left, right, of: self.peerCount)
    }

    /// Whether bytes that arrive at this time get through.
    func isBlocked(from: Int, to: Int, at time: VirtualTime) -> Bool {
        if !self.hasLink(from, to) { return true }
        if self.isPartitioned, self.groups[from] != self.groups[to] { return true }
        return self.blockedUntil[Direction(from: from, to: to)].map { $0 > time } ?? false
    }

    // MARK: - What is done to it

    mutating func partition(_ groups: [[Int]]) {
        self.isPartitioned = true
        self.groups = [:]
        for (number, group) in groups.enumerated() {
            for peer in group { self.groups[peer] = number }
        }
    }

    mutating func healPartition() { self.isPartitioned = false }

    mutating func block(from: Int, to: Int, until time: VirtualTime) {
        self.blockedUntil[Direction(from: from, to: to)] = time
    }

    /// Everything works again, and the core's machines all reach each other.
    mutating func heal(core: [Int]) {
        self.isPartitioned = false
        self.blockedUntil = [:]
        self.core = Set(core)
    }

    // MARK: - How long it takes

    /// The class of the link between two machines.
    func linkClass(_ left: Int, _ right: Int) -> LinkClass {
        guard self.links == .mixed else { return self.links }
        let classes: [LinkClass] = [.lan, .wifi, .mobile, .satellite]
        return classes[(min(left, right) * 7 + max(left, right) * 3) % classes.count]
    }

    /// How long a segment takes, from one choice.
    ///
    /// `isLossy`: whether segments may be lost on the way, and come late because they had to be sent again.
    func latency(_ left: Int, _ right: Int, isLossy: Bool, choice: UInt64) -> VirtualTime {
        let part = choice >> 16 & 0xffff
        let lossDraw = choice >> 32 & 0x3ff
        let base: UInt64
        let lossPerMille: UInt64
        switch self.linkClass(left, right) {
        case .lan, .mixed:
            base = 200 + (part * 1_800) >> 16
            lossPerMille = 0
        case .wifi:
            base = 1_000 + Network.exponential(mean: 8_000, choice)
            lossPerMille = 10
        case .mobile:
            base = 20_000 + Network.exponential(mean: 80_000, choice)
            lossPerMille = 50
        case .satellite:
            base = 580_000 + (part * 40_000) >> 16
            lossPerMille = 5
        }
        let bounded = min(base, LinkClass.latencyMax.microseconds)
        guard isLossy, lossDraw < lossPerMille else { return .microseconds(bounded) }
        return .microseconds(bounded + 200_000 + (choice >> 42 & 0xff) * 4_000)
    }

    /// Nearly exponential, without floating point: each whole part is half as likely as the one before.
    private static func exponential(mean: UInt64, _ choice: UInt64) -> UInt64 {
        let whole = UInt64((choice & 0xffff | 1 << 15).trailingZeroBitCount)
        let part = choice >> 16 & 0xffff
        return mean * 2 / 3 * whole + (mean * 2 / 3 * part) >> 16
    }
}
