internal import CRDTCore
internal import PeerCrypto

/// Going on under a new replica id, with nothing lost that a person wrote: after a clock was wrong, and after two
/// incarnations of a database wrote under one id.
extension Author {
    /// If the last changes of the chain written under are stamped far ahead of what the clock says now, takes them back
    /// and writes them again under a new replica id.
    ///
    /// With them goes what is still far ahead in the chains that were ended earlier: a clock that is put right in two
    /// steps is still wrong after the first, and a peer that claims to hold more of a chain ends it as it is.
    ///
    /// `isWitnessed`: whether a peer's clock shows the same time as ours now.
    /// - Returns: Whether it did.
    mutating func repairClock(
        isWitnessed: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let last = self.activeReplica.map { transaction.replica($0).storedStamp } ?? self.clock.last
        guard HybridClock.isHeld(last, at: self.now) else { return false }
        var chains = try FormerReplicas.indexes(in: &transaction)
        if let active = self.activeReplica { chains.insert(active, at: 0) }
        var ahead: [ChainAhead] = []
        for index in chains {
            if let chain = try self.chainAhead(index, in: &transaction) { ahead.append(chain) }
        }
        guard !ahead.isEmpty else { return false }
        var sane = HybridClock()
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let id = transaction.replica(index).id
            let isRepaired = ahead.contains { $0.retirement.replica == id }
            if !isRepaired { sane.observe(try transaction.lastCountingStamp(of: index)) }
        }
        var changes: [OwnChange] = []
        for chain in ahead { changes += chain.changes }
        changes.sort { $0.stamp < $1.stamp }
        // What is taken back is no longer anything a change was made on.
        for position in changes.indices {
            changes[position].context = changes[position].context.compactMap { entry in
                let good = ahead.first { $0.retirement.replica == entry.replica }?.retirement.lastSequence ?? .max
                return good == 0 ? nil : Dot(replica: entry.replica, sequence: min(entry.sequence, good))
            }
        }
        // If what our changes had seen is ahead of our clock as well, our clock is behind, or was ahead when that was
        // applied. Written again, they would be stamped after that, and be held as before; then again, without end.
        guard try !self.hasSeenHeld(changes, in: &transaction) else { return false }
        if HybridClock.isHeld(sane.last, at: self.now) {
            guard isWitnessed, try self.allHeldFollow(ahead, in: &transaction) else { return false }
        }
        self.clock = sane
        if let active = self.activeReplica {
            try FormerReplicas.add(transaction.replica(active).id, in: &transaction)
        }
        try self.reauthor(
            changes,
            stampedAfter: ahead.map(\.lastSaneStamp).max() ?? .zero,
            keepingStamps: false,
            first: ahead.map { .retire($0.retirement) },
            in: &transaction
        )
        self.newReplicaReason = .clockRepaired
        return true
    }

    /// How far the chains of this device go that runs belong to.
    func ownSequences(
        of runs: [Run],
        in transaction: borrowing some StoreTransaction
    ) -> [(index: ReplicaIndex, sequence: UInt64)] {
        var sequences: [(index: ReplicaIndex, sequence: UInt64)] = []
        for run in runs {
            guard let index = transaction.existingReplicaIndex(of: run.replica),
                transaction.replica(index).device == self.identity.device,
                !sequences.contains(where: { $0.index == index })
            else { continue }
            sequences.append((index, transaction.replica(index).storedSequence))
        }
        return sequences
    }

    /// Writes again what has come back of a chain of ours only after a repair of the clock took its end back: a lost
    /// database held it, and so the repair could not.
    mutating func reauthorLate(
        _ index: ReplicaIndex,
        after stored: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.replica(index)
        guard let good = record.retiredAfter, record.forkSequence == nil, record.storedSequence > max(good, stored),
            try FormerReplicas.indexes(in: &transaction).contains(index)
        else { return }
        let changes = try self.ownChanges(
            of: index,
            after: max(good, stored),
            upTo: record.storedSequence,
            in: &transaction
        )
        try self.reauthor(
            changes,
            stampedAfter: try transaction.stamp(of: index, sequence: good) ?? .zero,
            keepingStamps: false,
            first: [],
            in: &transaction
        )
    }

    /// The part of a chain of ours that is stamped far ahead.
    private struct ChainAhead {
        var retirement: Retirement
        var lastSaneStamp: Stamp
        var changes: [OwnChange]
    }

    /// What still counts of a chain of ours and is stamped far ahead; nil if nothing is.
    private func chainAhead(
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ChainAhead? {
        let record = transaction.replica(index)
        let last = min(record.storedSequence, record.exclusion?.lastSequence ?? .max)
        guard let introduction = record.introduction, last > 0,
            let stamp = try transaction.stamp(of: index, sequence: last), HybridClock.isHeld(stamp, at: self.now)
        else { return nil }
        let good = try self.lastSaneSequence(of: index, upTo: last, in: &transaction)
        return ChainAhead(
            retirement: Retirement(replica: record.id, nonce: introduction.nonce, lastSequence: good),
            lastSaneStamp: try transaction.stamp(of: index, sequence: good) ?? .zero,
            changes: try self.ownChanges(of: index, after: good, upTo: last, in: &transaction)
        )
    }

    /// Whether changes were made on something that would be held by now.
    private func hasSeenHeld(
        _ changes: [OwnChange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        for change in changes {
            for entry in self.counting(change.context, in: transaction) {
                guard let seen = transaction.existingReplicaIndex(of: entry.replica),
                    let stamp = try transaction.stamp(of: seen, sequence: entry.sequence)
                else { continue }
                if HybridClock.isHeld(stamp, at: self.now) { return true }
            }
        }
        return false
    }

    /// Whether whatever else is stamped far ahead was made on what we stamped far ahead.
    ///
    /// Then it was our clock that was ahead, and others went along with it: they wait for us to take ours back, before
    /// they can take back theirs.
    private func allHeldFollow(
        _ ahead: [ChainAhead],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        #if PLANTED_BUGS
        if PlantedBug.repairsWaitForEachOther.isPlanted { return false }
        #endif
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            let isHeld = HybridClock.isHeld(try transaction.lastCountingStamp(of: index), at: self.now)
            guard isHeld, !ahead.contains(where: { $0.retirement.replica == record.id }) else { continue }
            let last = min(record.appliedSequence, record.exclusion?.lastSequence ?? .max)
            let first = try self.lastSaneSequence(of: index, upTo: last, in: &transaction) + 1
            let context = try self.context(of: index, at: first, in: &transaction)
            guard ahead.contains(where: { context[$0.retirement.replica] > $0.retirement.lastSequence }) else {
                return false
            }
        }
        return true
    }

    /// The last change of a chain whose stamp is not too far ahead: stamps rise along it, so it is found by halving.
    private func lastSaneSequence(
        of index: ReplicaIndex,
        upTo last: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> UInt64 {
        var low: UInt64 = 0
        var high = last
        while high - low > 1 {
            let middle = low + (high - low) / 2
            let stamp = try transaction.stamp(of: index, sequence: middle) ?? .zero
            if HybridClock.isHeld(stamp, at: self.now) { high = middle } else { low = middle }
        }
        return low
    }

    /// What a chain of ours says after a sequence: for each change its stamp, its full context and its edits.
    ///
    /// All of it is checked by its hashes first: what a disk has changed must not be signed anew, while others hold
    /// what was written.
    func ownChanges(
        of index: ReplicaIndex,
        after sequence: UInt64,
        upTo last: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [OwnChange] {
        let id = transaction.replica(index).id
        var context = try self.context(of: index, at: sequence, in: &transaction)
        if sequence > 0 { context[id] = sequence }
        var changes: [OwnChange] = []
        var next = sequence + 1
        while next <= last,
            let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: false)
        {
            try self.checkHashes(of: run, index, in: &transaction)
            let wanted = Int(clamping: last - next + 1)
            changes += try self.ownChanges(in: run, context: &context, in: &transaction).prefix(wanted)
            next = run.lastSequence + 1
        }
        return changes
    }

    private func checkHashes(
        of run: Run,
        _ index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.damageSignedAnew.isPlanted { return }
        #endif
        var previous = ChainHash.origin(self.membership.workspace)
        if run.firstSequence > 1 {
            previous = try transaction.hash(of: index, sequence: run.firstSequence - 1) ?? previous
        }
        let last = ChainHash.hashes(of: run, previous: previous, self.cryptography).last
        guard try transaction.hash(of: index, sequence: run.lastSequence) == last else {
            throw .damaged("a change of this device in the log is not as it was written")
        }
    }

    /// The changes of a run, with what each was made on.
    func ownChanges(
        in run: Run,
        context: inout VersionVector,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [OwnChange] {
        var changes: [OwnChange] = []
        for change in run.changes {
            for entry in run.contextEntries[change.contextRange] {
                context[entry.replica] = max(context[entry.replica], entry.sequence)
            }
            var edits: [Edit] = []
            do throws(WireError) {
                for position in change.operationRange { edits.append(try run.edit(run.operations[position])) }
            } catch {
                throw .damaged("an operation in the log cannot be read")
            }
            edits.removeAll { $0.kind == .introduce || $0.kind == .retire || $0.kind == .leftOut }
            changes.append(OwnChange(stamp: change.stamp, context: context.sorted, edits: edits))
        }
        return changes
    }

    /// The context of a chain at a sequence, from its log.
    func context(
        of index: ReplicaIndex,
        at sequence: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> VersionVector {
        var context = VersionVector()
        var next: UInt64 = 1
        while next <= sequence,
            let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: false)
        {
            for (position, change) in run.changes.enumerated()
            where run.firstSequence + UInt64(position) <= sequence {
                for entry in run.contextEntries[change.contextRange] {
                    context[entry.replica] = max(context[entry.replica], entry.sequence)
                }
            }
            next = run.lastSequence + 1
        }
        return context
    }

    /// Writes changes again under a new replica id of this device, each made on what it was made on, but for what no
    /// longer counts.
    ///
    /// `stampedAfter`: where the stamps begin.
    /// `keepingStamps`: whether each change keeps its stamp, as it may when the clock was right; otherwise the stamps
    /// follow closely on what each had seen, so that whatever was written since wins.
    /// `first`: edits of a change before all the others.
    mutating func reauthor(
        _ changes: [OwnChange],
        stampedAfter base: Stamp,
        keepingStamps: Bool,
        first: [Edit],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if PLANTED_BUGS
        let changes = PlantedBug.repairLosesWrites.isPlanted && !keepingStamps ? [] : changes
        #endif
        var last = base
        var isFresh = self.activeReplica == nil
        if !first.isEmpty { isFresh = true }
        if isFresh {
            guard let opening = last.successor else { return }
            try self.openReplica(stamp: opening, in: &transaction)
            last = opening
        }
        guard let index = self.activeReplica else { return }
        last = max(last, transaction.replica(index).storedStamp)
        var rewritten: [OwnChange] = []
        if !first.isEmpty, let stamp = last.successor {
            rewritten.append(OwnChange(stamp: stamp, context: [], edits: first))
            last = stamp
        }
        for change in changes where !change.edits.isEmpty {
            let context = self.counting(change.context, in: transaction)
            var floor = last
            for entry in context {
                guard let seen = transaction.existingReplicaIndex(of: entry.replica) else { continue }
                floor = max(floor, try transaction.stamp(of: seen, sequence: entry.sequence) ?? .zero)
            }
            guard let lowest = floor.successor else { break }
            last = keepingStamps ? max(change.stamp, lowest) : lowest
            #if PLANTED_BUGS
            let present = Stamp(milliseconds: self.now.milliseconds)
            if PlantedBug.repairStampsNow.isPlanted, !keepingStamps { last = max(lowest, present) }
            #endif
            rewritten.append(OwnChange(stamp: last, context: context, edits: change.edits))
        }
        var merge = Merge(now: max(self.now, WallTime(milliseconds: last.milliseconds)))
        if !rewritten.isEmpty { try self.append(rewritten, to: index, &merge, in: &transaction) }
        try merge.finish(in: &transaction)
        self.clock.observe(merge.summary.appliedStamp)
    }

    /// The part of a context that counts.
    private func counting(_ context: [Dot], in transaction: borrowing some StoreTransaction) -> [Dot] {
        var counting: [Dot] = []
        for entry in context {
            guard let index = transaction.existingReplicaIndex(of: entry.replica) else { continue }
            let limit = transaction.replica(index).exclusion?.lastSequence ?? .max
            let sequence = min(entry.sequence, limit)
            if sequence > 0 { counting.append(Dot(replica: entry.replica, sequence: sequence)) }
        }
        return counting
    }
}

extension StoreTransaction {
    /// The stamp of the last change of a chain that is applied and counts: what is written next must come after it,
    /// also where later ones of the chain do not count.
    mutating func lastCountingStamp(of index: ReplicaIndex) throws(StoreError) -> Stamp {
        let record = self.replica(index)
        guard let last = record.exclusion?.lastSequence, last < record.appliedSequence else {
            return record.appliedStamp
        }
        return last == 0 ? .zero : try self.stamp(of: index, sequence: last) ?? .zero
    }
}
