internal import CRDTCore
internal import PeerCrypto

/// Local writes: planned, stamped, signed, merged and made durable, then pushed.
extension Node where Store: ~Copyable {
    /// Writes what local callers want: each request is a change of its own, all become durable in one commit.
    mutating func write(_ requests: [WriteRequest]) {
        _ = self.repairClockIfNeeded()
        var answers: [(RequestID, Result<WriteReceipt, WriteRefusal>)] = []
        let standing = self.author.standing
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                answers = []
                for request in requests {
                    answers.append((request.id, try self.author.perform(request.transaction, in: &transaction)))
                    #if PLANTED_BUGS
                    if PlantedBug.answeredBeforeCommit.isPlanted, let (id, result) = answers.last {
                        self.effects.append(.answer(id, result))
                    }
                    #endif
                }
            }
            self.storeFailure = nil
        } catch {
            self.author.standing = standing
            self.note(error)
            answers = requests.map { ($0.id, .failure(.store(error))) }
        }
        for (id, result) in answers { self.effects.append(.answer(id, result)) }
        if standing.activeReplica != self.author.activeReplica, self.author.activeReplica != nil {
            self.effects.append(.notice(.newReplica(self.author.newReplicaReason)))
        }
        #if PLANTED_BUGS
        if PlantedBug.livePushForgotten.isPlanted { return }
        #endif
        self.pumpAll()
    }

    /// Opens this device's first replica, if it has none.
    ///
    /// Only its introduction lets devices that it was not paired with know it and let it in.
    mutating func introduce() {
        guard self.author.activeReplica == nil else { return }
        let device = self.author.identity.device
        let clockBefore = self.author.clock
        do throws(StoreError) {
            let isNew = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) -> Bool in
                let isKnown = (0..<transaction.replicaCount).contains {
                    transaction.replica(ReplicaIndex(rawValue: UInt32($0))).device == device
                }
                guard !isKnown, let stamp = self.author.clock.next(at: self.now.wall) else { return false }
                try self.author.openReplica(stamp: stamp, in: &transaction)
                return true
            }
            if isNew { self.pumpAll() }
        } catch {
            self.author.clock = clockBefore
            self.author.activeReplica = nil
            self.note(error)
        }
    }

    /// The id of the replica written under.
    mutating func activeReplicaID() throws(StoreError) -> ReplicaID? {
        guard let index = self.author.activeReplica else { return nil }
        return try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            transaction.replica(index).id
        }
    }
}
