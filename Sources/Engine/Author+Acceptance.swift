internal import CRDTCore
internal import SyncProtocol

/// What became of one run.
enum RunAcceptance {
    case stored
    /// All of it was known.
    case duplicate
    /// It and what is stored prove two changes with one dot.
    case fork(ForkProof, Dot)
    /// It goes on from another change than the one that is stored: one of the two is of a fork that the sender need not
    /// know of. Or its signature is false.
    case disputed
    /// It goes on from something that is not stored, beyond a proved fork: its sender has not heard of the fork yet,
    /// and to end the session would keep the proof from reaching it.
    case beyondFork
    case violation(String)
}

extension RunAcceptance {
    /// Whether nothing that comes after it over the same connection can be of use.
    var endsSession: Bool {
        switch self {
        case .disputed, .violation: true
        case .stored, .duplicate, .fork, .beyondFork: false
        }
    }
}

/// Checking what peers send before it is kept.
extension Author {
    /// Header bytes of one run: two of them, with what stands before them, must fit a proof that the chain forks.
    static let headerByteCountMax = (ForkProof.byteCountMax - (64 << 10)) / 2

    /// Checks a run against what is stored, and merges what is new.
    func accept(
        _ run: Run,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunAcceptance {
        guard !run.changes.isEmpty else { return .violation("an empty run") }
        guard !run.leavesOut else { return .violation("a run of which something was left out") }
        guard run.headerByteCountMax <= Author.headerByteCountMax else {
            return .violation("a run too large to prove a fork with")
        }
        let known = transaction.existingReplicaIndex(of: run.replica).map { transaction.replica($0) }
        let stored = known?.storedSequence ?? 0
        #if PLANTED_BUGS
        if PlantedBug.duplicateIsViolation.isPlanted, run.lastSequence <= stored { return .violation("known") }
        #endif
        if try self.isKnown(run, upTo: stored, in: &transaction) { return .duplicate }
        guard run.firstSequence <= stored + 1 else {
            if let fork = known?.forkSequence, fork <= run.firstSequence { return .beyondFork }
            return .violation("a run that leaves a gap in its chain")
        }
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
                device: run.firstSequence == 1 ? nil : known?.device,
                membership: self.membership,
                self.cryptography
            )
        } catch {
            // Behind a proved fork it may go on from the other branch.
            if error == .badSignature, let fork = known?.forkSequence, fork < run.firstSequence { return .beyondFork }
            if error == .badSignature, run.firstSequence > 1 { return .disputed }
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

    /// Whether all of a run is stored, and the same: then its signature says nothing new.
    private func isKnown(
        _ run: Run,
        upTo stored: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard run.lastSequence <= stored, let index = transaction.existingReplicaIndex(of: run.replica) else {
            return false
        }
        // Beyond a proved fork nothing is compared any more.
        if let fork = transaction.replica(index).forkSequence, fork <= run.firstSequence { return true }
        var previous = ChainHash.origin(self.membership.workspace)
        if run.firstSequence > 1 {
            previous = try transaction.hash(of: index, sequence: run.firstSequence - 1) ?? previous
        }
        let last = ChainHash.hashes(of: run, previous: previous, self.cryptography).last
        return try transaction.hash(of: index, sequence: run.lastSequence) == last
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

extension Run {
    /// Whether an operation is not there but for its leaf.
    ///
    /// The signature holds without it, so the hash of the change is the same, and two peers of which one has it would
    /// have equal frontiers and different states. There is no rule yet by which a peer may leave something out.
    var leavesOut: Bool { self.changes.contains(where: \.hasLeftOut) }

    /// More than all its headers have bytes.
    var headerByteCountMax: Int { self.changes.count * 128 + self.contextEntries.count * 26 }
}
