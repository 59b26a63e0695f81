internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

enum BranchOutcome {
    case nothing
    case refused(String)
    case proof(ForkProof, Dot)
    case reauthored(upTo: UInt64, Hash256)
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
        if let own = try transaction.hash(of: index, sequence: dot.sequence) {
            try ReauthoredBranches.add(own, upTo: before.storedSequence, of: dot.replica, in: &transaction)
        }
        #if PLANTED_BUGS
        if PlantedBug.branchNotRewritten.isPlanted { return }
        #endif
        try self.reauthor(changes, keepingOrderOf: changes, in: &transaction)
    }

    private mutating func reauthor(
        _ changes: [OwnChange],
        keepingOrderOf _: [OwnChange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let first = changes.first(where: { !$0.edits.isEmpty }) else { return }
        let base = Stamp(rawValue: first.stamp.rawValue > 1 ? first.stamp.rawValue - 2 : 0)
        try self.reauthor(changes, stampedAfter: base, keepingStamps: true, first: [], in: &transaction)
        self.reauthoredChangeCount += changes.count
    }

    mutating func take(
        _ run: Run,
        awaited: Conversation.AwaitedBranch?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        guard let index = transaction.existingReplicaIndex(of: run.replica), !run.changes.isEmpty, !run.leavesOut,
            run.headerByteCountMax <= Author.headerByteCountMax
        else {
            return .nothing
        }
        let record = transaction.replica(index)
        let isOwn = record.introduction?.device == self.identity.device
        let isAwaited = isOwn && record.forkSequence != nil && awaited?.sequence == run.firstSequence
        var previous = ChainHash.origin(self.membership.workspace)
        if run.firstSequence > 1 {
            previous = try transaction.hash(of: index, sequence: run.firstSequence - 1) ?? previous
        }
        if isAwaited, let awaited { previous = awaited.previous }
        let verified: VerifiedRun
        do throws(RunRejection) {
            verified = try VerifiedRun.verify(
                run,
                previous: previous,
                device: run.firstSequence == 1 ? nil : record.introduction?.device,
                membership: self.membership,
                self.cryptography
            )
        } catch {
            // The peer's branch may part from ours before this run: without that there is nothing to check it by.
            return .nothing
        }
        if isAwaited { return try self.rewrite(verified, record, index, in: &transaction) }
        guard let hash = try transaction.hash(of: index, sequence: run.firstSequence), hash != verified.hashes[0],
            let proof = try self.forkProof(at: run.firstSequence, theirs: verified, index, in: &transaction)
        else { return .nothing }
        return .proof(proof, Dot(replica: run.replica, sequence: run.firstSequence))
    }

    private mutating func rewrite(
        _ verified: VerifiedRun,
        _ record: ReplicaRecord,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchOutcome {
        guard let fork = record.forkSequence, let head = verified.hashes.last else { return .nothing }
        let isDone = try ReauthoredBranches.contains(head, of: record.id, in: &transaction)
        if !isDone {
            var context = try self.context(of: index, at: fork - 1, in: &transaction)
            if fork > 1 { context[record.id] = fork - 1 }
            let changes = try self.ownChanges(in: verified.run, context: &context, in: &transaction)
            try self.reauthor(changes, keepingOrderOf: changes, in: &transaction)
            for (position, hash) in verified.hashes.enumerated() {
                let sequence = verified.run.firstSequence + UInt64(position)
                if hash == head || sequence == fork {
                    try ReauthoredBranches.add(hash, upTo: sequence, of: record.id, in: &transaction)
                }
            }
        }
        return .reauthored(upTo: verified.run.lastSequence, head)
    }
}

/// Which branches of its own forked chains a device has written again, so that no branch is written again twice.
enum ReauthoredBranches {
    static func contains(
        _ hash: Hash256,
        of replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        #if PLANTED_BUGS
        if PlantedBug.branchRewrittenAgain.isPlanted { return false }
        #endif
        let bytes = try transaction.fact(NodeFact.reauthored(replica)) ?? []
        return stride(from: 0, to: bytes.count - 31, by: 32).contains { start in
            Bytes32(bytes[start..<start + 32]) == hash.bytes
        }
    }

    static func add(
        _ hash: Hash256,
        upTo _: UInt64,
        of replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard try !self.contains(hash, of: replica, in: &transaction) else { return }
        var bytes = try transaction.fact(NodeFact.reauthored(replica)) ?? []
        hash.bytes.append(to: &bytes)
        try transaction.setFact(NodeFact.reauthored(replica), bytes)
    }
}
