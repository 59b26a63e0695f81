/// What is learnt late about changes that are stored: that a clock was wrong, that two changes share a name, or that
/// the own clock was ahead. It changes how the same changes are ordered, and which of them are held; never which count.
///
/// A fork is no late knowledge: contexts name points, which say from the start which fork was seen.
extension Merge {
    // MARK: - Shared names

    /// A name that two changes of a replica share means their last common predecessor from now on, in every context.
    ///
    /// Whoever wants that must try 2^32 changes, so the state is simply computed anew.
    mutating func noteSharedNames(
        of fresh: VerifiedRun,
        on segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for (position, hash) in fresh.hashes.enumerated() {
            let sequence = fresh.run.firstSequence + UInt64(position)
            let point = Point(replica: fresh.run.replica, sequence: sequence, name: ChangeName(hash))
            if try transaction.places(of: point).contains(where: { $0.segment != segment }) { self.needsRebuild = true }
        }
    }

    // MARK: - Restamps

    /// Takes note of the restamps in a run that was stored on a segment: they count wherever they stand, be their
    /// change held or waiting, so that effective stamps only ever fall.
    mutating func noteRestamps(
        in run: Run,
        author: SegmentIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for change in run.changes {
            for operation in run.operations[change.operationRange] where operation.kind == .restamp {
                guard let restamp = try? Restamp(decoding: run.payload[operation.payloadRange]) else { continue }
                let record = RestampRecord(restamp: restamp, at: change.stamp, author: author)
                guard !transaction.restamps.contains(record) else { continue }
                try transaction.addRestamp(record)
                if try self.end(of: record, in: &transaction) != nil { self.deferred.hasRestamps = true }
            }
        }
    }

    /// Takes note of the restamps whose stretches are complete with a run that was stored.
    mutating func noteStretches(
        endingIn fresh: VerifiedRun,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let (replica, first) = (fresh.run.replica, fresh.run.firstSequence)
        guard transaction.restamps.hasAny(of: replica) else { return }
        for record in transaction.restamps.records(of: replica, endingIn: first...fresh.run.lastSequence)
        where fresh.hashes[Int(record.restamp.lastSequence - first)] == record.restamp.lastHash {
            if try self.end(of: record, in: &transaction) != nil { self.deferred.hasRestamps = true }
        }
    }

