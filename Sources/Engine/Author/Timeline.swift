internal import CRDTCore

/// What a chain belongs to: a circle, and in home the main timeline or a branch.
struct Timeline: Hashable {
    var circle: Circle
    /// Nil for the main timeline.
    var branch: BranchID?

    static let main = Timeline(circle: .home)

    init(circle: Circle, branch: BranchID? = nil) { (self.circle, self.branch) = (circle, branch) }

    /// The main timeline of home, or a branch.
    init(_ branch: BranchID?) { self.init(circle: .home, branch: branch) }
}

/// The replicas under which this device writes: one for each timeline, so that each has a chain of its own.
///
/// That of the main timeline is kept apart.
extension ReplicaAuthor {
    /// The segment that this device writes to a timeline under; nil if the next write makes one.
    ///
    /// One whose last change claims a time that is held is left, and so is one that does not say all that this device
    /// may write under.
    func segment(
        of timeline: Timeline,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> SegmentIndex? {
        var segment = self.state.activeSegment
        if timeline != .main {
            guard let replica = try self.replicas(in: &transaction)[timeline],
                let found = transaction.firstSegment(of: replica), transaction.segment(found).branch == timeline.branch,
                transaction.progress(of: found).next == nil,
                try !self.isToBeLeft(found, in: &transaction)
            else { return nil }
            segment = found
        }
        guard let segment else { return nil }
        return try self.isIntroducedAsNow(segment, in: &transaction) ? segment : nil
    }

    /// Remembers the replica that a timeline is written under.
    func note(
        _ replica: ReplicaID,
        of timeline: Timeline,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        var replicas = try self.replicas(in: &transaction)
        replicas[timeline] = replica
        try self.keep(replicas, in: &transaction)
    }

    /// Leaves the replicas of circles whose last change claims a time that is held: what is written now, and does not
    /// wait for that, makes new ones.
    func leaveHeldCircles(in transaction: inout some NodeTransaction) throws(StoreError) {
        let replicas = try self.replicas(in: &transaction)
        var kept = replicas
        for (timeline, replica) in replicas where timeline.branch == nil {
            guard let segment = transaction.firstSegment(of: replica),
                try self.isLastStampHeld(on: segment, in: &transaction)
            else { continue }
            kept[timeline] = nil
        }
        if kept.count < replicas.count { try self.keep(kept, in: &transaction) }
    }

    private func keep(
        _ replicas: [Timeline: ReplicaID],
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        var entries: [[UInt8]] = []
        for (timeline, replica) in replicas {
            var entry: [UInt8] = []
            timeline.circle.encode(to: &entry)
            entry.append(timeline.branch == nil ? 0 : 1)
            timeline.branch?.bytes.append(to: &entry)
            replica.bytes.append(to: &entry)
            entries.append(entry)
        }
        let bytes = entries.sorted { $0.lexicographicallyPrecedes($1) }.flatMap(\.self)
        try transaction.setFact(NodeFact.timelineReplicas, bytes)
    }

    private func replicas(in transaction: inout some NodeTransaction) throws(StoreError) -> [Timeline: ReplicaID] {
        var reader = ByteReader(try transaction.fact(NodeFact.timelineReplicas) ?? [])
        var replicas: [Timeline: ReplicaID] = [:]
        while let circle = try? Circle(decoding: &reader), let hasBranch = try? reader.byte() {
            var timeline = Timeline(circle: circle)
            if hasBranch == 1, let branch = try? reader.bytes16() { timeline.branch = BranchID(bytes: branch) }
            guard let replica = try? reader.bytes16() else { break }
            replicas[timeline] = ReplicaID(bytes: replica)
        }
        return replicas
    }
}
