internal import CRDTCore
internal import SyncProtocol

/// What became of one run.
enum RunAcceptance {
    case stored
    /// All of it was known.
    case duplicate
    /// It and what is stored prove two changes with one dot.
    case fork(ForkProof, Dot)
    case violation(String)
}

/// Checking what peers send before it is kept.
extension Author {
    /// Checks a run against what is stored, and merges what is new.
    func accept(
        _ run: Run,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunAcceptance {
        guard !run.changes.isEmpty else { return .violation("an empty run") }
        let known = transaction.existingReplicaIndex(of: run.replica).map { transaction.replica($0) }
        let stored = known?.storedSequence ?? 0
        #if PLANTED_BUGS
        if PlantedBug.duplicateIsViolation.isPlanted, run.lastSequence <= stored { return .violation("known") }
        #endif
        guard run.lastSequence > stored else { return .duplicate }
        guard run.firstSequence <= stored + 1 else { return .violation("a run that leaves a gap in its chain") }
        var previous = known?.storedHash ?? ChainHash.origin(self.membership.workspace)
        if run.firstSequence == 1 {
            previous = ChainHash.origin(self.membership.workspace)
        } else if run.firstSequence <= stored, let index = transaction.existingReplicaIndex(of: run.replica) {
            previous = try transaction.hash(of: index, sequence: run.firstSequence - 1) ?? previous
        }
        let verified: VerifiedRun
        do throws(RunRejection) {
            verified = try VerifiedRun.verify(
                run,
                previous: previous,
                device: run.firstSequence == 1 ? nil : known?.introduction?.device,
                membership: self.membership,
                self.cryptography
            )
        } catch {
            return .violation("a run was refused: \(error)")
        }
        if run.firstSequence <= stored, let index = transaction.existingReplicaIndex(of: run.replica) {
            if let fork = try self.firstDifference(verified, index, upTo: stored, in: &transaction) {
                return try self.prove(fork, verified, index, in: &transaction)
            }
        }
        guard let fresh = verified.suffix(after: stored) else { return .duplicate }
        switch try merge.receive(fresh, in: &transaction) {
        case .stored: return .stored
        case .doesNotFit: return .violation("a run that does not fit its chain")
        }
    }

    /// The first sequence at which a verified run and the stored chain differ, if they do.
    private func firstDifference(
        _ verified: VerifiedRun,
        _ index: ReplicaIndex,
        upTo stored: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UInt64? {
        for (position, hash) in verified.hashes.enumerated() {
            let sequence = verified.run.firstSequence + UInt64(position)
            guard sequence <= stored else { return nil }
            if try transaction.hash(of: index, sequence: sequence) != hash { return sequence }
        }
        return nil
    }

    private func prove(
        _ sequence: UInt64,
        _ theirs: VerifiedRun,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunAcceptance {
        guard let proof = try self.forkProof(at: sequence, theirs: theirs, index, in: &transaction) else {
            return .duplicate
        }
        return .fork(proof, Dot(replica: theirs.run.replica, sequence: sequence))
    }
}
