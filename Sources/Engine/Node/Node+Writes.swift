internal import CRDTCore
internal import PeerCrypto

/// Local writes: planned, stamped, signed, merged and made durable, then pushed.
extension Node where Store: ~Copyable {
    /// Writes what local callers want: each request is a change of its own, all become durable in one commit.
    mutating func write(_ requests: [WriteRequest]) {
        var answers: [(RequestID, Result<WriteReceipt, WriteRefusal>)] = []
        let standing = self.author.standing
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                answers = []
                for request in requests {
                    answers.append((request.id, try self.author.perform(request, in: &transaction)))
                }
            }
            self.storeFailure = nil
        } catch {
            self.author.standing = standing
            self.note(error)
            answers = requests.map { ($0.id, .failure(.store(error))) }
        }
        for (id, result) in answers { self.effects.append(.answer(id, result)) }
        self.noteReplica(since: standing)
        self.pumpAll()
    }

    /// Restamps what is held of this user's devices: by another clock's word that ours is right, or by the user's.
    mutating func restamp(_ request: RequestID, isClockRight: Bool) {
        guard isClockRight || self.isClockBelieved else {
            return self.effects.append(.answer(request, .failure(.clockUnconfirmed)))
        }
        if self.clock.wasSetBack(at: self.now) { self.noteShown(self.now.wall) }
        let standing = self.author.standing
        do throws(StoreError) {
            let receipt = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try self.author.restamp(isAsked: true, in: &transaction)
            }
            self.storeFailure = nil
            let nothing = WriteReceipt(dot: nil, created: [], operationCount: 0)
            self.effects.append(.answer(request, .success(receipt ?? nothing)))
            self.noteReplica(since: standing)
            self.noteWaits()
            self.pumpAll()
        } catch {
            self.author.standing = standing
            self.note(error)
            self.effects.append(.answer(request, .failure(.store(error))))
        }
    }

    /// Tells the user if what was written since is under a new replica id.
    mutating func noteReplica(since standing: Author.Standing) {
        guard standing.activeLine != self.author.activeLine, self.author.activeLine != nil else { return }
        self.effects.append(.notice(.newReplica(self.author.newReplicaReason)))
    }

    /// Opens this device's first replica, if it has none.
    ///
    /// Only its introduction lets devices that it was not paired with know it and let it in.
    mutating func introduce() {
        guard self.author.activeLine == nil else { return }
        let device = self.author.identity.device
        do throws(StoreError) {
            let isNew = try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) -> Bool in
                let isKnown = (0..<transaction.lineCount).contains {
                    transaction.line(LineIndex(rawValue: UInt32($0))).device == device
                }
                return isKnown ? false : try self.author.introduce(in: &transaction)
            }
            if isNew { self.pumpAll() }
        } catch {
            self.author.activeLine = nil
            self.note(error)
        }
    }

    /// The next write makes a new replica.
    mutating func abandonReplica(_ reason: NewReplicaReason) throws(StoreError) {
        guard self.author.activeLine != nil else { return }
        try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try self.author.leaveReplica(reason, in: &transaction)
        }
    }
}
