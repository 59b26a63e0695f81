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
        self.author.hasErasures || self.erasing != nil ? self.nextErasing : nil
    }

    private static var costPerMillisecond: Int { 20 }

    /// Does a part of what is due.
    mutating func goOnErasing() {
        let now = self.now.monotonicMilliseconds
        do throws(StoreError) {
            let cost = try self.eraseSome()
            self.storeFailure = nil
            self.nextErasing = now + UInt64(clamping: cost / Self.costPerMillisecond)
        } catch {
            self.note(error)
            self.nextErasing = now + ConnectionTimes.backoffMax
        }
    }

    /// Erases what there is to erase, as far as one step goes.
    ///
    /// - Returns: whether nothing is left but what is barred.
    /// - Throws: `StoreError` if the store fails; what is left stays noted.
    package mutating func stepErasing() throws(StoreError) -> Bool {
        guard self.erasing != nil || self.author.hasErasures else { return true }
        _ = try self.eraseSome()
        return self.erasing == nil && !self.author.hasErasures
    }

    /// Looks again at what something barred.
    package mutating func retryErasing() {
        if self.author.hasBarredErasures { self.author.hasErasures = true }
    }

    /// Takes note that the files of the store were written anew since the last erasure.
    package mutating func forgetErasedBytes() throws(StoreError) {
        try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setFact(NodeFact.erasedBytes, nil)
        }
        self.holdsErasedBytes = false
    }

    private mutating func eraseSome() throws(StoreError) -> Int {
        var erasing = self.erasing ?? Erasing()
        if self.erasing == nil { self.author.hasErasures = false }
        let before = erasing.summary
        let cryptography = self.author.cryptography
        var merge = Merge(now: self.now.wall, founder: self.author.membership.founder)
        do throws(StoreError) {
            try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try erasing.step(&merge, in: &transaction, cryptography)
                guard erasing.summary.erasedWriteCount > before.erasedWriteCount else { return }
                try transaction.setFact(NodeFact.erasedBytes, [1])
            }
        } catch {
            self.author.hasErasures = true
            throw error
        }
        if erasing.summary.erasedWriteCount > before.erasedWriteCount { self.holdsErasedBytes = true }
        self.erasing = erasing.isDone ? nil : erasing
        if erasing.isDone { self.author.hasBarredErasures = erasing.summary.isBarred }
        return erasing.summary.cost - before.cost
    }
}

extension StoreTransaction {
    /// Whether the files of the database may hold bytes of values that were erased.
    package mutating func holdsErasedBytes() throws(StoreError) -> Bool {
        try self.fact(NodeFact.erasedBytes) != nil
    }
}
