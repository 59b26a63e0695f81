/// What is learnt late about changes that are stored: that a clock was wrong, that two changes share a name, or that
/// the own clock was ahead. It changes how the same changes are ordered, and which of them are held; never which count.
///
/// A fork is no late knowledge: contexts name points, which say from the start which branch was seen.
extension Merge {
    // MARK: - Shared names

    /// A name that two changes of a replica share means their last common predecessor from now on, in every context.
    ///
    /// Whoever wants that must try 2^32 changes, so the state is simply computed anew.
    mutating func noteSharedNames(
        of fresh: VerifiedRun,
        on line: LineIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for (position, hash) in fresh.hashes.enumerated() {
            let sequence = fresh.run.firstSequence + UInt64(position)
            let point = Point(replica: fresh.run.replica, sequence: sequence, name: ChangeName(hash))
            if try transaction.places(of: point).contains(where: { $0.line != line }) { self.needsRebuild = true }
        }
    }

    // MARK: - Restamps

    /// Takes note of the restamps in a run that was stored on a line: they count wherever they stand, be their change
    /// held or waiting, so that effective stamps only ever fall.
    mutating func noteRestamps(
        in run: Run,
        author: LineIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for change in run.changes {
            for operation in run.operations[change.operationRange] where operation.kind == .restamp {
                guard let restamp = try? Restamp(decoding: run.payload[operation.payloadRange]) else { continue }
                let record = RestampRecord(restamp: restamp, author: author)
                guard !transaction.restamps.contains(record) else { continue }
                try transaction.addRestamp(record)
                self.restampedStretches[restamp.replica] = nil
                self.dueRestamps.append(record)
            }
        }
    }

    /// Takes note of the restamps whose stretches are complete with a run that was stored.
    mutating func noteStretches(
        endingIn fresh: VerifiedRun,
        in transaction: borrowing some StoreTransaction
    ) {
        let (replica, first) = (fresh.run.replica, fresh.run.firstSequence)
        guard transaction.restamps.hasAny(of: replica) else { return }
        self.restampedStretches[replica] = nil
        for record in transaction.restamps.records(of: replica, endingIn: first...fresh.run.lastSequence) {
            let last = record.restamp.lastSequence
            guard fresh.hashes[Int(last - first)] == record.restamp.lastHash else { continue }
            self.dueRestamps.append(record)
        }
    }

