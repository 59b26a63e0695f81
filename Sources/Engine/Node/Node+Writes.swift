internal import CRDTCore
internal import PeerCrypto

/// Local writes: planned, stamped, signed, merged and made durable, then pushed.
extension Node where Store: ~Copyable {
    /// Writes what local callers want: each request is a change of its own, all become durable in one commit.
    mutating func write(_ requests: [WriteRequest]) {
        var answers: [(RequestID, Result<WriteReceipt, WriteRefusal>)] = []
        let segment = self.state.activeSegment
        do throws(StoreError) {
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                answers = []
                for request in requests {
                    answers.append((request.id, try author.perform(request, in: &transaction)))
                }
            }
            self.storeFailure = nil
        } catch {
            self.note(error)
            answers = requests.map { ($0.id, .failure(.store(error))) }
        }
        for (id, result) in answers { self.effects.append(.answer(id, result)) }
        self.noteReplica(after: segment)
        self.repeatRemovals()
        self.pumpAll()
    }

    /// Restamps what is held of this user's devices: by another clock's word that ours is right, or by the user's.
    mutating func restamp(_ request: RequestID, isClockRight: Bool) {
        guard isClockRight || self.isClockBelieved else {
            return self.effects.append(.answer(request, .failure(.clockUnconfirmed)))
        }
        if self.clock.wasSetBack(at: self.now) { self.noteShown(self.now.wall) }
        do throws(StoreError) {
            let receipt = try self.restampHeld(isAsked: true)
            self.storeFailure = nil
            let nothing = WriteReceipt(dot: nil, created: [], operationCount: 0)
            self.effects.append(.answer(request, .success(receipt ?? nothing)))
            self.noteWaits()
            self.pumpAll()
        } catch {
            self.note(error)
            self.effects.append(.answer(request, .failure(.store(error))))
        }
    }

    /// Restamps what is held, and returns what was written; nil if there was nothing to restamp.
    mutating func restampHeld(isAsked: Bool) throws(StoreError) -> WriteReceipt? {
        let segment = self.state.activeSegment
        let receipt = try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            try author.restamp(isAsked: isAsked, in: &transaction)
        }
        self.noteReplica(after: segment)
        return receipt
    }

    /// Tells the user if what was written since another segment is under a new replica id.
    private mutating func noteReplica(after segment: SegmentIndex?) {
        guard segment != self.state.activeSegment, self.state.activeSegment != nil else { return }
        self.effects.append(.notice(.newReplica(self.state.newReplicaReason)))
    }

    /// Opens this device's first replica, or the first one with the certificates that it has by now.
    ///
    /// Only its introduction lets devices that it was not paired with know it and let it in.
    mutating func introduce() {
        let certificates = self.identity.certificates
        do throws(StoreError) {
            let isKnown = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                transaction.segmentIndices.contains { segment in
                    transaction.segment(segment).introduction?.certificates == certificates
                }
            }
            if isKnown, self.state.activeSegment != nil { return }
            // Who does not read home has nothing to say there.
            let isNew = try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Bool in
                if author.base(in: transaction) != .home { return try author.introduceInRoster(in: &transaction) }
                return isKnown ? false : try author.introduce(on: .main, in: &transaction)
            }
            if isNew { self.pumpAll() }
        } catch {
            self.note(error)
        }
    }
}
