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
        if self.state.hasErasures || self.state.erasing != nil { return self.timers.erasing }
        return self.state.nextErasure.map { max(self.timers.erasing, self.monotonicTime(of: $0)) }
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

    /// Lets what a device wants to be erased through, or stops it, from now on.
    package mutating func decideErasures(of device: DeviceID, areAllowed: Bool) throws(StoreError) {
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            let segments = transaction.segmentIndices.filter { transaction.segment($0).device == device }
            if areAllowed {
                author.state.erasures.allow(device)
                try transaction.releaseErasures(dueBy: WallTime(milliseconds: 0), of: segments)
                author.state.hasErasures = true
            } else {
                author.state.erasures.stop(device)
                for segment in segments { try transaction.delayErasures(of: segment, until: PendingErasure.never) }
            }
            try author.keepErasures(in: &transaction)
            author.state.nextErasure = try transaction.nextErasure()
        }
    }

    private mutating func eraseSome() throws(StoreError) -> Int {
        let (cost, delayedCount) = try self.takeErasingStep()
        if delayedCount > 0 { self.effects.append(.notice(.erasuresWait(count: delayedCount))) }
        return cost
    }

    private mutating func takeErasingStep() throws(StoreError) -> (cost: Int, delayedCount: Int) {
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> (Int, Int) in
            if let next = author.state.nextErasure, next <= author.now {
                try transaction.releaseErasures(dueBy: author.now, of: [])
                author.state.nextErasure = try transaction.nextErasure()
            }
            var erasing = author.state.erasing ?? Erasing()
            if author.state.erasing == nil { author.state.hasErasures = false }
            let before = erasing.summary
            var merge = author.merge()
            var allowance = author.state.erasures.allowance(of: author.identity.device, at: author.now)
            try erasing.step(&merge, allowing: &allowance, in: &transaction, author.cryptography)
            author.state.erasures.note(allowance)
            try author.keepErasures(in: &transaction)
            if erasing.summary.delayedCount > before.delayedCount {
                author.state.nextErasure = try transaction.nextErasure()
            }
            if erasing.summary.erasedWriteCount > before.erasedWriteCount {
                try transaction.setFact(NodeFact.erasedBytes, [1])
                author.state.holdsErasedBytes = true
            }
            author.state.erasing = erasing.isDone ? nil : erasing
            if erasing.isDone { author.state.hasBarredErasures = erasing.summary.isBarred }
            return (erasing.summary.cost - before.cost, erasing.summary.delayedCount - before.delayedCount)
        }
    }
}

extension ReplicaAuthor {
    /// Keeps how much others have erased, and whose erasures are stopped, if that is another than before.
    fileprivate func keepErasures(in transaction: inout some NodeTransaction) throws(StoreError) {
        let bytes = self.state.erasures.encoded
        if try transaction.fact(NodeFact.erasures) != bytes { try transaction.setFact(NodeFact.erasures, bytes) }
    }
}

extension StoreTransaction {
    /// When the next erasure is due that waits; nil if none does, or all that do were stopped.
    mutating func nextErasure() throws(StoreError) -> WallTime? {
        try self.waitingErasures().map(\.due).min().flatMap { $0 < PendingErasure.never ? $0 : nil }
    }
}

extension NodeTransaction {
    /// Whether the files of the database may hold bytes of values that were erased.
    package mutating func holdsErasedBytes() throws(StoreError) -> Bool {
        try self.fact(NodeFact.erasedBytes) != nil
    }
}
