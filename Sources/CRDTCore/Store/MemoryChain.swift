/// The log of one segment in memory: its runs as they were stored.
struct MemoryChain: Sendable {
    private(set) var runs: [VerifiedRun] = []
    /// In order.
    private(set) var checkpoints: [(sequence: UInt64, checkpoint: Checkpoint)] = []
    /// Their whole contexts, if somebody has put them together.
    var keptContexts: [KeptContext]?

    /// The first change; 0 if there is none.
    private var firstSequence: UInt64 { self.runs.first?.run.firstSequence ?? 0 }
    /// The last change; 0 if there is none.
    private var lastSequence: UInt64 { self.runs.last?.run.lastSequence ?? 0 }

    mutating func append(_ run: VerifiedRun) { self.runs.append(run) }

    /// Puts a change in the place of the one with its sequence.
    mutating func replace(_ sequence: UInt64, by run: Run) {
        guard let place = self.place(of: sequence) else { return }
        let stored = self.runs[place.run]
        var builder = RunBuilder(replica: stored.run.replica, firstSequence: stored.run.firstSequence)
        for position in stored.run.changes.indices {
            if position == place.change {
                run.copy(run.changes[0], to: &builder)
            } else {
                stored.run.copy(stored.run.changes[position], to: &builder)
            }
        }
        self.runs[place.run] = stored.replacingRun(with: builder.signed(stored.run.signature))
    }

    mutating func setCheckpoint(_ checkpoint: Checkpoint, at sequence: UInt64) {
        let position = self.checkpoints.firstIndex { $0.sequence >= sequence } ?? self.checkpoints.count
        if position < self.checkpoints.count, self.checkpoints[position].sequence == sequence {
            self.checkpoints[position].checkpoint = checkpoint
        } else {
            self.checkpoints.insert((sequence, checkpoint), at: position)
        }
    }

    func checkpoint(upTo sequence: UInt64) -> (sequence: UInt64, checkpoint: Checkpoint)? {
        self.checkpoints.last { $0.sequence <= sequence }
    }

    mutating func removeCheckpoints(after sequence: UInt64) {
        self.checkpoints.removeAll { $0.sequence > sequence }
    }

    func contexts(after sequence: UInt64, through last: UInt64) -> [Point] {
        var points: [Point] = []
        guard sequence < last, var place = self.place(of: sequence + 1) else { return points }
        for _ in sequence..<last {
            let run = self.runs[place.run].run
            points += run.contextEntries[run.changes[place.change].contextRange]
            place.change += 1
            if place.change == run.changes.count { place = (place.run + 1, 0) }
            if place.run == self.runs.count { break }
        }
        return points
    }

    /// Where a stored change stands: the run, and the place in it.
    private func place(of sequence: UInt64) -> (run: Int, change: Int)? {
        guard sequence >= 1, sequence >= self.firstSequence, sequence <= self.lastSequence else { return nil }
        // Chains in memory are often written a change at a time.
        var range = 0..<self.runs.count
        let number = Int(clamping: sequence - self.firstSequence)
        if number < self.runs.count, self.runs[number].run.firstSequence == sequence { return (number, 0) }
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            if self.runs[middle].run.firstSequence <= sequence {
                range = middle..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return (range.lowerBound, Int(sequence - self.runs[range.lowerBound].run.firstSequence))
    }

    func header(_ sequence: UInt64) -> ChangeHeader? {
        guard let place = self.place(of: sequence) else { return nil }
        let stored = self.runs[place.run]
        return ChangeHeader(stamp: stored.run.changes[place.change].stamp, hash: stored.hashes[place.change])
    }

    /// The kind of one stored operation.
    func kind(_ index: UInt32, of sequence: UInt64) -> OperationKind? {
        guard let place = self.place(of: sequence) else { return nil }
        let run = self.runs[place.run].run
        let change = run.changes[place.change]
        return index < change.operationCount ? run.operations[Int(change.operationStart + index)].kind : nil
    }

    /// One stored operation in full words.
    func edit(_ index: UInt32, of sequence: UInt64) throws(WireError) -> Edit? {
        guard let place = self.place(of: sequence) else { return nil }
        let run = self.runs[place.run].run
        let change = run.changes[place.change]
        guard index < change.operationCount else { return nil }
        return try run.edit(run.operations[Int(change.operationStart + index)])
    }

    // MARK: - Loading

    /// Builds a run from a sequence on; see `StoreTransaction.loadRun`.
    func load(from sequence: UInt64, limits: RunLimits, signed: Bool) -> Run? {
        guard let first = self.place(of: sequence) else { return nil }
        let stored = self.runs[first.run].run
        // Whoever asks for what is unsigned looks at the changes, and not at what else the tables of a run hold.
        if !signed, first.change == 0, limits.allow(stored.size) { return stored }
        let last = self.lastSequence(from: sequence, limits: limits, signed: signed)
        var builder = RunBuilder(replica: stored.replica, firstSequence: sequence)
        var place = first
        for _ in sequence...last {
            if place.change == self.runs[place.run].run.changes.count { place = (place.run + 1, 0) }
            let run = self.runs[place.run].run
            run.copy(run.changes[place.change], to: &builder)
            place.change += 1
        }
        let end = self.runs[place.run].run
        return builder.signed(end.lastSequence == last ? end.signature : nil)
    }

    private func lastSequence(from sequence: UInt64, limits: RunLimits, signed: Bool) -> UInt64 {
        guard var place = self.place(of: sequence) else { return sequence }
        var last = sequence
        var size = ChangeSize.zero
        var end = place
        while last <= self.lastSequence, last - sequence < UInt64(limits.changeCountMax) {
            let run = self.runs[place.run].run
            let change = run.changes[place.change]
            size += run.size(of: change)
            if last > sequence, !limits.allow(size) { break }
            end = place
            last += 1
            place.change += 1
            if place.change == run.changes.count { place = (place.run + 1, 0) }
        }
        last = max(sequence, last - 1)
        guard signed else { return last }
        // Each run was signed at its end.
        let signature = self.runs[end.run].run.lastSequence
        if signature == last || end.run == 0 { return signature }
        let before = self.runs[end.run - 1].run.lastSequence
        return before >= sequence ? before : signature
    }
}
