internal import CRDTCore
internal import PeerCrypto

/// When this device must go on under a new replica id.
extension Node where Store: ~Copyable {
    /// If our last changes are stamped far ahead of what the clock says now, takes them back and writes them again
    /// under a new replica id.
    ///
    /// Returns whether it did.
    mutating func repairClockIfNeeded() -> Bool {
        let isAhead = HybridClock.isHeld(self.author.clock.last, at: self.now.wall)
        guard self.author.activeReplica != nil || isAhead else { return false }
        let standing = self.author.standing
        let isWitnessed = self.clockWitness?.agrees(with: self.now) ?? false
        do throws(StoreError) {
            let isRepaired = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try self.author.repairClock(isWitnessed: isWitnessed, in: &transaction)
            }
            guard isRepaired else { return false }
            self.clockAheadMilliseconds = nil
            self.clockRepairTried = nil
            // What others stamped ahead of the clock that is right now, and this device has applied, is held again.
            self.noteWaits()
            self.effects.append(.notice(.newReplica(.clockRepaired)))
            self.pumpAll()
            return true
        } catch {
            self.author.standing = standing
            self.note(error)
        }
        return false
    }

    /// A peer has sent us changes of the chain we write that we did not have: the database was rolled back.
    ///
    /// (To be sent what we do have says nothing: it may have come by way of others before its sender heard that we have
    /// it.) It must not write under that id again; what the peer holds comes back as any change does.
    mutating func adoptRollbacks(_ fresh: [Dot]) {
        guard let index = self.author.activeReplica else { return }
        do throws(StoreError) {
            let record = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
                transaction.replica(index)
            }
            if fresh.contains(where: { $0.replica == record.id }) { try self.abandonReplica(.rolledBack) }
        } catch {
            self.note(error)
        }
    }

    /// The next write goes under a new replica id.
    mutating func abandonReplica(_ reason: NewReplicaReason) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.rollbackUnnoticed.isPlanted, reason == .rolledBack { return }
        #endif
        guard let index = self.author.activeReplica else { return }
        try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setFact(NodeFact.activeReplica, nil)
            // What was written under it with a clock ahead must still be written again once the clock is right.
            try FormerReplicas.add(transaction.replica(index).id, in: &transaction)
        }
        self.author.activeReplica = nil
        self.author.newReplicaReason = reason
    }
}
