/// Content of dropped writes that comes again, from somebody who has it.
extension Merge {
    /// Repairs what is needed of stored changes, from a run that has them.
    ///
    /// Deletions that had seen a repaired write may be applied already, so its object is computed anew from its
    /// history. What is not needed stays dropped, so nothing that was compacted or erased comes back.
    ///
    /// `hashes`: those of the run's changes, which show that they are the stored ones.
    /// - Complexity: O(*n* log *m*) for *n* operations of changes with dropped writes, and in the history of objects of
    ///   which something is repaired, of *m* in the log.
    package mutating func repair(
        from run: Run,
        hashes: [Hash256],
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        for (position, change) in run.changes.enumerated() where !change.isRedacted {
            let sequence = run.firstSequence + UInt64(position)
            let place = try transaction.place(of: run.replica, sequence: sequence, hash: hashes[position])
            // What waits is applied when its time comes.
            guard let place, place.sequence <= transaction.progress(of: place.segment).countedSequence else { continue }
            let limits = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
            let loaded = try transaction.loadRun(of: place.segment, from: sequence, limits: limits, signed: false)
            guard let stored = loaded, stored.changes.count == 1 else {
                throw .damaged("a change is missing from the log")
            }
            guard stored.operations.contains(where: { $0.kind == .redacted }) else { continue }
            let other = run.alone(change, at: sequence)
            try self.repair(stored, from: other, at: place, in: &transaction, cryptography)
        }
    }

    private mutating func repair(
        _ stored: Run,
        from other: Run,
        at place: SegmentPoint,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        guard stored.changes[0].operationCount == other.changes[0].operationCount else { return }
        let indexes = try self.indexes(of: stored, on: place.segment, in: &transaction)
        // The operations of each property, of which all are repaired or none.
        var wanted: [RegisterKey: Set<Int>] = [:]
        for (index, position) in stored.changes[0].operationRange.enumerated() {
            let operation = stored.operations[position]
            guard operation.kind == .redacted else { continue }
            let key = RegisterKey(
                object: indexes.objects[Int(operation.object)],
                name: indexes.names[Int(operation.operand)]
            )
            wanted[key, default: []].insert(index)
        }
        var filled: [Int: RegisterKey] = [:]
        for (key, places) in wanted where places.allSatisfy({ !other.operations[$0].kind.isHash }) {
            let contexts = try transaction.contextsInForce(at: key)
            guard try !transaction.isCovered(place, at: key, by: contexts) else { continue }
            for index in places { filled[index] = key }
        }
        guard !filled.isEmpty, let run = stored.repairing(Set(filled.keys), from: other, cryptography) else { return }
        let newIndexes = try self.indexes(of: run, on: place.segment, in: &transaction)
        try transaction.repairChange(at: place, by: run, indexes: newIndexes)
        let stamp = try transaction.effectiveStamp(at: place)
        let seen = try transaction.context(at: place)
        var objects: Set<ObjectIndex> = []
        for (key, places) in wanted.sorted(by: { $0.key.packed < $1.key.packed })
        where places.contains(where: { filled[$0] != nil }) {
            try self.uncount(redacted: Int64(places.count), in: place, at: key, in: &transaction)
        }
        for (index, _) in filled.sorted(by: { $0.key < $1.key }) {
            let write = WriteReference(
                stamp: stamp,
                segment: place.segment,
                sequence: place.sequence,
                index: UInt32(index)
            )
            let operation = run.operations[Int(run.changes[0].operationStart) + index]
            guard operation.kind == .set || operation.kind == .unset else {
                // Nobody may drop that.
                let context = CausalContext(seen: seen, author: place.segment, ordinal: write.ordinal)
                try self.apply(operation, write, context, of: run, indexes: newIndexes, in: &transaction)
                continue
            }
            let object = newIndexes.objects[Int(operation.object)]
            let filledKey = RegisterKey(object: object, name: newIndexes.names[Int(operation.operand)])
            // What is recorded anywhere is a part of the history.
            if try transaction.register(filledKey) == nil {
                let isRemoval = operation.kind == .unset
                let register = Register(winner: write, isRemoval: isRemoval, conflictCount: 0, writeCount: 1)
                try self.put(register, at: filledKey, in: &transaction)
            } else {
                try transaction.addVersion(write, status: .conflict, at: filledKey)
            }
            objects.insert(object)
        }
        try self.recompute(objects, in: &transaction)
        self.summary.repairedChanges.append(place)
    }
}
