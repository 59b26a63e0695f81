internal import CRDTCore

/// Going on where the last run of the program has ended.
extension ReplicaAuthor {
    /// Takes up the replica that was written under, unless the database is a copy or was put back, and begins an epoch
    /// of commits.
    mutating func open(
        _ configuration: NodeConfiguration,
        epoch: UInt64,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        // Nothing is deferred: nobody waits yet.
        var merge = Merge(
            MergePolicy(now: self.now, founder: self.membership.founder),
            deferred: DeferredWork(hasRestamps: !transaction.restamps.unsettled.isEmpty)
        )
        try merge.finish(in: &transaction)
        if let bytes = try transaction.fact(NodeFact.activeReplica), let id = Bytes16(bytes) {
            self.state.activeSegment = transaction.firstSegment(of: ReplicaID(bytes: id))
        }
        // The token of a database that was put back or copied is an old one, or the other's.
        let token = try transaction.fact(NodeFact.storeToken)
        let isCopy = token.map { !configuration.acceptedTokens.contains($0) } ?? false
        var history = try transaction.fact(NodeFact.history).flatMap { try? DatabaseEpochs(decoding: $0) }
        history = history ?? DatabaseEpochs()
        history?.begin(epoch, after: transaction.lastCommit)
        try transaction.setFact(NodeFact.history, history?.encoded)
        // It must never write under the ids its original may still be writing under, be it in circles alone.
        if isCopy {
            try self.leaveReplica(.copiedOrRestored, in: &transaction)
        } else if let active = self.state.activeSegment, transaction.progress(of: active).next != nil {
            try self.leaveReplica(.forked, in: &transaction)
        }
        try transaction.setFact(NodeFact.storeToken, configuration.nextToken)
        if let kept = try transaction.fact(NodeFact.erasures).flatMap({ try? ErasurePace(decoding: $0) }) {
            self.state.erasures = kept
        }
        self.state.nextErasure = try transaction.nextErasure()
        self.state.hasErasures = try !transaction.erasures(after: nil).isEmpty
        self.state.holdsErasedBytes = try transaction.fact(NodeFact.erasedBytes) != nil
        self.state.ended = try transaction.endedCircles()
        self.state.removal = try transaction.fact(NodeFact.removal).flatMap { try? ToldRemoval(decoding: $0) }
        self.state.missesContent = try !transaction.isComplete()
    }
}
