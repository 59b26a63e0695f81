internal import CRDTCore
internal import SyncProtocol

/// A blob that is being fetched: what is here of it, and who was asked for what.
struct BlobFetch: Sendable {
    let root: BlobRoot
    let shape: BlobShape
    /// Leaves that somebody waits for.
    var urgent: Range<Int> = 0..<0
    /// The groups that are being fetched.
    var groups: [Int: Group] = [:]
    /// Groups that the disk was asked about, and has not answered.
    var looking: Set<Int> = []
    /// Groups of which every leaf is here.
    private(set) var whole: LeafSet
    /// No group before this one has a leaf that is not here.
    private var firstOpen = 0
    /// Whether something was written of it in this start.
    var hasTaken = false
    /// Whether every leaf is here.
    var isComplete: Bool { self.whole.isComplete }

    /// A group that is being fetched.
    struct Group: Sendable {
        /// The leaves that are not on the disk.
        var missing: UInt64
        /// The leaves that nobody was asked for.
        var free: UInt64
        var proof: Proof

        enum Proof: Hashable {
            case missing
            case asked(ConnectionID)
            case here
        }
    }

    init(_ root: BlobRoot, _ shape: BlobShape) {
        (self.root, self.shape) = (root, shape)
        self.whole = LeafSet(leafCount: shape.groupCount)
    }

    /// A blob of one leaf needs no proof: its root is one.
    var needsProofs: Bool { self.shape.leafCount > 1 }

    /// Takes in what the disk has of a group.
    mutating func open(_ group: Int, here: UInt64, hasProof: Bool) {
        guard self.looking.remove(group) != nil else { return }
        let missing = self.allLeaves(of: group) & ~here
        guard missing != 0 else { return self.end(group) }
        self.groups[group] = Group(
            missing: missing,
            free: missing,
            proof: hasProof || !self.needsProofs ? .here : .missing
        )
    }

    /// Every leaf of a group is here.
    mutating func end(_ group: Int) {
        self.groups[group] = nil
        self.whole.insert(group)
        while self.whole.contains(self.firstOpen) { self.firstOpen += 1 }
    }

    /// The group to be looked at next: that of an urgent leaf, or else the first one.
    var nextGroup: Int? {
        guard self.groups.count + self.looking.count < BlobExchangeLimits.groupCountMax else { return nil }
        let urgent = self.urgent.lowerBound >> BlobShape.groupLevel
        let first = self.urgent.isEmpty ? self.firstOpen : urgent
        func isNext(_ group: Int) -> Bool {
            !self.whole.contains(group) && self.groups[group] == nil && !self.looking.contains(group)
        }
        return (first..<self.shape.groupCount).first(where: isNext)
            ?? (min(self.firstOpen, first)..<first).first(where: isNext)
    }

    /// The groups under way, in the order in which they are fetched.
    var orderedGroups: [Int] {
        let urgent = self.urgent.isEmpty ? 0 : self.urgent.lowerBound >> BlobShape.groupLevel
        return self.groups.keys.sorted { ($0 < urgent ? 1 : 0, $0) < ($1 < urgent ? 1 : 0, $1) }
    }

    /// The leaves of a group that somebody waits for.
    func urgentLeaves(of group: Int) -> UInt64 {
        let leaves = self.shape.leaves(group: group).clamped(to: self.urgent)
        return leaves.reduce(0) { $0 | 1 << UInt64($1 & (BlobShape.groupLeafCount - 1)) }
    }

    func allLeaves(of group: Int) -> UInt64 {
        let count = self.shape.leaves(group: group).count
        return count == 64 ? .max : 1 << UInt64(count) - 1
    }

    /// Leaves that were asked for are free again.
    mutating func release(_ leaves: UInt64, of group: Int) {
        guard let missing = self.groups[group]?.missing else { return }
        self.groups[group]?.free |= leaves & missing
    }
}

extension UInt64 {
    /// The lowest bits that are set, at most so many.
    func lowest(_ count: Int) -> UInt64 {
        var (rest, taken) = (self, UInt64(0))
        for _ in 0..<count where rest != 0 {
            taken |= rest & (~rest &+ 1)
            rest &= rest &- 1
        }
        return taken
    }
}
