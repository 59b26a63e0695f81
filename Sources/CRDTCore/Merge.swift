/// The rules of merging, applied to a store inside one transaction.
///
/// Feed it verified runs in any order with `receive`, then call `finish` once before the transaction ends. A change is
/// applied when everything it had seen is applied; until then, and while it is held, it lies in the log. The state that
/// results is a function of the set of effective operations and of nothing else.
package struct Merge {
    /// What one transaction did.
    package struct Summary: Hashable, Sendable {
        /// Changes newly in the log.
        package var storedChangeCount = 0
        package var storedOperationCount = 0
        /// Changes newly applied, whether effective or rejected.
        package var appliedChangeCount = 0
        /// The highest stamp that was applied and is effective: what the clock must observe.
        package var appliedStamp = Stamp.zero
        /// Whether the derived state was computed anew from the log.
        package var rebuilt = false
    }

    /// Why a replica's next stored change is not applied.
    package enum Wait: Hashable, Sendable {
        /// It had seen a change that is not applied here.
        case missing(Dot)
        /// It is stamped too far in the future; it is due at this time.
        case held(until: WallTime)
    }

    /// Whether a run was taken in.
    package enum Reception: Hashable, Sendable {
        case stored
        /// The run does not begin where the store's chain ends.
        case doesNotFit
    }

    package private(set) var summary = Summary()
    let now: WallTime
    var moves: [MoveRecord] = []
    private var needsRebuild = false
    /// Room for the numbers of the next run, so that not each run allocates its own.
    private var spareIndexes = RunIndexes(replica: ReplicaIndex(rawValue: 0), objects: [], names: [])

    package init(now: WallTime) {
        self.now = now
    }

    /// Appends a run to the log and applies what of it is ready.
    ///
    /// - Complexity: O(*n* log *m*) for *n* operations and *m* rows in the store.
    @specialized(where Rows == MemoryTransaction)
    package mutating func receive<Rows: StoreTransaction>(
        _ verified: VerifiedRun,
        in transaction: inout Rows
    ) throws(StoreError) -> Reception {
        let run = verified.run
        let indexes = try self.indexes(of: run, in: &transaction)
        defer { self.spareIndexes = indexes }
        var record = transaction.replica(indexes.replica)
        guard run.firstSequence == record.storedSequence + 1, verified.previous == record.storedHash,
            let lastHash = verified.hashes.last, let lastChange = run.changes.last
        else { return .doesNotFit }
        try transaction.appendLog(verified, indexes: indexes)
        record.storedSequence = run.lastSequence
        record.storedHash = lastHash
        record.storedStamp = lastChange.stamp
        if let introduction = verified.introduction { record.introduction = introduction }
        self.summary.storedChangeCount += run.changes.count
        self.summary.storedOperationCount += run.changes.reduce(0) { $0 + Int($1.operationCount) }
        if run.operations.contains(where: { $0.kind == .retire }) {
            // They may be about this replica itself.
            try transaction.setReplica(record, at: indexes.replica)
            try self.noteRetirements(in: run, author: indexes.replica, &transaction)
            record = transaction.replica(indexes.replica)
        }
        _ = try self.apply(run, indexes: indexes, record: &record, in: &transaction)
        try transaction.setReplica(record, at: indexes.replica)
        return .stored
    }

    /// Applies what has become ready, settles the hierarchy, and rebuilds if changes turned out not to count.
    @specialized(where Rows == MemoryTransaction)
    package mutating func finish<Rows: StoreTransaction>(in transaction: inout Rows) throws(StoreError) {
        try self.applyPending(in: &transaction)
        while self.needsRebuild {
            self.needsRebuild = false
            try self.resetDerivedState(in: &transaction)
            try self.applyPending(in: &transaction)
        }
        try self.settleMoves(in: &transaction)
    }

    /// Throws the derived state away and computes it anew from the log.
    ///
    /// - Complexity: O(*n* log *n*) for *n* operations in the log.
    package mutating func rebuild(in transaction: inout some StoreTransaction) throws(StoreError) {
        self.needsRebuild = true
        try self.finish(in: &transaction)
    }

    /// Records that a replica signed two different changes with one sequence; `finish` takes its changes from there on
    /// out of the state.
    package mutating func exclude(
        _ replica: ReplicaIndex,
        fromFork sequence: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var record = transaction.replica(replica)
        guard sequence < record.forkSequence ?? .max else { return }
        record.forkSequence = sequence
        try transaction.setReplica(record, at: replica)
        #if PLANTED_BUGS
        if PlantedBug.forkedTailCounts.isPlanted { return }
        #endif
        // What the replica took back of others after the fork comes back too.
        let retired = try RetirementRecord.all(in: &transaction).contains {
            $0.author == replica && $0.sequence >= sequence
        }
        if record.appliedSequence >= sequence || retired { self.needsRebuild = true }
    }

    /// Why each replica whose log is ahead of its state waits.
    ///
    /// Empty when everything stored is applied.
    package static func waits(
        at now: WallTime,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ReplicaIndex: Wait] {
        var waits: [ReplicaIndex: Wait] = [:]
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            guard record.appliedSequence < record.storedSequence else { continue }
            waits[index] = try self.waitOfNext(of: index, record, now: now, &transaction)
        }
        return waits
    }

    /// Why a replica's next stored change is not applied; nil if it is ready.
    private static func waitOfNext(
        of index: ReplicaIndex,
        _ record: ReplicaRecord,
        now: WallTime,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Wait? {
        let next = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
        guard
            let run = try transaction.loadRun(
                of: index,
                from: record.appliedSequence + 1,
                limits: next,
                signed: false
            ), let change = run.changes.first
        else { return nil }
        return try self.wait(of: change, in: run, record: record, now: now, &transaction)
    }

    // MARK: - Applying

    private mutating func indexes(
        of run: Run,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunIndexes {
        var indexes = RunIndexes(replica: try transaction.replicaIndex(of: run.replica), objects: [], names: [])
        swap(&indexes.objects, &self.spareIndexes.objects)
        swap(&indexes.names, &self.spareIndexes.names)
        indexes.objects.removeAll(keepingCapacity: true)
        indexes.names.removeAll(keepingCapacity: true)
        indexes.objects.reserveCapacity(run.objects.count)
        indexes.names.reserveCapacity(run.names.count)
        for object in run.objects { indexes.objects.append(try transaction.objectIndex(of: object)) }
        for name in run.names { indexes.names.append(try transaction.nameIndex(of: name)) }
        return indexes
    }

    /// Applies the changes of a stored run that follow what is applied, up to the first that must wait.
    ///
    /// `record`: that of the replica, for the caller to store.
    /// Returns how many it applied.
    private mutating func apply(
        _ run: Run,
        indexes: RunIndexes,
        record: inout ReplicaRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Int {
        guard run.firstSequence <= record.appliedSequence + 1 else { return 0 }
        let skipped = Int(clamping: record.appliedSequence + 1 - run.firstSequence)
        var applied = 0
        for change in run.changes.dropFirst(skipped) {
            record.waitsFor = try Merge.wait(of: change, in: run, record: record, now: self.now, &transaction)
            guard record.waitsFor == nil else { break }
            try self.apply(change, of: run, indexes: indexes, record: &record, in: &transaction)
            applied += 1
        }
        self.summary.appliedChangeCount += applied
        return applied
    }

    private static func wait(
        of change: Change,
        in run: Run,
        record: ReplicaRecord,
        now: WallTime,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Wait? {
        #if PLANTED_BUGS
        let now = PlantedBug.heldApplied.isPlanted ? WallTime(milliseconds: .max) : now
        #endif
        guard record.isEffective(record.appliedSequence + 1) else { return nil }
        if HybridClock.isHeld(change.stamp, at: now) {
            return .held(until: HybridClock.dueTime(of: change.stamp))
        }
        for entry in run.contextEntries[change.contextRange] {
            #if PLANTED_BUGS
            if PlantedBug.causesIgnored.isPlanted { break }
            #endif
            // Two steps: the first may enter the replica, which a value read before would not know.
            let index = try transaction.replicaIndex(of: entry.replica)
            if !transaction.progress(of: index).covers(entry.sequence) { return .missing(entry) }
        }
        return nil
    }

    private mutating func apply(
        _ change: Change,
        of run: Run,
        indexes: RunIndexes,
        record: inout ReplicaRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let sequence = record.appliedSequence + 1
        if record.isEffective(sequence), try self.isBackdated(change, of: run, record: record, &transaction) {
            record.backdatedAfter = sequence - 1
        }
        let isEffective = record.isEffective(sequence)
        if isEffective {
            for entry in run.contextEntries[change.contextRange] {
                let position = Int(try transaction.replicaIndex(of: entry.replica).rawValue)
                while position >= record.context.count { record.context.append(0) }
                record.context[position] = max(record.context[position], entry.sequence)
            }
            self.summary.appliedStamp = max(self.summary.appliedStamp, change.stamp)
        }
        var write = WriteReference(stamp: change.stamp, replica: indexes.replica, sequence: sequence, index: 0)
        var context = CausalContext(sequences: record.context, author: indexes.replica, ordinal: write.ordinal)
        for position in change.operationRange {
            let operation = run.operations[position]
            context.ordinal = write.ordinal
            if isEffective {
                try self.apply(operation, write, context, of: run, indexes: indexes, in: &transaction)
            } else if operation.kind.hasName {
                let key = RegisterKey(
                    object: indexes.objects[Int(operation.object)],
                    name: indexes.names[Int(operation.operand)]
                )
                try transaction.addVersion(write, status: .rejected, at: key)
            }
            write.index += 1
        }
        record.appliedSequence = sequence
        record.appliedStamp = change.stamp
    }

    /// Whether a change is stamped no later than something it had seen, which only a false clock or a liar does.
    private func isBackdated(
        _ change: Change,
        of run: Run,
        record: ReplicaRecord,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if change.stamp <= record.appliedStamp { return true }
        for entry in run.contextEntries[change.contextRange] {
            let index = try transaction.replicaIndex(of: entry.replica)
            // Of an excluded replica the author counts as having seen what there is that counts.
            let last = min(entry.sequence, transaction.progress(of: index).effectiveEnd)
            if last > 0, let seen = try transaction.stamp(of: index, sequence: last), change.stamp <= seen {
                return true
            }
        }
        return false
    }

    private mutating func apply(
        _ operation: Operation,
        _ write: WriteReference,
        _ context: CausalContext,
        of run: Run,
        indexes: RunIndexes,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard operation.kind.hasObject else { return }
        let object = indexes.objects[Int(operation.object)]
        switch operation.kind {
        case .set, .unset:
            try self.touch(object, by: write, in: &transaction)
            let key = RegisterKey(object: object, name: indexes.names[Int(operation.operand)])
            try self.write(write, isRemoval: operation.kind == .unset, context, at: key, in: &transaction)
        case .create:
            try self.touch(object, by: write, in: &transaction)
            if let body = try? CreationBody(decoding: run.payload, at: operation.payloadRange) {
                try self.create(object, body, by: write, in: &transaction)
            }
        case .move:
            try self.touch(object, by: write, in: &transaction)
            let parent = operation.operand == 0 ? nil : indexes.objects[Int(operation.operand) - 1]
            let position = Position(bytes: Array(run.payload[operation.payloadRange]))
            self.moves.append(
                MoveRecord(write: write, object: object, parent: parent, position: position, isEffective: false)
            )
        case .delete:
            let isStale = try transaction.update(object) { record in
                record.existence.remove(coveredBy: context)
                record.updated = max(record.updated, write.stamp)
                return record.isVisible && !record.shouldBeVisible
            }
            if isStale { try self.refreshVisibility(of: object, in: &transaction) }
        default: break
        }
    }

    private mutating func touch(
        _ object: ObjectIndex,
        by write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if PLANTED_BUGS
        let isMade = try transaction.look(at: object) { $0.creation != nil }
        if PlantedBug.editRevivesNothing.isPlanted, isMade { return }
        #endif
        let isStale = try transaction.update(object) { record in
            record.existence.touch(by: write.replica, at: write.ordinal)
            record.updated = max(record.updated, write.stamp)
            #if PLANTED_BUGS
            if PlantedBug.updateTimeByArrival.isPlanted { record.updated = write.stamp }
            #endif
            return !record.isVisible
        }
        if isStale { try self.refreshVisibility(of: object, in: &transaction) }
    }

    /// Of several creations the first in order makes the object what it is.
    private mutating func create(
        _ object: ObjectIndex,
        _ body: CreationBody,
        by write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let type = try transaction.nameIndex(of: body.type)
        let kind = try transaction.nameIndex(of: body.kind)
        #if PLANTED_BUGS
        if PlantedBug.lastCreationCounts.isPlanted {
            try transaction.update(object) { $0.creation = nil }
        }
        #endif
        let current = try transaction.look(at: object) { $0.creation }
        if let current, !WriteOrder.precedes(write, current.write, transaction) { return }
        try transaction.update(object) { record in
            record.creation = ObjectRecord.Creation(write: write, type: type, kind: kind)
        }
    }

    /// A write meets a register: the highest in order is in force; what the new write had seen is superseded, what it
    /// had not is in conflict with it.
    private func write(
        _ write: WriteReference,
        isRemoval: Bool,
        _ context: CausalContext,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let current = try transaction.register(key) else {
            let register = Register(winner: write, isRemoval: isRemoval, conflictCount: 0)
            return try transaction.setRegister(register, at: key)
        }
        var register = current
        if current.conflictCount > 0 {
            for conflict in try transaction.conflicts(at: key) where context.covers(conflict) {
                guard register.conflictCount > 0 else {
                    throw .damaged("a property has more conflicting writes than the database counts")
                }
                try transaction.setVersion(conflict, status: .superseded, at: key)
                register.conflictCount -= 1
            }
        }
        #if PLANTED_BUGS
        if PlantedBug.lastArrivalWins.isPlanted {
            register.winner = write
            register.isRemoval = isRemoval
            return try transaction.setRegister(register, at: key)
        }
        if PlantedBug.removalAlwaysLoses.isPlanted, isRemoval, !current.isRemoval, !context.covers(current.winner) {
            try transaction.addVersion(write, status: .conflict, at: key)
            register.conflictCount += 1
            return try transaction.setRegister(register, at: key)
        }
        #endif
        if WriteOrder.precedes(current.winner, write, transaction) {
            let isSeen = context.covers(current.winner)
            try transaction.addVersion(current.winner, status: isSeen ? .superseded : .conflict, at: key)
            register.winner = write
            register.isRemoval = isRemoval
            register.conflictCount += isSeen ? 0 : 1
        } else {
            try transaction.addVersion(write, status: .conflict, at: key)
            register.conflictCount += 1
        }
        try transaction.setRegister(register, at: key)
    }

    // MARK: - Pending changes and rebuilding

    /// Applies stored changes of all replicas until none is ready.
    private mutating func applyPending(in transaction: inout some StoreTransaction) throws(StoreError) {
        var progress = true
        while progress {
            progress = false
            for position in 0..<transaction.replicaCount {
                let index = ReplicaIndex(rawValue: UInt32(position))
                while true {
                    guard transaction.progress(of: index).isPending else { break }
                    var record = transaction.replica(index)
                    guard !self.isKnownToWait(record, transaction) else { break }
                    // Chains may wait for ever, and be long: of those only the first change is read.
                    if let wait = try Merge.waitOfNext(of: index, record, now: self.now, &transaction) {
                        record.waitsFor = wait
                        try transaction.setReplica(record, at: index)
                        break
                    }
                    guard
                        let run = try transaction.loadRun(
                            of: index,
                            from: record.appliedSequence + 1,
                            limits: .pending,
                            signed: false
                        )
                    else { break }
                    let indexes = try self.indexes(of: run, in: &transaction)
                    defer { self.spareIndexes = indexes }
                    let applied = try self.apply(run, indexes: indexes, record: &record, in: &transaction)
                    if applied > 0 {
                        try transaction.setReplica(record, at: index)
                        progress = true
                    }
                    if applied < run.changes.count { break }
                }
            }
        }
    }

    /// Whether what a replica's next change was last seen to wait for is still not there: then it need not be loaded.
    private func isKnownToWait(_ record: ReplicaRecord, _ transaction: borrowing some StoreTransaction) -> Bool {
        guard let wait = record.waitsFor, record.isEffective(record.appliedSequence + 1) else { return false }
        switch wait {
        case .held(let dueTime): return self.now < dueTime
        case .missing(let entry):
            guard let index = transaction.existingReplicaIndex(of: entry.replica) else { return false }
            return !transaction.progress(of: index).covers(entry.sequence)
        }
    }

    /// Takes note of what a device takes back, as soon as it is stored.
    ///
    /// A retirement counts wherever it stands, be its change held, waiting or itself taken back: otherwise it would
    /// matter which of two retirements arrived first. Only a proved fork of its author takes it out, since peers may
    /// hold different branches.
    private mutating func noteRetirements(
        in run: Run,
        author: ReplicaIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.retirementIgnored.isPlanted { return }
        #endif
        for (position, change) in run.changes.enumerated() {
            for operation in run.operations[change.operationRange] where operation.kind == .retire {
                guard let retirement = try? Retirement(decoding: run.payload[operation.payloadRange]) else { continue }
                let sequence = run.firstSequence + UInt64(position)
                let target = try transaction.replicaIndex(of: retirement.replica)
                try RetirementRecord.add(
                    RetirementRecord(
                        author: author,
                        sequence: sequence,
                        target: target,
                        last: retirement.lastSequence
                    ),
                    in: &transaction
                )
                var record = transaction.replica(target)
                guard sequence < transaction.replica(author).forkSequence ?? .max,
                    retirement.lastSequence < record.retiredAfter ?? .max
                else { continue }
                record.retiredAfter = retirement.lastSequence
                try transaction.setReplica(record, at: target)
                if record.appliedSequence > retirement.lastSequence { self.needsRebuild = true }
            }
        }
    }

    private mutating func resetDerivedState(in transaction: inout some StoreTransaction) throws(StoreError) {
        self.moves = []
        self.summary.rebuilt = true
        try transaction.clearDerivedState()
        let retirements = try RetirementRecord.all(in: &transaction)
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            var record = transaction.replica(index)
            record.appliedSequence = 0
            record.appliedStamp = .zero
            record.waitsFor = nil
            record.context = []
            record.backdatedAfter = nil
            // A retirement that its own author's fork has made uncertain must not count: peers may not all have it.
            record.retiredAfter =
                retirements.filter { retirement in
                    retirement.target == index
                        && retirement.sequence < transaction.replica(retirement.author).forkSequence ?? .max
                }.map(\.last).min()
            try transaction.setReplica(record, at: index)
        }
    }

    // MARK: - Visibility

    /// Carries a change of an object's visibility up to its ancestors.
    mutating func refreshVisibility(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var current = object
        while try transaction.look(at: current, { $0.isVisible != $0.shouldBeVisible }) {
            let isVisible = try transaction.update(current) { record in
                record.isVisible.toggle()
                return record.isVisible
            }
            guard let parent = try transaction.parent(of: current) else { return }
            let step: Int64 = isVisible ? 1 : -1
            try transaction.update(parent) { above in
                // A damaged database may count less than there is.
                above.visibleChildCount = UInt32(clamping: Int64(above.visibleChildCount) + step)
            }
            #if PLANTED_BUGS
            if PlantedBug.visibilityStopsAtParent.isPlanted { return }
            #endif
            current = parent
        }
    }
}

extension ObjectRecord {
    /// An object shows if it lives, or if something below it shows.
    package var shouldBeVisible: Bool {
        #if PLANTED_BUGS
        if PlantedBug.folderHidesContent.isPlanted { return self.existence.isAlive }
        #endif
        return self.visibleChildCount > 0 || self.existence.isAlive
    }
}

extension RunLimits {
    /// How much of a replica's waiting changes is loaded at once.
    static let pending = RunLimits(changeCountMax: 1024, operationCountMax: 1 << 14, byteCountMax: 4 << 20)
}

/// The strict total order of operations: stamp, then replica id, then place in the chain.
package enum WriteOrder {
    /// Whether the first of two operations comes before the second.
    package static func precedes(
        _ left: WriteReference,
        _ right: WriteReference,
        _ transaction: borrowing some StoreTransaction
    ) -> Bool {
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if left.replica == right.replica { return left.ordinal < right.ordinal }
        #if PLANTED_BUGS
        if PlantedBug.tieGoesToTheFirstHeard.isPlanted { return left.replica.rawValue < right.replica.rawValue }
        #endif
        return transaction.replicaID(left.replica) < transaction.replicaID(right.replica)
    }

    /// The same, for callers that look up replica ids in their own way.
    package static func precedes(
        _ left: WriteReference,
        _ right: WriteReference,
        id: (ReplicaIndex) -> ReplicaID
    ) -> Bool {
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if left.replica == right.replica { return left.ordinal < right.ordinal }
        return id(left.replica) < id(right.replica)
    }
}
