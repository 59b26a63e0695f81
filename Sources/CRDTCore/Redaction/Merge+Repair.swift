/// Content of dropped writes that comes again, from somebody who has it.
extension Merge {
    /// Repairs what is missing of stored changes, from a run that has it.
    ///
    /// The writes count already; only what they say is new. What is not needed stays dropped, so nothing that was
    /// compacted or erased comes back.
    ///
    /// `hashes`: those of the run's changes, which show that they are the stored ones.
    /// - Complexity: O(*n* log *m*) for *n* operations of changes of which something is missing, of *m* in the log.
    package mutating func repair(
        from run: Run,
        hashes: [Hash256],
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        for (position, change) in run.changes.enumerated() where change.redaction != .whole {
            let sequence = run.firstSequence + UInt64(position)
            let place = try transaction.place(of: run.replica, sequence: sequence, hash: hashes[position])
            guard let place, try transaction.missingCount(in: place) > 0 else { continue }
            let stored = try transaction.change(at: place)
            guard stored.changes[0].operationCount == change.operationCount else { continue }
            let other = run.alone(change, at: sequence)
            if stored.contradicts(other) {
                try self.replace(place, by: other, in: &transaction)
            } else {
                try self.repair(stored, from: other, at: place, in: &transaction, cryptography)
            }
        }
    }

    /// Puts a change in the place of one that is not what its hash says: a file was damaged, or altered.
    private mutating func replace(
        _ place: SegmentPoint,
        by run: Run,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard run.changes[0].redaction == .none else { return }
        let indexes = try self.indexes(of: run, on: place.segment, in: &transaction)
        let places = run.operations.indices.filter { run.operations[$0].hasContent }.map { UInt32($0) }
        try transaction.repairChange(at: place, by: run, indexes: indexes, places: places)
        try transaction.setMissingCount(0, in: place)
        self.summary.repairedChanges.append(RepairedChange(change: place, places: places))
        guard place.sequence <= transaction.progress(of: place.segment).countedSequence else { return }
        for (index, operation) in run.operations.enumerated() where operation.hasContent {
            let key = RegisterKey(
                object: indexes.objects[Int(operation.object)],
                name: indexes.names[Int(operation.operand)]
            )
            try self.show(operation.kind, of: index, in: place, at: key, in: &transaction)
        }
    }

    /// Shows what a write says, if it is in force: its content is another than was known.
    private mutating func show(
        _ kind: OperationKind,
        of index: Int,
        in place: SegmentPoint,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        // Whoever follows the object hears of it.
        try transaction.update(key.object) { _ in }
        #if CHECKED
        self.touched.note(key.object)
        #endif
        guard var register = try transaction.register(key), register.winner.point == place,
            register.winner.index == UInt32(index)
        else { return }
        register.isRemoval = kind != .set
        try self.put(register, at: key, in: &transaction)
    }

    private mutating func repair(
        _ stored: Run,
        from other: Run,
        at place: SegmentPoint,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        var filled: [(index: Int, key: RegisterKey)] = []
        for (index, position) in stored.changes[0].operationRange.enumerated() {
            let operation = stored.operations[position]
            guard operation.kind == .redacted, other.operations[index].hasContent else { continue }
            let key = RegisterKey(
                object: try transaction.objectIndex(of: stored.objects[Int(operation.object)], by: place.segment),
                name: try transaction.nameIndex(of: stored.name(of: operation))
            )
            let ordinal = ChainOrdinal(sequence: place.sequence, index: UInt32(index))
            if try transaction.isNeeded(ordinal, in: place, at: key) { filled.append((index, key)) }
        }
        guard !filled.isEmpty, let run = stored.repairing(Set(filled.map(\.index)), from: other, cryptography)
        else { return }
        let indexes = try self.indexes(of: run, on: place.segment, in: &transaction)
        let places = filled.map { UInt32($0.index) }
        var others = places
        if stored.changes[0].redaction == .whole {
            // What stays dropped has a leaf now, in place of the one hash for all.
            let operations = run.operations[run.changes[0].operationRange]
            others += operations.enumerated().filter { $0.element.kind == .redacted }.map { UInt32($0.offset) }
        }
        try transaction.repairChange(at: place, by: run, indexes: indexes, places: others)
        self.summary.repairedChanges.append(RepairedChange(change: place, places: places))
        guard place.sequence <= transaction.progress(of: place.segment).countedSequence else {
            try self.forget(place, stored, in: &transaction)
            return try self.record(run, indexes, at: place, in: &transaction)
        }
        try self.note(missing: -filled.count, in: place, in: &transaction)
        let start = Int(run.changes[0].operationStart)
        for (index, key) in filled {
            try self.show(run.operations[start + index].kind, of: index, in: place, at: key, in: &transaction)
        }
    }
}

/// A change that is stored, and writes of it whose content has come.
package struct RepairedChange: Hashable, Sendable {
    package var change: SegmentPoint
    /// The places of the writes in the change, in ascending order.
    package var places: [UInt32]
}
