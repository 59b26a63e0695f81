internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What became of a part of a branch.
enum BranchOutcome {
    case nothing
    case proof(ForkProof, Dot)
    /// Nothing in it was new.
    case known
    /// It was our own, and has been written again.
    case rewritten
    case kept
}

/// Taking in what does not stand in the log of a chain that forks.
extension Author {
    /// All that is known of a chain.
    func branchTree(
        of index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchTree {
        try BranchTree(of: index, origin: ChainHash.origin(self.membership.workspace), in: &transaction)
    }

    /// Checks a part of a branch: writes it again if the chain is our own, and keeps it for its author if it is not.
    ///
    /// One that parts from our log where no fork was known proves one.
    mutating func take(
        _ part: BranchPart,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        let run = part.run
        guard let index = transaction.existingReplicaIndex(of: run.replica), !run.changes.isEmpty, !run.leavesOut,
            run.headerByteCountMax <= Author.headerByteCountMax
        else {
            return .nothing
        }
        let record = transaction.replica(index)
        var tree = try self.branchTree(of: index, in: &transaction)
        let before = ChainPoint(sequence: run.firstSequence - 1, hash: part.previous)
        guard let fork = record.forkSequence, fork <= run.firstSequence else {
            // What it goes on from may be beyond where the two part: without that there is nothing to check it by.
            guard try tree.holds(before, in: &transaction), let verified = self.verified(part, of: record),
                let hash = try transaction.hash(of: index, sequence: run.firstSequence), hash != verified.hashes[0],
                let proof = try self.forkProof(at: run.firstSequence, theirs: verified, index, in: &transaction)
            else { return .nothing }
            return .proof(proof, Dot(replica: run.replica, sequence: run.firstSequence))
        }
        guard try tree.holds(before, in: &transaction) else { return .nothing }
        // Who has a change has all before it, and there is nothing to check in what is known.
        let hashes = ChainHash.hashes(of: run, previous: part.previous, self.cryptography)
        var knownCount = 0
        for hash in hashes {
            let point = ChainPoint(sequence: run.firstSequence + UInt64(knownCount), hash: hash)
            guard try tree.holds(point, in: &transaction) else { break }
            knownCount += 1
        }
        if knownCount == hashes.count { return .known }
        guard let verified = self.verified(part, of: record) else { return .nothing }
        return try self.take(verified, knownCount: knownCount, &tree, index, in: &transaction)
    }

    private func verified(_ part: BranchPart, of record: ReplicaRecord) -> VerifiedRun? {
        try? VerifiedRun.verify(
            part.run,
            previous: part.previous,
            device: part.run.firstSequence == 1 ? nil : record.device,
            membership: self.membership,
            self.cryptography
        )
    }

    private mutating func take(
        _ part: VerifiedRun,
        knownCount: Int,
        _ tree: inout BranchTree,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        let record = transaction.replica(index)
        guard record.device == self.identity.device else {
            #if PLANTED_BUGS
            if PlantedBug.branchNotPassedOn.isPlanted { return .nothing }
            #endif
            let isKept = try tree.add(part, knownCount: knownCount, keepingChanges: true, in: &transaction)
            return isKept ? .kept : .nothing
        }
        #if PLANTED_BUGS
        let isRemembered = !PlantedBug.branchRewrittenAgain.isPlanted
        #else
        let isRemembered = true
        #endif
        // What cannot be remembered would be written again with each session.
        if isRemembered {
            guard try tree.add(part, knownCount: knownCount, keepingChanges: false, in: &transaction) else {
                return .nothing
            }
        }
        // What earlier parts name, the new chain names already.
        let trunkEnd = (record.forkSequence ?? 1) - 1
        var context = try self.context(of: index, at: trunkEnd, in: &transaction)
        if trunkEnd > 0 { context[record.id] = trunkEnd }
        let changes = try self.ownChanges(in: part.run, context: &context, in: &transaction)
        try self.reauthor(Array(changes.dropFirst(knownCount)), in: &transaction)
        return .rewritten
    }
}
