package import Engine

/// All that is decided about a run before it begins.
package struct Plan: Hashable, Sendable {
    package var peerCount: Int
    /// Which person uses each machine, from 0, who founds the workspace; empty if one uses all.
    package var users: [Int] = []
    package var topology = Topology.mesh
    var links = LinkClass.lan
    /// Which of the faults that last are switched on.
    package var faults: Set<Fault> = []
    /// Pages in the write-ahead log from which on a commit moves them into the database.
    var checkpointPageCount = Scenario.usualCheckpointPageCount
    /// Whether the machines do as much at once for what comes late as those of users.
    ///
    /// Else they do little, so that small worlds put work off, too.
    var hasShippedLimits = false
    /// How long the faults go on.
    package var duration: VirtualTime
    /// Whether the run is over when the core is equal, and it is not watched how equal machines behave.
    var endsWhenEqual = false
    /// What is done, in the order of its times.
    package var actions: [TimedAction] = []
    /// Peers that are healed at the end; all others fail for good.
    package var core: [Int]
}

extension Plan {
    /// Of a scenario's world, what is to be done there and for how long.
    init(of scenario: Scenario, duration: VirtualTime, actions: [TimedAction], core: [Int]) {
        self.init(
            peerCount: scenario.peers.count,
            users: scenario.users,
            topology: scenario.topology,
            links: scenario.links,
            faults: scenario.faults,
            checkpointPageCount: scenario.checkpointPageCount,
            hasShippedLimits: scenario.hasShippedLimits,
            duration: duration,
            endsWhenEqual: scenario.endsWhenEqual,
            actions: actions,
            core: core
        )
    }
}

extension Plan {
    /// Whether several people use the machines.
    var isShared: Bool { self.users.contains { $0 != 0 } }

    /// Which person uses a machine.
    func user(of peer: Int) -> Int { peer < self.users.count ? self.users[peer] : 0 }

    /// The people who use some machines, numbered in the order in which they come up; empty if it is one.
    static func renumbered(_ users: [Int]) -> [Int] {
        var known: [Int] = []
        for user in users where !known.contains(user) { known.append(user) }
        return known.count < 2 ? [] : users.map { known.firstIndex(of: $0) ?? 0 }
    }
}

extension LateWorkLimits {
    /// So little that a few operations are deferred.
    package static let small = {
        var limits = LateWorkLimits()
        limits.restamps = CatchUpLimits(costMax: 30, costPerMillisecond: 4)
        limits.lateMoves = limits.restamps
        limits.climbedCountMax = 3
        return limits
    }()
}

/// Who can reach whom when nothing is cut.
package enum Topology: String, CaseIterable, Hashable, Sendable {
    case mesh
    case star
    case line
    case ring
    case twoCliques
    /// Two at a time.
    case sneakernet
    /// Everybody reaches everybody, and devices come and go for good.
    case churn

    /// Whether a link joins two of so many peers.
    ///
    /// Peers beyond them, which join later, are linked to all.
    func links(_ left: Int, _ right: Int, of count: Int) -> Bool {
        guard left < count, right < count else { return true }
        let low = min(left, right)
        let high = max(left, right)
        switch self {
        case .mesh, .sneakernet, .churn: return true
        case .star: return low == 0
        case .line: return high - low == 1
        case .ring: return high - low == 1 || (low == 0 && high == count - 1)
        case .twoCliques:
            let bridge = count / 2
            return (low <= bridge) == (high <= bridge) || low == bridge
        }
    }
}

/// How long bytes take from one machine to another.
enum LinkClass: String, CaseIterable, Hashable, Sendable {
    case lan
    case wifi
    case mobile
    case satellite
    /// Each pair has a class of its own.
    case mixed

    /// The longest a segment takes that is not lost on the way.
    static let latencyMax = VirtualTime.milliseconds(1_500)
}
