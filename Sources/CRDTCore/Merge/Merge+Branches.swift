/// Branches of the workspace: changes that are applied as all others are, and count in the state only from the change
/// on that merges them.
///
/// To merge a branch is to take its changes in late, as edits that were made offline. So a branch has no rules of its
/// own: until then, its operations are recorded apart, where `History` finds them.
extension Merge {
    /// Takes note of what a stored run says of branches by right.
    func noteBranches(
        in run: Run,
        author: SegmentIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard run.operations.contains(where: { $0.kind == .branch }),
            let user = transaction.segment(author).introduction?.user
        else { return }
        for (position, change) in run.changes.enumerated() {
            let place = SegmentPoint(segment: author, sequence: run.firstSequence + UInt64(position))
            var said: Set<BranchStatement> = []
            for operation in run.operations[change.operationRange] where operation.kind == .branch {
                guard let statement = try? BranchStatement(decoding: run.payload[operation.payloadRange]),
                    said.insert(statement).inserted, statement.isPermitted(to: user)
                else { continue }
                let record = BranchRecord(statement: statement, author: place)
                if !transaction.branches.contains(record) { try transaction.addBranch(record) }
            }
        }
    }

    /// Records the operations of a run of one change that is on a branch.
    mutating func record(
        _ run: Run,
        _ indexes: RunIndexes,
        at place: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var write = WriteReference(stamp: .zero, segment: place.segment, sequence: place.sequence, index: 0)
        let rights = transaction.rights.limits(of: place.segment)
        for operation in run.operations[run.changes[0].operationRange] {
            defer { write.index += 1 }
            if let rights, !rights.allow(operation, of: run, at: place.sequence) { continue }
            try self.record(operation, write, of: run, indexes: indexes, in: &transaction)
        }
    }

    /// Records an operation of a branch.
    mutating func record(
        _ operation: Operation,
        _ write: WriteReference,
        of run: Run,
        indexes: RunIndexes,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard operation.kind.isEdit else { return }
        if operation.kind == .redacted, !transaction.isGivenUp(write.point) {
            try self.note(missing: 1, in: write.point, in: &transaction)
        }
        let object = indexes.objects[Int(operation.object)]
        var (name, parent): (NameIndex, ObjectIndex?) = (.lifetime, nil)
        if operation.kind.isWrite { name = indexes.names[Int(operation.operand)] }
        if operation.kind == .move {
            name = .place
            parent = operation.operand == 0 ? nil : indexes.objects[Int(operation.operand) - 1]
        }
        let key = RegisterKey(object: object, name: name)
        try transaction.addUnmerged(UnmergedOperation(key: key, write: write, kind: operation.kind, parent: parent))
    }

    /// Lets changes of branches count that a change of the main timeline merges, with all that they had seen.
    ///
    /// `named`: what the change names. `context`: what it has taken in.
    ///
    /// For programs that read the tables it is noted how much of which branches counts from that change on: all that
    /// counts newly, and what the change itself names. Of two that merge a branch at once both name it, and the earlier
    /// by its stamp is not always the one that came first. So there is no more to note than was sent.
    mutating func merge(
        _ named: [SegmentPoint],
        within context: SeenSegments,
        by change: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let merged = named.filter { place in
            transaction.progress(of: place.segment).branch != nil && place.sequence <= context[place.segment]
        }
        for place in merged { try transaction.noteTaken(place.segment, through: place.sequence, by: change) }
        let ends = try self.unmergedEnds(seenBy: merged, in: &transaction)
        guard !ends.isEmpty else { return }
        for (segment, sequence) in ends { try transaction.noteTaken(segment, through: sequence, by: change) }
        let places = try self.unmergedChanges(upTo: ends, in: &transaction)
        var contexts = ContextCursor()
        for (place, stamp) in places {
            let run = try transaction.change(at: place)
            try self.forget(place, run, in: &transaction)
            let indexes = try self.indexes(of: run, on: place.segment, in: &transaction)
            let seen = try contexts.context(at: place, in: &transaction)
            var write = WriteReference(stamp: stamp, segment: place.segment, sequence: place.sequence, index: 0)
            var context = CausalContext(seen: seen, author: place.segment, ordinal: write.ordinal)
            let rights = transaction.rights.limits(of: place.segment)
            for operation in run.operations[run.changes[0].operationRange] {
                defer { write.index += 1 }
                if let rights, !rights.allow(operation, of: run, at: place.sequence) { continue }
                context.ordinal = write.ordinal
                try self.apply(operation, write, context, of: run, indexes: indexes, in: &transaction)
            }
            if rights.map({ place.sequence <= $0.writer }) ?? true {
                try self.noteErasures(of: run.changes[0], in: run, at: place, &transaction)
            }
            var record = transaction.segment(place.segment)
            record.mergedSequence = place.sequence
            try transaction.setSegment(record, at: place.segment)
            self.summary.appliedChangeCount += 1
        }
    }

