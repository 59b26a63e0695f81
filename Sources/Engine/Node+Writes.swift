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
        self.pumpAll()
    }

    /// The id of the replica written under.
    mutating func activeReplicaID() throws(StoreError) -> ReplicaID? {
        guard let index = self.author.activeReplica else { return nil }
        return try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) in
            transaction.replica(index).id
        }
    }
}
