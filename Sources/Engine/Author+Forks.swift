internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// What became of a part of a branch.
enum BranchOutcome {
    case nothing
    case proof(ForkProof, Dot)
    /// It was our own, and has been written again.
    case rewritten(BranchPart)
    case kept(BranchPart)
}

/// A part of a branch that does not stand in the log here.
struct BranchPart {
    var replica: ReplicaID
    /// What it was asked for with.
    var awaited: Conversation.AwaitedBranch
    var firstHash: Hash256
    var lastSequence: UInt64
    var lastHash: Hash256
}

/// Proving forks, and writing again what was excluded from our own.
extension Author {
    /// A proof from our own branch and a verified run of another; nil if ours holds no signature there.
    func forkProof(
        at sequence: UInt64,
        theirs: VerifiedRun,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ForkProof? {
        let record = transaction.replica(index)
        guard let introduction = record.introduction ?? theirs.introduction,
            let ours = try transaction.loadRun(of: index, from: sequence, limits: RunLimits(), signed: true),
            let ourSignature = ours.signature, let theirSignature = theirs.run.signature
        else { return nil }
        var previous = ChainHash.origin(self.membership.workspace)
        if sequence > 1 { previous = try transaction.hash(of: index, sequence: sequence - 1) ?? previous }
        let skipped = Int(clamping: sequence - theirs.run.firstSequence)
        let theirHeaders = ChainHash.headers(of: theirs.run, previous: theirs.previous, self.cryptography)
        return ForkProof(
            introduction: introduction,
            first: ForkProof.Branch(
                headers: ChainHash.headers(of: ours, previous: previous, self.cryptography),
                signature: ourSignature
            ),
            second: ForkProof.Branch(headers: Array(theirHeaders.dropFirst(skipped)), signature: theirSignature)
        )
    }

    /// Keeps a proof, takes the disputed changes out of the state, and, if they are this device's own, writes them
    /// again under a new replica id, all in the transaction.
    mutating func record(
        _ proof: ForkProof,
        _ dot: Dot,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let index = try transaction.replicaIndex(of: dot.replica)
        let before = transaction.replica(index)
        guard dot.sequence < before.forkSequence ?? .max else { return }
        try transaction.setFact(NodeFact.fork(dot.replica), proof.encoded)
        let isOwn = proof.introduction.device == self.identity.device
        var changes: [OwnChange] = []
        if isOwn, before.storedSequence >= dot.sequence {
            let end = before.forkSequence.map { $0 - 1 } ?? before.storedSequence
            changes = try self.ownChanges(of: index, after: dot.sequence - 1, upTo: end, in: &transaction)
        }
        try merge.exclude(index, fromFork: dot.sequence, in: &transaction)
        try merge.finish(in: &transaction)
        guard isOwn else { return }
        if self.activeReplica == index {
            self.activeReplica = nil
            self.newReplicaReason = .forked
            try transaction.setFact(NodeFact.activeReplica, nil)
        }
        var own: [Hash256] = []
        for sequence in dot.sequence..<max(dot.sequence, before.storedSequence + 1) {
            guard let hash = try transaction.hash(of: index, sequence: sequence) else { break }
            own.append(hash)
        }
        try ReauthoredBranches.add(own, of: dot.replica, in: &transaction)
        #if PLANTED_BUGS
        if PlantedBug.branchNotRewritten.isPlanted { return }
        #endif
        try self.reauthor(changes, in: &transaction)
    }

    /// Writes again what has come of a chain of ours only after a fork before it was proved: a lost database held it.
    mutating func reauthorBehindFork(
        _ index: ReplicaIndex,
        after stored: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.replica(index)
        guard let fork = record.forkSequence, record.storedSequence >= fork, record.storedSequence > stored else {
            return
        }
        let known = try ReauthoredBranches.hashes(of: record.id, in: &transaction)
        var fresh: [Hash256] = []
        for sequence in max(fork, stored + 1)...record.storedSequence {
            guard let hash = try transaction.hash(of: index, sequence: sequence) else { break }
            if known.contains(hash) { fresh = [] } else { fresh.append(hash) }
        }
        let changes = try self.ownChanges(
            of: index,
            after: record.storedSequence - UInt64(fresh.count),
            upTo: record.storedSequence,
            in: &transaction
        )
        try self.reauthor(changes, in: &transaction)
        try ReauthoredBranches.add(fresh, of: record.id, in: &transaction)
    }

    private mutating func reauthor(
        _ changes: [OwnChange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let first = changes.first(where: { !$0.edits.isEmpty }) else { return }
        let base = Stamp(rawValue: first.stamp.rawValue > 1 ? first.stamp.rawValue - 2 : 0)
        try self.reauthor(changes, stampedAfter: base, keepingStamps: true, first: [], in: &transaction)
        self.reauthoredChangeCount += changes.count
    }

    /// Checks a part of a branch: writes it again if the chain is our own, and keeps it for its author if it is not.
    mutating func take(
        _ run: Run,
        awaited: [Conversation.AwaitedBranch],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        guard let index = transaction.existingReplicaIndex(of: run.replica), !run.changes.isEmpty, !run.leavesOut,
            run.headerByteCountMax <= Author.headerByteCountMax
        else {
            return .nothing
        }
        let record = transaction.replica(index)
        let expected = record.forkSequence == nil ? [] : awaited.filter { $0.sequence == run.firstSequence }
        for branch in expected {
            guard let verified = self.verified(run, after: branch.previous, of: record) else { continue }
            return try self.take(verified, branch, index, in: &transaction)
        }
        var previous = ChainHash.origin(self.membership.workspace)
        if run.firstSequence > 1 {
            previous = try transaction.hash(of: index, sequence: run.firstSequence - 1) ?? previous
        }
        // The peer's branch may part from ours before this run: without that there is nothing to check it by.
        guard expected.isEmpty, let verified = self.verified(run, after: previous, of: record),
            let hash = try transaction.hash(of: index, sequence: run.firstSequence), hash != verified.hashes[0],
            let proof = try self.forkProof(at: run.firstSequence, theirs: verified, index, in: &transaction)
        else { return .nothing }
        return .proof(proof, Dot(replica: run.replica, sequence: run.firstSequence))
    }

    private func verified(_ run: Run, after previous: Hash256, of record: ReplicaRecord) -> VerifiedRun? {
        try? VerifiedRun.verify(
            run,
            previous: previous,
            device: run.firstSequence == 1 ? nil : record.introduction?.device,
            membership: self.membership,
            self.cryptography
        )
    }

    private mutating func take(
        _ verified: VerifiedRun,
        _ expected: Conversation.AwaitedBranch,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        let record = transaction.replica(index)
        guard let fork = record.forkSequence, let head = verified.hashes.last else { return .nothing }
        var part = BranchPart(
            replica: record.id,
            awaited: expected,
            firstHash: verified.hashes[0],
            lastSequence: verified.run.lastSequence,
            lastHash: head
        )
        if record.introduction?.device == self.identity.device {
            try self.rewrite(verified, fork: fork, index, in: &transaction)
            return .rewritten(part)
        }
        #if PLANTED_BUGS
        if PlantedBug.branchNotPassedOn.isPlanted { return .nothing }
        #endif
        // Since it was asked for, the fork may have been found to be earlier.
        guard fork == expected.fork else { return .nothing }
        let own = try transaction.hash(of: index, sequence: fork)
        let end = try KeptBranches.end(of: record.id, fork: fork, in: &transaction)
        if let end, end.sequence > verified.run.firstSequence {
            // It has come another way meanwhile: of this peer only what follows is wanted.
            part.lastSequence = end.sequence - 1
            part.lastHash = end.previous
            return .kept(part)
        }
        guard (end?.sequence ?? fork) == verified.run.firstSequence,
            end.map({ $0.previous == verified.previous }) ?? (verified.hashes[0] != own),
            try KeptBranches.add(verified, fork: fork, in: &transaction)
        else { return .nothing }
        return .kept(part)
    }

    /// Writes again what has not been yet.
    private mutating func rewrite(
        _ part: VerifiedRun,
        fork: UInt64,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let replica = transaction.replica(index).id
        // What earlier parts name, the new chain names already.
        var context = try self.context(of: index, at: fork - 1, in: &transaction)
        if fork > 1 { context[replica] = fork - 1 }
        let changes = try self.ownChanges(in: part.run, context: &context, in: &transaction)
        let known = try ReauthoredBranches.hashes(of: replica, in: &transaction)
        let knownCount = part.hashes.lastIndex(where: known.contains).map { $0 + 1 } ?? 0
        try self.reauthor(Array(changes.dropFirst(knownCount)), in: &transaction)
        // Each of them, for another peer may hold less of it, or send it in other parts.
        try ReauthoredBranches.add(part.hashes, of: replica, in: &transaction)
    }
}

/// The changes of its own forked chains that a device has written again, so that none is twice: their hashes.
enum ReauthoredBranches {
    static func hashes(
        of replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Set<Hash256> {
        #if PLANTED_BUGS
        if PlantedBug.branchRewrittenAgain.isPlanted { return [] }
        #endif
        let bytes = try transaction.fact(NodeFact.reauthored(replica)) ?? []
        return Set(
            stride(from: 0, to: bytes.count - 31, by: 32).compactMap { start in
                Bytes32(bytes[start..<start + 32]).map { Hash256(bytes: $0) }
            }
        )
    }

    static func add(
        _ hashes: [Hash256],
        of replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let known = try self.hashes(of: replica, in: &transaction)
        let fresh = hashes.filter { !known.contains($0) }
        guard !fresh.isEmpty else { return }
        var bytes = try transaction.fact(NodeFact.reauthored(replica)) ?? []
        for hash in fresh { hash.bytes.append(to: &bytes) }
        try transaction.setFact(NodeFact.reauthored(replica), bytes)
    }
}