    /// How far segments of branches were seen by some changes, and by what those had seen, where that does not count
    /// yet.
    private func unmergedEnds(
        seenBy places: [SegmentPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentIndex: UInt64] {
        var (ends, waiting): ([SegmentIndex: UInt64], [SegmentPoint]) = ([:], [])
        func isNew(_ place: SegmentPoint) -> Bool {
            let progress = transaction.progress(of: place.segment)
            return progress.branch != nil && place.sequence > max(progress.countedSequence, ends[place.segment] ?? 0)
        }
        waiting = places.filter(isNew)
        while let place = waiting.popLast() {
            guard isNew(place) else { continue }
            ends[place.segment] = place.sequence
            for (segment, sequence) in try transaction.context(at: place).all {
                let seen = SegmentPoint(segment: segment, sequence: sequence)
                if isNew(seen) { waiting.append(seen) }
            }
        }
        return ends
    }

    /// Changes that do not count yet in the order of their effective stamps, in which causes come before effects.
    private func unmergedChanges(
        upTo ends: [SegmentIndex: UInt64],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [(place: SegmentPoint, stamp: Stamp)] {
        var places: [(place: SegmentPoint, stamp: Stamp)] = []
        for (segment, end) in ends {
            for sequence in transaction.progress(of: segment).countedSequence + 1..<end + 1 {
                let place = SegmentPoint(segment: segment, sequence: sequence)
                places.append((place, try transaction.effectiveStamp(at: place)))
            }
        }
        return places.sorted { left, right in
            (left.stamp, left.place) < (right.stamp, right.place)
        }
    }

    /// The branches that a change gives up by right.
    func branchesClosed(by change: Change, of run: Run, _ user: UserID?) -> Set<BranchID> {
        guard let user else { return [] }
        var closed: Set<BranchID> = []
        for operation in run.operations[change.operationRange] where operation.kind == .branch {
            let statement = try? BranchStatement(decoding: run.payload[operation.payloadRange])
            if case .closes(let id)? = statement, id.isGiven(by: user) { closed.insert(id) }
        }
        return closed
    }

    /// Gives up what a change names of branches, and what comes before it on its own.
    ///
    /// `record`: that of the change's own segment, for the caller to store.
    /// - Complexity: O(*n* log *n*) for *n* named changes, and those of which something was dropped.
    mutating func close(
        _ branches: Set<BranchID>,
        of record: inout SegmentRecord,
        at place: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for branch in branches.sorted() {
            for (segment, sequence) in try transaction.givenUp(of: branch, by: place).all {
                if segment == place.segment {
                    if sequence > record.closedSequence {
                        try self.setClosed(sequence, of: &record, at: segment, in: &transaction)
                    }
                } else if sequence > transaction.progress(of: segment).closedSequence {
                    var other = transaction.segment(segment)
                    try self.setClosed(sequence, of: &other, at: segment, in: &transaction)
                    try transaction.setSegment(other, at: segment)
                }
            }
        }
    }

    /// Finds anew what is given up of branches, after changes were withdrawn.
    private mutating func reviseClosed(in transaction: inout some StoreTransaction) throws(StoreError) {
        var closed = SeenSegments()
        for id in transaction.branches.closedIDs {
            for place in transaction.branches.closings(of: id)
            where place.sequence <= transaction.progress(of: place.segment).appliedSequence {
                closed.formUnion(try transaction.givenUp(of: id, by: place))
            }
        }
        for segment in transaction.segmentIndices
        where transaction.progress(of: segment).closedSequence != closed[segment] {
            var record = transaction.segment(segment)
            try self.setClosed(closed[segment], of: &record, at: segment, in: &transaction)
            try transaction.setSegment(record, at: segment)
        }
    }

    /// Sets how far a segment of a branch is given up.
    ///
    /// What was dropped of that is not missing: nobody needs it, and an erasure may have dropped it.
    private mutating func setClosed(
        _ sequence: UInt64,
        of record: inout SegmentRecord,
        at segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let former = max(record.closedSequence, record.countedSequence)
        record.closedSequence = sequence
        let last = max(sequence, record.countedSequence)
        var place = SegmentPoint(segment: segment, sequence: last)
        while place.sequence < min(former, record.appliedSequence) {
            place.sequence += 1
            let run = try transaction.change(at: place)
            try self.note(missing: transaction.redactedCount(of: run, at: place), in: place, in: &transaction)
        }
        place.sequence = former
        while let next = try transaction.changesMissingContent(after: place, limit: 1).first,
            next.segment == segment, next.sequence <= last
        {
            let run = try transaction.change(at: next)
            try self.note(missing: -transaction.redactedCount(of: run, at: next), in: next, in: &transaction)
            place = next
        }
    }

    /// Forgets the operations of a change on a branch.
    mutating func forget(
        _ place: SegmentPoint,
        _ run: Run,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        if !transaction.isGivenUp(place) {
            try self.note(missing: -transaction.redactedCount(of: run, at: place), in: place, in: &transaction)
        }
        for object in run.objects {
            try transaction.removeUnmerged(place, of: try transaction.objectIndex(of: object, by: place.segment))
        }
    }

    /// Forgets the operations of changes on branches that are not applied any more.
    mutating func forget(_ places: [SegmentPoint], in transaction: inout some StoreTransaction) throws(StoreError) {
        for place in places {
            try self.forget(place, try transaction.change(at: place), in: &transaction)
        }
    }

    /// Revises the state after changes were withdrawn that counted, and with them perhaps what had merged a branch.
    mutating func reviseMerged(
        _ withdrawn: [SegmentPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try self.reviseClosed(in: &transaction)
        var (mains, merged): ([SegmentPoint], [SegmentIndex: UInt64]) = ([], [:])
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            if progress.branch == nil {
                if progress.hasApplied {
                    mains.append(SegmentPoint(segment: segment, sequence: progress.appliedSequence))
                }
            } else if progress.countedSequence >= progress.firstSequence {
                merged[segment] = progress.countedSequence
            }
        }
        guard !merged.isEmpty else { return try self.revise(withdrawn, in: &transaction) }
        for segment in merged.keys { try self.setMerged(0, of: segment, in: &transaction) }
        var seen: [SegmentPoint] = []
        for main in mains {
            for (segment, sequence) in try transaction.context(at: main).all {
                seen.append(SegmentPoint(segment: segment, sequence: sequence))
            }
        }
        let ends = try self.unmergedEnds(seenBy: seen, in: &transaction)
        var apart: [SegmentPoint] = []
        for (segment, former) in merged {
            let end = min(ends[segment] ?? transaction.progress(of: segment).firstSequence - 1, former)
            try self.setMerged(end, of: segment, in: &transaction)
            apart += (end..<former).map { SegmentPoint(segment: segment, sequence: $0 + 1) }
        }
        try self.revise(withdrawn + apart, in: &transaction)
        for place in apart {
            let run = try transaction.change(at: place)
            let indexes = try self.indexes(of: run, on: place.segment, in: &transaction)
            try self.record(run, indexes, at: place, in: &transaction)
        }
    }

    private func setMerged(
        _ sequence: UInt64,
        of segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var record = transaction.segment(segment)
        record.mergedSequence = max(sequence, record.firstSequence - 1)
        try transaction.setSegment(record, at: segment)
    }
}

extension StoreTransaction {
    /// The number of writes of a change alone that were dropped, and count by right.
    fileprivate func redactedCount(of run: Run, at place: SegmentPoint) -> Int {
        let rights = self.rights.limits(of: place.segment)
        return run.operations[run.changes[0].operationRange].count { operation in
            operation.kind == .redacted && rights?.allow(operation, of: run, at: place.sequence) ?? true
        }
    }
}
