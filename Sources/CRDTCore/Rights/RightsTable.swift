/// Where statements about rights are that a store holds, and how far each segment counts by what is settled of them.
///
/// The state agrees with what is settled: operations beyond that have no rows.
package struct RightsTable: Sendable {
    /// All statements, in the order in which they came.
    package private(set) var places: [StatementPlace] = []
    /// How far segments count that do not count as a whole.
    private var limits: [SegmentIndex: RightEnds] = [:]
    /// Who may do what by all that is settled; nil if nothing has been said.
    private(set) var circle: CircleRights?
    /// Whether the limits are those of what is stored: they follow from it, and no store keeps them.
    private(set) var isReady = false
    /// Whether something came since that may turn verdicts.
    private(set) var isUnsettled = false
    /// Changes that statements and chains name and that are not here.
    private var awaited: [ReplicaID: Set<UInt64>] = [:]

    package init() {}

    /// How far a segment counts; nil if all of it does.
    package func limits(of segment: SegmentIndex) -> RightEnds? {
        self.limits.isEmpty ? nil : self.limits[segment]
    }

    /// Adds a statement, which has no effect until all are settled.
    package mutating func add(_ place: StatementPlace) {
        self.places.append(place)
        self.isUnsettled = true
    }

    /// Whether any of some changes is one that others name and have waited for.
    func awaits(_ replica: ReplicaID, _ sequences: ClosedRange<UInt64>) -> Bool {
        guard !self.awaited.isEmpty, let awaited = self.awaited[replica] else { return false }
        return awaited.contains { sequences.contains($0) }
    }

    mutating func note(missing change: NamedChange) {
        self.awaited[change.replica, default: []].insert(change.sequence)
    }

    /// Says that something came that others name.
    mutating func unsettle() { self.isUnsettled = true }

    /// Takes what follows from all statements.
    mutating func settle(
        _ circle: CircleRights?,
        _ limits: [SegmentIndex: RightEnds],
        missing: [NamedChange]
    ) {
        (self.circle, self.limits, self.isReady, self.isUnsettled) = (circle, limits, true, false)
        self.awaited = [:]
        for change in missing { self.note(missing: change) }
    }

    /// Takes how far a segment counts that came since.
    mutating func limit(_ segment: SegmentIndex, to ends: RightEnds?) { self.limits[segment] = ends }
}
