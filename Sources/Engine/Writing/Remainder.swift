internal import CRDTCore
internal import PeerCrypto

/// What stays of the chains that a removal is about.
struct Remainder {
    private enum Subject {
        case user(UserID)
        /// A device, those that go with it, and devices that have left it since, whose older chains it vouches for.
        case device(DeviceID, UserID, keep: Set<DeviceID>, lost: Set<DeviceID>)
    }

    private let subject: Subject
    /// Up to when the chains of whom is removed stay, by what they say; nil for all that is here.
    private let time: WallTime?
    /// The first changes of some segments that do not stay.
    private var cuts: [SegmentIndex: UInt64] = [:]
    /// Changes that are here and do not stay.
    private(set) var cutChangeCount: UInt64 = 0

    init(of user: UserID, until time: WallTime? = nil) { (self.subject, self.time) = (.user(user), time) }

    init(
        of device: DeviceID,
        _ user: UserID,
        keeping keep: Set<DeviceID>,
        lost: Set<DeviceID>,
        until time: WallTime? = nil
    ) {
        (self.subject, self.time) = (.device(device, user, keep: keep, lost: lost), time)
    }

    /// Has a change, and what comes behind it in its chain, not stay.
    mutating func end(before change: SegmentPoint) {
        self.cuts[change.segment] = min(self.cuts[change.segment] ?? .max, change.sequence)
    }

    /// The sequence of the last change of a segment that stays, 0 if none does; nil if the removal is not about it.
    fileprivate mutating func end(
        of segment: SegmentIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> UInt64? {
        guard let introduction = rows.segment(segment).introduction, let author = ChainAuthor(introduction) else {
            return nil
        }
        let isLost: Bool
        switch self.subject {
        case .user(let user):
            guard author.user == user else { return nil }
            isLost = true
        case .device(let device, let user, let keep, let lost):
            guard author.user == user, author.goes(with: device, keeping: keep) else { return nil }
            isLost = lost.contains(author.line[0])
        }
        let progress = rows.progress(of: segment)
        var end = progress.storedSequence
        guard isLost else { return end }
        if let time { end = try rows.segment(segment).origin == nil ? rows.end(of: segment, until: time) : 0 }
        if let cut = self.cuts[segment] { end = min(end, cut - 1) }
        let kept = min(progress.storedSequence, max(end, progress.firstSequence - 1))
        self.cutChangeCount += progress.storedSequence - kept
        return end
    }
}

extension StoreTransaction {
    /// Who writes each device's chains, by its certificates of the highest generation.
    var authors: [DeviceID: ChainAuthor] {
        var authors: [DeviceID: ChainAuthor] = [:]
        for segment in self.segmentIndices {
            guard let author = self.segment(segment).introduction.flatMap({ ChainAuthor($0) }) else { continue }
            if authors[author.line[0]].map({ $0.generation < author.generation }) ?? true {
                authors[author.line[0]] = author
            }
        }
        return authors
    }

    /// The removals of devices that count in a circle.
    func deviceRemovals(
        in circle: Circle
    ) -> [(place: StatementPlace, author: ChainAuthor, device: DeviceID, keep: Set<DeviceID>)] {
        self.circles.index(of: circle).flatMap { self.rights.rights(in: $0)?.deviceRemovals } ?? []
    }

    /// The last changes that stay of the chains in a circle that a removal is about, of those that came here first if
    /// there are more than it may name: who is to be removed could have opened any number.
    mutating func heads(
        in circle: Circle,
        of remainder: inout Remainder
    ) throws(StoreError) -> [NamedChange] {
        guard let number = self.circles.index(of: circle) else { return [] }
        var heads: [NamedChange] = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            guard progress.circle == number, let end = try remainder.end(of: segment, in: &self) else { continue }
            let place = SegmentPoint(segment: segment, sequence: end)
            guard end >= progress.firstSequence, heads.count < Limits.removalHeadCountMax,
                let hash = try self.hash(at: place)
            else { continue }
            heads.append(NamedChange(replica: self.replicaID(segment), sequence: end, hash: hash))
        }
        return heads
    }

    /// The sequence of the last change of a segment that says to be from a time or before it; 0 if there is none.
    fileprivate mutating func end(of segment: SegmentIndex, until time: WallTime) throws(StoreError) -> UInt64 {
        let progress = self.progress(of: segment)
        var (low, high) = (progress.firstSequence, progress.storedSequence + 1)
        while low < high {
            let middle = low + (high - low) / 2
            let stamp = try self.header(at: SegmentPoint(segment: segment, sequence: middle))?.stamp ?? .zero
            if stamp.milliseconds <= time.milliseconds { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// The removals of a user that count, which a new grant has to name, the last ones if there are many.
    mutating func removalsToOverride(of user: UserID, in circle: Circle) throws(StoreError) -> [StatementID] {
        let rights = self.circles.index(of: circle).flatMap { self.rights.rights(in: $0) }
        guard let rights else { return [] }
        var found: [StatementID] = []
        for place in rights.standingRemovals(of: user).suffix(Limits.grantDespiteCountMax) {
            if let statement = try self.statementID(at: place) { found.append(statement) }
        }
        return found
    }
}