    /// What is restamped by right in a replica's chain, by the restamps that are settled; put together where that has
    /// not been done.
    private func restampedChain(
        of replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RestampedChain {
        if let known = transaction.restampedChain(of: replica) { return known }
        var chain = RestampedChain()
        for record in transaction.restamps.records(of: replica, endingIn: 1...Limits.sequenceMax)
        where !transaction.restamps.isUnsettled(record) {
            guard let end = try self.end(of: record, in: &transaction) else { continue }
            _ = try chain.cover(from: end, by: record.content, in: &transaction)
        }
        transaction.setRestampedChain(chain, of: replica)
        return chain
    }

    /// The restamps that would order something anew, and have not yet: they were deferred.
    package func dueRestamps(in transaction: inout some StoreTransaction) throws(StoreError) -> Set<StampedRestamp> {
        var due: Set<StampedRestamp> = []
        for record in transaction.restamps.unsettled {
            guard let end = try self.end(of: record, in: &transaction) else { continue }
            var chain = try self.restampedChain(of: record.restamp.replica, in: &transaction)
            if try !chain.cover(from: end, by: record.content, in: &transaction).isEmpty { due.insert(record.content) }
        }
        return due
    }

    /// The last change of a stretch that is restamped by right: in the chain's own circle, by a device of the same user
    /// as the chain's, or of the circle's owner.
    ///
    /// Nil if it is not stored.
    private func end(
        of record: RestampRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        let (sequence, hash) = (record.restamp.lastSequence, record.restamp.lastHash)
        guard let last = try transaction.place(of: record.restamp.replica, sequence: sequence, hash: hash) else {
            return nil
        }
        guard let author = transaction.segment(record.author).introduction?.user,
            transaction.progress(of: record.author).circle == transaction.progress(of: last.segment).circle
        else { return nil }
        let user = transaction.segment(last.segment).introduction?.user
        return author == user || author == self.owner(of: last.segment, in: transaction) ? last : nil
    }

    /// Whether a change is in a stretch that is restamped by right, and settled.
    func isRestamped(
        _ place: SegmentPoint,
        _ replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard transaction.restamps.hasAny(of: replica) else { return false }
        return try self.restampedChain(of: replica, in: &transaction).contains(place)
    }

    /// Takes in what the restamps cover whose stretches are stored.
    ///
    /// Returns what they newly cover.
    mutating func coverRestamped(in transaction: inout some StoreTransaction) throws(StoreError)
        -> [RestampedChain.Piece]
    {
        self.deferred.hasRestamps = false
        var news: [RestampedChain.Piece] = []
        for record in transaction.restamps.unsettled where !self.policy.ignoredRestamps.contains(record.content) {
            self.summary.restampCost += 1
            guard let end = try self.end(of: record, in: &transaction) else { continue }
            let replica = record.restamp.replica
            var chain = try self.restampedChain(of: replica, in: &transaction)
            // Held here alone meanwhile, so that it is not copied.
            transaction.setRestampedChain(nil, of: replica)
            let covered = try chain.cover(from: end, by: record.content, in: &transaction)
            transaction.setRestampedChain(chain, of: replica)
            // Each was looked at.
            self.summary.restampCost += covered.reduce(0) { $0 + $1.sequences.count }
            news += covered
            try transaction.settleRestamp(record)
        }
        return news
    }

    /// Orders what has newly been restamped anew, as far as it was applied; what was held is looked at again.
    ///
    /// `segments`: all that are held.
    mutating func settleRestamps(
        waiting segments: [SegmentIndex],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let news = try self.coverRestamped(in: &transaction)
        guard !news.isEmpty else { return }
        var applied: [SegmentPoint] = []
        for piece in news {
            let last = min(piece.sequences.upperBound, transaction.progress(of: piece.segment).appliedSequence)
            guard piece.sequences.lowerBound <= last else { continue }
            applied += (piece.sequences.lowerBound...last).map { SegmentPoint(segment: piece.segment, sequence: $0) }
        }
        // What is held may follow from what is restamped, here or on other segments.
        for index in segments {
            guard case .held = transaction.segment(index).waitsFor else { continue }
            var segment = transaction.segment(index)
            segment.waitsFor = nil
            try transaction.setSegment(segment, at: index)
        }
        try self.reorder(try self.settleStamps(from: applied, in: &transaction), in: &transaction)
    }

    /// Computes the effective stamps of changes anew, and of all that follow from them.
    ///
    /// Returns the changes whose stamps are others now, with the former ones.
    /// - Complexity: O(*n* log *m*) for the *n* changes looked at: the given ones and those whose stamps followed from
    ///   one that changed. All other changes are stamped later than what they had seen, and stay as they are.
    private mutating func settleStamps(
        from places: [SegmentPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint: Stamp] {
        // Effective stamps rise from cause to effect, so that in their former order causes come first.
        var queue: [(former: Stamp, place: SegmentPoint)] = []
        var queued: Set<SegmentPoint> = []
        for place in places where queued.insert(place).inserted {
            queue.append((try transaction.effectiveStamp(at: place), place))
        }
        queue.sort { $0.former > $1.former }
        var changed: [SegmentPoint: Stamp] = [:]
        while let (former, place) = queue.popLast() {
            queued.remove(place)
            self.summary.restampCost += 1
            guard try self.settleStamp(at: place, former, in: &transaction) else { continue }
            if changed[place] == nil { changed[place] = former }
            for effect in try transaction.raisedStamps(causedBy: place) where queued.insert(effect).inserted {
                let stamp = try transaction.effectiveStamp(at: effect)
                let position = queue.firstPosition { $0.former <= stamp }
                queue.insert((stamp, effect), at: position)
            }
        }
        return changed
    }

    /// Computes the effective stamp of an applied change anew.
    ///
    /// Returns whether it is another one now.
    private mutating func settleStamp(
        at place: SegmentPoint,
        _ former: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        var record = transaction.segment(place.segment)
        guard let header = try transaction.header(at: place) else { throw .damaged("a change is missing from the log") }
        var stamp = try self.isRestamped(place, record.id, in: &transaction) ? .zero : header.stamp
        var cause: SegmentPoint?
        let previous =
            place.sequence > record.firstSequence
            ? SegmentPoint(segment: place.segment, sequence: place.sequence - 1) : record.origin?.parent
        if let previous, previous.sequence > 0 {
            try self.raise(&stamp, &cause, above: try transaction.effectiveStamp(at: previous), previous)
        }
        let context = try transaction.contexts(of: place.segment, after: place.sequence - 1, through: place.sequence)
        for point in context {
            guard let found = try self.find(point, in: record.circle, &transaction), found.place.sequence > 0 else {
                continue
            }
            try self.raise(&stamp, &cause, above: found.stamp, found.place)
        }
        let isOwn = cause == nil && stamp == header.stamp
        try transaction.setRaisedStamp(isOwn ? nil : RaisedStamp(stamp: stamp, cause: cause), at: place)
        guard stamp != former else { return false }
        if !isOwn { record.firstRaised = min(record.firstRaised ?? .max, place.sequence) }
        if place.sequence == record.appliedSequence { record.appliedStamp = stamp }
        try transaction.setSegment(record, at: place.segment)
        return true
    }

    // MARK: - Held again

    /// Takes out of the state what has been applied and is held by the clock as it is now: it was set back.
    mutating func withdrawHeld(
        on segments: [SegmentIndex],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var withdrawn: [SegmentPoint] = []
        var records: [(SegmentIndex, SegmentRecord)] = []
        for index in segments {
            let stamp = transaction.progress(of: index).appliedStamp
            guard HybridClock.isHeld(stamp, at: self.policy.now) else { continue }
            var record = transaction.segment(index)
            guard record.appliedSequence >= record.firstSequence else { continue }
            let before = record.firstSequence..<record.appliedSequence
            let first = try before.firstPosition { sequence throws(StoreError) in
                let stamp = try transaction.effectiveStamp(at: SegmentPoint(segment: index, sequence: sequence))
                return HybridClock.isHeld(stamp, at: self.policy.now)
            }
            withdrawn += (first...record.appliedSequence).map { SegmentPoint(segment: index, sequence: $0) }
            let last = SegmentPoint(segment: index, sequence: first - 1)
            let isLeft = last.sequence >= record.firstSequence
            try transaction.removeCheckpoints(of: index, after: last.sequence)
            (record.trail, record.context) =
                isLeft ? try transaction.trail(at: last, in: record) : (ContextTrail(), SeenSegments())
            record.appliedStamp = isLeft ? try transaction.effectiveStamp(at: last) : .zero
            record.appliedSequence = last.sequence
            record.waitsFor = nil
            records.append((index, record))
        }
        guard !withdrawn.isEmpty else { return }
        let unmerged = withdrawn.filter { $0.sequence > transaction.progress(of: $0.segment).countedSequence }
        withdrawn.removeAll { $0.sequence > transaction.progress(of: $0.segment).countedSequence }
        // Only now, since contexts and stamps of one segment are read through others.
        for (index, var record) in records {
            record.mergedSequence = min(record.mergedSequence, record.appliedSequence)
            try transaction.setSegment(record, at: index)
        }
        for place in withdrawn + unmerged { try transaction.setRaisedStamp(nil, at: place) }
        try self.forget(unmerged, in: &transaction)
        try self.reviseMerged(withdrawn, in: &transaction)
    }
}
