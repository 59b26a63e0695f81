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