    /// The last change of a stretch that is restamped by right: by a device of the same user as the chain's, or of the
    /// founder.
    ///
    /// Nil if it is not stored.
    private func end(
        of record: RestampRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> LinePoint? {
        #if PLANTED_BUGS
        if PlantedBug.restampIgnored.isPlanted { return nil }
        #endif
        let (sequence, hash) = (record.restamp.lastSequence, record.restamp.lastHash)
        guard let last = try transaction.place(of: record.restamp.replica, sequence: sequence, hash: hash) else {
            return nil
        }
        #if PLANTED_BUGS
        if PlantedBug.strangersRestamp.isPlanted { return last }
        #endif
        guard let author = transaction.line(record.author).introduction?.user else { return nil }
        return author == self.founder || author == transaction.line(last.line).introduction?.user ? last : nil
    }

    /// Whether a change is in a stretch that is restamped by right.
    mutating func isRestamped(
        _ place: LinePoint,
        _ replica: ReplicaID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard transaction.restamps.hasAny(of: replica) else { return false }
        let known: RestampedStretches
        if let found = self.restampedStretches[replica], found.lowest <= place.sequence {
            known = found
        } else {
            known = try self.stretches(of: replica, endingFrom: place.sequence, in: &transaction)
            self.restampedStretches[replica] = known
        }
        for (end, first) in known.firstByEnd where first <= place.sequence && place.sequence <= end.sequence {
            if transaction.isWithin(place, end) { return true }
        }
        return false
    }

    /// What is restamped by right in a replica's chain, as far as it ends at a sequence or later.
    private func stretches(
        of replica: ReplicaID,
        endingFrom lowest: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RestampedStretches {
        var longest = lowest
        for line in transaction.lines(of: replica) {
            longest = max(longest, transaction.progress(of: line).storedSequence)
        }
        let records = transaction.restamps.records(of: replica, endingIn: lowest...longest)
        return RestampedStretches(lowest: lowest, firstByEnd: try self.firstByEnd(records, in: &transaction))
    }

    /// Where some stretches that are restamped by right begin, by where they end: of those that end together only the
    /// longest matters.
    private func firstByEnd(
        _ records: [RestampRecord],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [LinePoint: UInt64] {
        var firstByEnd: [LinePoint: UInt64] = [:]
        for record in records {
            guard let end = try self.end(of: record, in: &transaction) else { continue }
            firstByEnd[end] = min(firstByEnd[end] ?? .max, record.restamp.firstSequence)
        }
        return firstByEnd
    }

    /// Orders what has been restamped anew, as far as it was applied; what was held is looked at again.
    mutating func settleRestamps(in transaction: inout some StoreTransaction) throws(StoreError) {
        guard !self.dueRestamps.isEmpty else { return }
        var due: [RestampRecord] = []
        swap(&due, &self.dueRestamps)
        let restamped = self.appliedPlaces(within: try self.firstByEnd(due, in: &transaction), in: transaction)
        // What is held may follow from what is restamped, here or on other lines.
        for position in 0..<transaction.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            var line = transaction.line(index)
            guard case .held = line.waitsFor else { continue }
            line.waitsFor = nil
            try transaction.setLine(line, at: index)
        }
        try self.revise(try self.settleStamps(from: restamped, in: &transaction), in: &transaction)
    }

    /// The applied changes of some stretches, each once, however many stretches they are in.
    private func appliedPlaces(
        within firstByEnd: [LinePoint: UInt64],
        in transaction: borrowing some StoreTransaction
    ) -> [LinePoint] {
        var pieces: [LineIndex: [ClosedRange<UInt64>]] = [:]
        for (end, beginning) in firstByEnd {
            var next: LinePoint? = end
            while let last = next, last.sequence >= beginning {
                let progress = transaction.progress(of: last.line)
                let first = max(beginning, progress.firstSequence)
                let applied = min(last.sequence, progress.appliedSequence)
                if first <= applied { pieces[last.line, default: []].append(first...applied) }
                next = transaction.line(last.line).origin?.parent
            }
        }
        var places: [LinePoint] = []
        for (line, ranges) in pieces.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            var next: UInt64 = 0
            for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound >= next {
                let rest = max(range.lowerBound, next)...range.upperBound
                places += rest.map { LinePoint(line: line, sequence: $0) }
                next = range.upperBound + 1
            }
        }
        return places
    }

    /// Computes the effective stamps of changes anew, and of all that follow from them.
    ///
    /// Returns the changes whose stamps are others now.
    /// - Complexity: O(*n* log *m*) for the *n* changes looked at: the given ones and those whose stamps followed from
    ///   one that changed. All other changes are stamped later than what they had seen, and stay as they are.
    private mutating func settleStamps(
        from places: [LinePoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [LinePoint] {
        // Effective stamps rise from cause to effect, so that in their former order causes come first.
        var queue: [(former: Stamp, place: LinePoint)] = []
        var queued: Set<LinePoint> = []
        for place in places where queued.insert(place).inserted {
            queue.append((try transaction.effectiveStamp(at: place), place))
        }
        queue.sort { $0.former > $1.former }
        var changed: [LinePoint] = []
        while let (former, place) = queue.popLast() {
            queued.remove(place)
            guard try self.settleStamp(at: place, former, in: &transaction) else { continue }
            changed.append(place)
            for effect in try transaction.raisedStamps(causedBy: place) where queued.insert(effect).inserted {
                let stamp = try transaction.effectiveStamp(at: effect)
                let position = queue.partitioned { $0.former <= stamp }
                queue.insert((stamp, effect), at: position)
            }
        }
        return changed
    }

    /// Computes the effective stamp of an applied change anew.
    ///
    /// Returns whether it is another one now.
    private mutating func settleStamp(
        at place: LinePoint,
        _ former: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        var record = transaction.line(place.line)
        guard let header = try transaction.header(at: place) else { throw .damaged("a change is missing from the log") }
        var stamp = try self.isRestamped(place, record.id, in: &transaction) ? .zero : header.stamp
        var cause: LinePoint?
        let previous =
            place.sequence > record.firstSequence
            ? LinePoint(line: place.line, sequence: place.sequence - 1) : record.origin?.parent
        if let previous, previous.sequence > 0 {
            try self.raise(&stamp, &cause, above: try transaction.effectiveStamp(at: previous), previous)
        }
        let context = try transaction.contexts(of: place.line, after: place.sequence - 1, through: place.sequence)
        for point in context {
            guard let found = try self.find(point, in: &transaction), found.place.sequence > 0 else { continue }
            try self.raise(&stamp, &cause, above: found.stamp, found.place)
        }
        let isOwn = cause == nil && stamp == header.stamp
        try transaction.setRaisedStamp(isOwn ? nil : RaisedStamp(stamp: stamp, cause: cause), at: place)
        guard stamp != former else { return false }
        if !isOwn { record.firstRaised = min(record.firstRaised ?? .max, place.sequence) }
        if place.sequence == record.appliedSequence { record.appliedStamp = stamp }
        try transaction.setLine(record, at: place.line)
        return true
    }

    // MARK: - Held again

    /// Takes out of the state what has been applied and is held by the clock as it is now: it was set back.
    mutating func withdrawHeld(in transaction: inout some StoreTransaction) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.appliedNeverHeldAgain.isPlanted { return }
        #endif
        var withdrawn: [LinePoint] = []
        var records: [(LineIndex, LineRecord)] = []
        for position in 0..<transaction.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            guard HybridClock.isHeld(transaction.progress(of: index).appliedStamp, at: self.now) else { continue }
            var record = transaction.line(index)
            guard record.appliedSequence >= record.firstSequence else { continue }
            var (low, high) = (record.firstSequence, record.appliedSequence)
            while low < high {
                let middle = low + (high - low) / 2
                let stamp = try transaction.effectiveStamp(at: LinePoint(line: index, sequence: middle))
                if HybridClock.isHeld(stamp, at: self.now) { high = middle } else { low = middle + 1 }
            }
            withdrawn += (low...record.appliedSequence).map { LinePoint(line: index, sequence: $0) }
            let last = LinePoint(line: index, sequence: low - 1)
            let isLeft = last.sequence >= record.firstSequence
            try transaction.removeCheckpoints(of: index, after: last.sequence)
            (record.trail, record.context) =
                isLeft ? try transaction.trail(at: last, in: record) : (ContextTrail(), SeenLines())
            record.appliedStamp = isLeft ? try transaction.effectiveStamp(at: last) : .zero
            record.appliedSequence = last.sequence
            record.waitsFor = nil
            records.append((index, record))
        }
        guard !withdrawn.isEmpty else { return }
        // Only now, since contexts and stamps of one line are read through others.
        for (index, record) in records { try transaction.setLine(record, at: index) }
        for place in withdrawn { try transaction.setRaisedStamp(nil, at: place) }
        try self.revise(withdrawn, in: &transaction)
    }
}

extension Array {
    /// The first position from which on all elements fulfil a condition, where they are ordered by it.
    fileprivate func partitioned(_ condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, self.count)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// What is restamped in one replica's chain.
struct RestampedStretches {
    /// Stretches that end before this sequence are not in it.
    var lowest: UInt64
    /// Where the stretches begin, by where they end.
    var firstByEnd: [LinePoint: UInt64]
}
