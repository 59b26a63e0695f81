package import CRDTCore

/// Whether two devices that have applied the same changes have the same state, as one of them sees it.
///
/// Each tells what its settled state comes to. If that differs, each tells the sums of its groups of objects, and then
/// the objects of the groups that differ. Neither asks: each says the next thing once, after what it has said and
/// heard, so nobody can have a device say more than it would by itself.
package struct StateComparison: Sendable {
    /// Between two times that one tells its state, in milliseconds.
    package static let interval: UInt64 = 10_000
    /// Objects that are named; there may be more that differ.
    package static let differingObjectCountMax = 256
    /// How long objects of which something is missing are not named, in milliseconds: it is being asked for.
    package static let completionTime: UInt64 = 60_000

    /// What was told, and what may be told next.
    private var told: StateClaim?
    private var nextTime: UInt64 = 0
    private var nextSumsTime: UInt64 = 0
    private var mayTellObjects = false
    private var differingGroups: Set<Int> = []
    /// What the peer has told last.
    private var heard: StateClaim?
    /// The objects that differ, as far as they are known; nil if nothing is known to differ.
    package private(set) var differing: Set<ObjectID>?
    /// Since when only objects of which something is missing differ, in monotonic milliseconds.
    private var incompleteSince: UInt64?
    /// Whether the states were equal when they were compared last.
    package private(set) var areEqual = false

    /// `time`: when a state is told at the earliest, in monotonic milliseconds.
    package init(notBefore time: UInt64 = 0) { self.nextTime = time }

    /// When a state is to be told, in monotonic milliseconds; nil if it was.
    package func time(toTell claim: StateClaim) -> UInt64? {
        self.told == claim && !(self.differing?.isEmpty ?? false) ? nil : self.nextTime
    }

    /// Tells a state.
    package mutating func tell(_ claim: StateClaim, at now: UInt64) -> Message {
        (self.told, self.nextTime) = (claim, now + Self.interval)
        return .state(claim)
    }

    /// The peer tells its state.
    package mutating func hear(_ claim: StateClaim) { self.heard = claim }

    /// Holds what was heard against what was told; `sums` are those of that state.
    package mutating func compare(_ own: StateClaim, _ sums: [UInt64], at now: UInt64) -> Message? {
        guard let heard = self.heard, heard.frontier == own.frontier, self.told == own else { return nil }
        self.areEqual = heard == own
        guard !self.areEqual else {
            (self.differing, self.incompleteSince) = (nil, nil)
            return nil
        }
        self.differing = self.differing ?? []
        guard self.nextSumsTime <= now else { return nil }
        // Whoever has missed them tells his state again, and that not so often.
        (self.nextSumsTime, self.mayTellObjects) = (now + Self.interval / 2, true)
        return .sums(StateSums(frontier: own.frontier, sums: sums))
    }

    /// The groups whose objects are to be told, since the peer's sums are others; none if that is not due.
    ///
    /// `own` is the digest of the state that was told.
    package mutating func groups(differingFrom other: StateSums, _ claim: StateClaim, _ own: SettledDigest) -> [Int] {
        guard other.frontier == claim.frontier, self.told == claim, self.mayTellObjects else { return [] }
        self.mayTellObjects = false
        self.differingGroups = Set(own.sums.indices.filter { own.sums[$0] != other.sums[$0] })
        guard !self.differingGroups.isEmpty else { return [] }
        self.differing = self.differing ?? []
        var (groups, count): ([Int], Int) = ([], 0)
        for group in self.differingGroups.sorted().prefix(MessageLimits.listedGroupCountMax) {
            count += own.counts[group]
            guard groups.isEmpty || count <= MessageLimits.listedObjectCountMax else { break }
            groups.append(group)
        }
        return groups
    }

    /// Takes note of the objects that differ; `objects` are our own of the same groups.
    package mutating func note(_ other: StateObjects, _ own: StateClaim, _ objects: [ObjectDigest], at now: UInt64) {
        self.differingGroups = []
        guard other.frontier == own.frontier, self.told == own, self.differing != nil else { return }
        var differing: Set<ObjectID> = []
        let theirs = Dictionary(uniqueKeysWithValues: other.objects.map { ($0.id, $0.digest) })
        for object in objects where theirs[object.id] != object.digest { differing.insert(object.id) }
        let ours = Set(objects.map(\.id))
        for object in other.objects where !ours.contains(object.id) { differing.insert(object.id) }
        // What somebody has not got yet is got now, and compared then; if it is not, that is a difference too.
        let incomplete = Set((objects + other.objects).filter { $0.digest == ObjectDigest.incomplete }.map(\.id))
        let isOnlyThat = !differing.isEmpty && differing.isSubset(of: incomplete)
        self.incompleteSince = isOnlyThat ? self.incompleteSince ?? now : nil
        if now < (self.incompleteSince ?? now) + Self.completionTime { differing.subtract(incomplete) }
        self.differing = Set(differing.sorted().prefix(Self.differingObjectCountMax))
    }

    /// Whether these groups were found to differ, and the peer has not told their objects yet.
    package func awaits(_ groups: [Int]) -> Bool { !groups.isEmpty && self.differingGroups.isSuperset(of: groups) }
}
