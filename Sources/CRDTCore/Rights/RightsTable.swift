/// Where statements about rights are that a store holds, and how far each segment counts by what is settled of them.
///
/// The state agrees with what is settled: operations beyond that have no rows. Each circle is judged by itself.
package struct RightsTable: Sendable {
    /// What is known of one circle.
    private struct Entry: Sendable {
        /// All statements, in the order in which they came.
        var places: [StatementPlace] = []
        /// What the first of them say.
        var said: [CircleRights.Said] = []
        /// Who may do what by all that is settled; nil if nothing has been said.
        var rights: CircleRights?
        /// Changes that statements and chains name and that are not here.
        var awaited: [ReplicaID: Set<UInt64>] = [:]
    }

    private var entries: [CircleIndex: Entry] = [:]
    /// How far segments count that do not count as a whole.
    private var limits: [SegmentIndex: RightEnds] = [:]
    /// Whether the limits are those of what is stored: they follow from it, and no store keeps them.
    package private(set) var isReady = false
    /// The circles of which something came since that may turn verdicts.
    private(set) var unsettled: Set<CircleIndex> = []
    /// The circles that the user of the store has left, which show nothing there.
    private(set) var left: Set<CircleIndex> = []
    /// The circles of others in which nobody has ever said that the user of the store reads them, and which show
    /// nothing there: what somebody else may read, a member can send to anyone.
    private(set) var unread: Set<CircleIndex> = []
    /// The circles in which somebody has been granted something that nobody has taken back.
    package private(set) var shared: Set<CircleIndex> = []
    /// Rises whenever it may have turned who may do what.
    package private(set) var revision = 0

    package init() {}

    /// How far a segment counts; nil if all of it does.
    package func limits(of segment: SegmentIndex) -> RightEnds? {
        self.limits.isEmpty ? nil : self.limits[segment]
    }

    /// The circles that show nothing to the user of the store.
    var unseen: Set<CircleIndex> { self.unread.isEmpty ? self.left : self.left.union(self.unread) }

    /// Whether a circle shows nothing to the user of the store.
    package func isUnseen(_ circle: CircleIndex) -> Bool {
        self.left.contains(circle) || self.unread.contains(circle)
    }

    func isUnread(_ circle: CircleIndex) -> Bool { self.unread.contains(circle) }

    /// Takes note of whether the user of the store reads a circle, or has read it.
    mutating func note(_ circle: CircleIndex, isUnread: Bool) {
        if isUnread { self.unread.insert(circle) } else { self.unread.remove(circle) }
    }

    /// Whether the user of the store has left a circle.
    package func isLeft(_ circle: CircleIndex) -> Bool { self.left.contains(circle) }

    /// Who may do what in a circle, by all that is settled; nil if nothing has been said there.
    package func rights(in circle: CircleIndex) -> CircleRights? { self.entries[circle]?.rights }

    /// All statements of a circle, in the order in which they came.
    func places(in circle: CircleIndex) -> [StatementPlace] { self.entries[circle]?.places ?? [] }

    /// What the first statements of a circle say: those that were judged once.
    func said(in circle: CircleIndex) -> [CircleRights.Said] { self.entries[circle]?.said ?? [] }

    /// Keeps what the statements of a circle say.
    mutating func keep(_ said: [CircleRights.Said], in circle: CircleIndex) {
        guard !said.isEmpty else { return }
        self.entries[circle, default: Entry()].said = said
    }

    /// Adds a statement, which has no effect until all are settled.
    package mutating func add(_ place: StatementPlace, in circle: CircleIndex) {
        self.entries[circle, default: Entry()].places.append(place)
        self.unsettled.insert(circle)
    }

    /// Whether any of some changes is one that others of its circle name and have waited for.
    func awaits(_ replica: ReplicaID, _ sequences: ClosedRange<UInt64>, in circle: CircleIndex) -> Bool {
        guard !self.entries.isEmpty, let awaited = self.entries[circle]?.awaited[replica] else { return false }
        return awaited.contains { sequences.contains($0) }
    }

    mutating func note(missing change: NamedChange, in circle: CircleIndex) {
        self.entries[circle, default: Entry()].awaited[change.replica, default: []].insert(change.sequence)
    }

    /// Says that something came that others name.
    mutating func unsettle(_ circle: CircleIndex) { self.unsettled.insert(circle) }

    /// Takes what follows from all statements of a circle.
    ///
    /// `limits`: how far its segments count that do not count as a whole; `user`: whose store it is.
    mutating func settle(
        _ circle: CircleIndex,
        _ rights: CircleRights?,
        _ limits: [SegmentIndex: RightEnds?],
        missing: [NamedChange],
        for user: UserID?
    ) {
        self.revision += 1
        let isLeft = user.flatMap { rights?.hasLeft($0) } ?? false
        if isLeft { self.left.insert(circle) } else { self.left.remove(circle) }
        let isShared = rights?.isShared ?? false
        if isShared { self.shared.insert(circle) } else { self.shared.remove(circle) }
        for (segment, ends) in limits { self.limits[segment] = ends }
        if rights != nil || !missing.isEmpty || self.entries[circle] != nil {
            self.entries[circle, default: Entry()].rights = rights
            self.entries[circle]?.awaited = [:]
        }
        for change in missing { self.note(missing: change, in: circle) }
        self.unsettled.remove(circle)
    }

    /// Says that the limits are those of what is stored.
    mutating func prepare() { self.isReady = true }

    /// Takes how far a segment counts that came since.
    mutating func limit(_ segment: SegmentIndex, to ends: RightEnds?) { self.limits[segment] = ends }
}
