internal import CRDTCore

/// The replicas under which this device writes to branches: one for each, so that each has a chain of its own.
extension ReplicaAuthor {
    /// The segment that this device writes to a branch under; nil if the next write makes one.
    ///
    /// One whose last change claims a time that is held is left, as that of the main timeline is.
    func segment(
        of branch: BranchID,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> SegmentIndex? {
        guard let replica = try self.branchReplicas(in: &transaction)[branch],
            let segment = transaction.firstSegment(of: replica), transaction.segment(segment).branch == branch,
            transaction.progress(of: segment).next == nil
        else { return nil }
        return try self.isToBeLeft(segment, in: &transaction) ? nil : segment
    }

    /// Remembers the replica that a branch is written under.
    func note(
        _ replica: ReplicaID,
        of branch: BranchID,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        var replicas = try self.branchReplicas(in: &transaction)
        replicas[branch] = replica
        var bytes: [UInt8] = []
        for (branch, replica) in replicas.sorted(by: { $0.key < $1.key }) {
            branch.bytes.append(to: &bytes)
            replica.bytes.append(to: &bytes)
        }
        try transaction.setFact(NodeFact.branchReplicas, bytes)
    }

    /// The other timelines of changes that are to be named, of which nobody else whom they name has merged these.
    ///
    /// That is so for what a branch begins with. `statements`: what is said of named changes in any case. `all`:
    /// whether those count too that others have merged, since not one change names all of them.
    func timelines(
        of news: [Point],
        besides branch: BranchID?,
        _ statements: [Edit],
        all: Bool,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> [BranchID?] {
        var known: Set<BranchID?> = [branch]
        var closed: Set<BranchID?> = []
        for case .branch(let statement) in statements {
            if case .merges(let other) = statement { known.insert(other) }
            if case .closes(let other) = statement { closed.insert(other) }
        }
        var (others, merged): ([SegmentPoint], SeenSegments) = ([], SeenSegments())
        for point in news {
            guard let place = try transaction.place(of: point), place.sequence > 0 else { continue }
            if known.contains(transaction.progress(of: place.segment).branch) {
                if !all { merged.formUnion(try transaction.context(at: place)) }
            } else {
                others.append(place)
            }
        }
        others.removeAll { $0.sequence <= merged[$0.segment] }
        let timelines = Set(others.map { transaction.progress(of: $0.segment).branch })
            .subtracting(known).subtracting(closed)
        return timelines.sorted { $0.isListed(before: $1) }
    }

    private func branchReplicas(
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> [BranchID: ReplicaID] {
        var reader = ByteReader(try transaction.fact(NodeFact.branchReplicas) ?? [])
        var replicas: [BranchID: ReplicaID] = [:]
        while let branch = try? reader.bytes16(), let replica = try? reader.bytes16() {
            replicas[BranchID(bytes: branch)] = ReplicaID(bytes: replica)
        }
        return replicas
    }
}

extension Edit {
    /// Whether it says something about the changes that its change names.
    var isAboutNamedChanges: Bool {
        switch self {
        case .branch(.merges), .branch(.closes): true
        default: false
        }
    }
}

extension BranchID? {
    /// The main timeline, which is nil, comes first, and then the branches by their ids.
    func isListed(before other: BranchID?) -> Bool {
        guard let other else { return false }
        return self.map { $0 < other } ?? true
    }
}
