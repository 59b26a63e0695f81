package import CRDTCore
internal import PeerCrypto

/// Erasing what changes ask for: some at a time, so that writes and the sync go on meanwhile.
///
/// What is to be erased is noted in the transaction that applies the change. So it is done also if the process ends at
/// any moment, or the store fails.
extension Node where Store: ~Copyable {
    /// When to go on; nil if there is nothing to do.
    ///
    /// Whoever sends much to erase is served for a part of the time: so much cost takes about a tenth of it.
    var erasingDeadline: UInt64? {
        self.state.hasErasures || self.state.erasing != nil ? self.timers.erasing : nil
    }

    private static var costPerMillisecond: Int { 20 }

    /// Does a part of what is due.
    mutating func goOnErasing() {
        let now = self.now.monotonicMilliseconds
        do throws(StoreError) {
            let cost = try self.eraseSome()
            self.storeFailure = nil
            self.timers.erasing = now + UInt64(clamping: cost / Self.costPerMillisecond)
        } catch {
            self.note(error)
            self.timers.erasing = now + ConnectionTimes.backoffMax
        }
    }

    /// Erases what there is to erase, as far as one step goes.
    ///
    /// - Returns: whether nothing is left but what is barred.
    /// - Throws: `StoreError` if the store fails; what is left stays noted.
    package mutating func stepErasing() throws(StoreError) -> Bool {
        guard self.state.erasing != nil || self.state.hasErasures else { return true }
        _ = try self.eraseSome()
        return self.state.erasing == nil && !self.state.hasErasures
    }

    /// Looks again at what something barred.
    package mutating func retryErasing() {
        if self.state.hasBarredErasures { self.replica.author.state.hasErasures = true }
    }

    /// Takes note that the files of the store were written anew since the last erasure.
    package mutating func forgetErasedBytes() throws(StoreError) {
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setFact(NodeFact.erasedBytes, nil)
            author.state.holdsErasedBytes = false
        }
    }

    private mutating func eraseSome() throws(StoreError) -> Int {
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Int in
            var erasing = author.state.erasing ?? Erasing()
            if author.state.erasing == nil { author.state.hasErasures = false }
            let before = erasing.summary
            var merge = author.merge()
            try erasing.step(&merge, in: &transaction, author.cryptography)
            if erasing.summary.erasedWriteCount > before.erasedWriteCount {
                try transaction.setFact(NodeFact.erasedBytes, [1])
                author.state.holdsErasedBytes = true
            }
            author.state.erasing = erasing.isDone ? nil : erasing
            if erasing.isDone { author.state.hasBarredErasures = erasing.summary.isBarred }
            return erasing.summary.cost - before.cost
        }
    }
}

extension NodeTransaction {
    /// Whether the files of the database may hold bytes of values that were erased.
    package mutating func holdsErasedBytes() throws(StoreError) -> Bool {
        try self.fact(NodeFact.erasedBytes) != nil
    }
}
