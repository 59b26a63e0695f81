/// How far the conflicting writes of properties were looked through, by contexts of a chain's changes.
///
/// What a context covers is applied before whatever has it. So once a write has met a property, no conflict there is
/// ever covered by the write's context again, and a later write need only look for what it has seen beyond that.
/// Forks of a chain have mostly seen the same.
struct ExaminedConflicts {
    private struct Key: Hashable {
        var register: RegisterKey
        /// The first segment of the chain.
        var chain: SegmentIndex
    }

    /// What was seen by the last write of a chain to a property.
    private var seen: [Key: SeenSegments] = [:]

    /// Beyond that it all is forgotten.
    private static let countMax = 1 << 16

    subscript(register: RegisterKey, chain: SegmentIndex) -> SeenSegments {
        get { self.seen[Key(register: register, chain: chain)] ?? [] }
        set {
            if self.seen.count >= Self.countMax { self.seen.removeAll() }
            self.seen[Key(register: register, chain: chain)] = newValue
        }
    }
}

/// Writes to properties.
extension Merge {
    /// Puts what a write had seen of the conflicting writes of a property behind it.
    private mutating func supersede(
        _ register: inout Register,
        at key: RegisterKey,
        _ context: CausalContext,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for conflict in try self.conflicts(at: key, coveredBy: context, in: &transaction) {
            guard register.conflictCount > 0 else {
                throw .damaged("a property has more conflicting writes than the database counts")
            }
            if try transaction.isMissing(conflict) {
                try transaction.removeVersion(conflict, at: key)
                try self.count(redacted: conflict, at: key, in: &transaction)
            } else {
                try transaction.setVersion(conflict, status: .superseded, at: key)
            }
            register.conflictCount -= 1
        }
    }

    /// The conflicting writes of a property that a context covers.
    ///
    /// There may be very many conflicting writes, and a context may have seen very many segments; each is passed over
    /// to the next one that the other has.
    /// - Complexity: O(*n* log *m*) for *m* conflicting writes, where *n* is at most *m*, and at most the number of
    ///   segments that the context has seen beyond the one that was looked for last.
    private mutating func conflicts(
        at key: RegisterKey,
        coveredBy context: CausalContext,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        // Its own segment sees each of its writes.
        var found = try transaction.firstConflicts(at: key, from: context.author).filter {
            $0.segment == context.author && context.covers($0)
        }
        let chain = transaction.firstSegment(of: transaction.replicaID(context.author)) ?? context.author
        let examined = self.examined[key, chain]
        var next = context.seen.next(from: SegmentIndex(rawValue: 0), beyond: examined)
        while let seen = next {
            let conflicts = try transaction.firstConflicts(at: key, from: seen)
            guard let segment = conflicts.first?.segment else { break }
            if segment != context.author { found += conflicts.filter { context.covers($0) } }
            guard segment.rawValue < .max else { break }
            next = context.seen.next(from: SegmentIndex(rawValue: segment.rawValue + 1), beyond: examined)
        }
        self.examined[key, chain] = context.seen
        return found
    }

    /// A write meets a register: the highest in order is in force; what the new write had seen is superseded, what it
    /// had not is in conflict with it.
    ///
    /// One whose content was dropped does the same. It shows nothing while it is in force; once it is superseded, it is
    /// only counted.
    mutating func write(
        _ write: WriteReference,
        _ kind: OperationKind,
        _ context: CausalContext,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let isRemoval = kind != .set
        if kind == .redacted { try self.note(missing: 1, in: write.point, in: &transaction) }
        guard let current = try transaction.register(key) else {
            let redactedCount = try transaction.redactedWrites(at: key).reduce(0) { $0 + $1.count }
            let register = Register(
                winner: write,
                isRemoval: isRemoval,
                conflictCount: 0,
                writeCount: 1 + redactedCount
            )
            return try self.put(register, at: key, in: &transaction)
        }
        var register = current
        register.writeCount += 1
        if current.conflictCount > 0 { try self.supersede(&register, at: key, context, in: &transaction) }
        if self.isInForce(write, isRemoval: isRemoval, context, over: current, in: transaction) {
            if !context.covers(current.winner) {
                try transaction.addVersion(current.winner, status: .conflict, at: key)
                register.conflictCount += 1
            } else if try transaction.isMissing(current.winner) {
                try self.count(redacted: current.winner, at: key, in: &transaction)
            } else {
                try transaction.addVersion(current.winner, status: .superseded, at: key)
            }
            register.winner = write
            register.isRemoval = isRemoval
        } else {
            try transaction.addVersion(write, status: .conflict, at: key)
            register.conflictCount += 1
        }
        try self.put(register, at: key, in: &transaction)
    }

    /// Tells whether a write that meets a register is ordered after the one that is in force.
    private func isInForce(
        _ write: WriteReference,
        isRemoval: Bool,
        _ context: CausalContext,
        over current: Register,
        in transaction: some StoreTransaction
    ) -> Bool {
        WriteOrder.precedes(current.winner, write, transaction)
    }

    /// Counts a write that was dropped, and is superseded now.
    private mutating func count(
        redacted write: WriteReference,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try self.note(missing: -1, in: write.point, in: &transaction)
        try transaction.countRedacted(1, in: write.point, at: write.stamp, of: key)
    }

    /// Notes that so many more writes of a change are needed, and were dropped.
    mutating func note(
        missing count: Int,
        in change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard count != 0 else { return }
        let rest = try transaction.missingCount(in: change) + count
        guard rest >= 0 else { throw .damaged("a change misses fewer writes than none") }
        try transaction.setMissingCount(rest, in: change)
        if count > 0 { self.summary.missingCount += count }
    }

    /// Counts so many dropped writes of a change no more.
    mutating func uncount(
        redacted count: Int64,
        in change: SegmentPoint,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try transaction.uncountRedacted(count, in: change, of: key)
        guard var register = try transaction.register(key) else { return }
        register.writeCount -= count
        try self.put(register, at: key, in: &transaction)
    }

    /// Puts a register into the store.
    ///
    /// The build of the tests looks at it again when the transaction ends.
    mutating func put(
        _ register: Register,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if CHECKED
        self.touched.note(key)
        #endif
        try transaction.setRegister(register, at: key)
    }
}
