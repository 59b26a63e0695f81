internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

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
        // What had come before as a branch has been written again then.
        var tree = try self.branchTree(of: index, in: &transaction)
        var written = max(fork - 1, stored)
        for sequence in written + 1...record.storedSequence {
            guard let hash = try transaction.hash(of: index, sequence: sequence) else { break }
            if try tree.isBesideLog(ChainPoint(sequence: sequence, hash: hash), in: &transaction) { written = sequence }
        }
        let changes = try self.ownChanges(
            of: index,
            after: written,
            upTo: record.storedSequence,
            in: &transaction
        )
        try self.reauthor(changes, in: &transaction)
    }

    mutating func reauthor(
        _ changes: [OwnChange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let first = changes.first(where: { !$0.edits.isEmpty }) else { return }
        let base = Stamp(rawValue: first.stamp.rawValue > 1 ? first.stamp.rawValue - 2 : 0)
        try self.reauthor(changes, stampedAfter: base, keepingStamps: true, first: [], in: &transaction)
        self.reauthoredChangeCount += changes.count
    }
}
