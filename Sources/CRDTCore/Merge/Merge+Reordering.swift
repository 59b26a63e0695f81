/// What other stamps of changes make of the state.
///
/// Which writes had seen which stays as it is, and so do the conflicting writes of a property, the moves that are open
/// and what lives. Only who comes first among them is another one, so that no history is gone through.
extension Merge {
    /// What changes did to one object.
    private struct Effect {
        /// The highest former stamp of the operations on it, and the highest of now.
        var former = Stamp.zero
        var highest = Stamp.zero
        var isCreated = false
    }

    /// Puts the operations of applied changes where their effective stamps order them now.
    ///
    /// `formerStamps`: of all whose stamps are others now.
    /// - Complexity: O(*n* log *m*) for *n* operations of the changes, and what conflicts with them, of *m* in the
    ///   store; where one was the last of its object, also O(*p*) for the *p* properties of that; the hierarchy as
    ///   for as many late moves.
    mutating func reorder(
        _ formerStamps: [SegmentPoint: Stamp],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard !formerStamps.isEmpty else { return }
        self.summary.isRevised = true
        self.examined = ExaminedConflicts()
        // Moves that this transaction applied are not recorded yet.
        try self.settleMoves(in: &transaction)
        var effects: [ObjectIndex: Effect] = [:]
        var contested: Set<RegisterKey> = []
        // What is on a branch has no place in an order of the state yet.
        for (place, former) in formerStamps.sorted(by: { $0.key < $1.key })
        where place.sequence <= transaction.progress(of: place.segment).countedSequence {
            let run = try transaction.change(at: place)
            let change = run.changes[0]
            let stamp = try transaction.effectiveStamp(at: place)
            let rights = transaction.rights.limits(of: place.segment)
            self.summary.restampCost += change.operationRange.count
            for position in change.operationRange where run.operations[position].kind.isEdit {
                if let rights, !rights.allow(run.operations[position], of: run, at: place.sequence) { continue }
                let index = UInt32(position - change.operationRange.lowerBound)
                let write = WriteReference(
                    stamp: former,
                    segment: place.segment,
                    sequence: place.sequence,
                    index: index
                )
                let id = run.objects[Int(run.operations[position].object)]
                let object = try transaction.objectIndex(of: id, by: place.segment)
                if run.operations[position].kind == .redacted {
                    let name = try transaction.nameIndex(of: run.name(of: run.operations[position]))
                    let key = RegisterKey(object: object, name: name)
                    // A superseded one has no place in an order.
                    guard try transaction.isRecorded(write.ordinal, on: write.segment, at: key) else { continue }
                }
                var effect = effects[object] ?? Effect()
                effect.former = max(effect.former, former)
                effect.highest = max(effect.highest, stamp)
                effect.isCreated = effect.isCreated || run.operations[position].kind == .create
                effects[object] = effect
                if let key = try self.restamp(write, to: stamp, of: object, in: &transaction) { contested.insert(key) }
            }
        }
        for key in contested.sorted(by: { $0.packed < $1.packed }) { try self.rank(key, in: &transaction) }
        for (object, effect) in effects.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            if effect.isCreated { try self.rankCreations(of: object, in: &transaction) }
            try self.noteLast(effect.former, effect.highest, of: object, in: &transaction)
        }
    }

    /// Gives one recorded operation another stamp.
    ///
    /// Returns the property of which another write may be in force now.
    private mutating func restamp(
        _ write: WriteReference,
        to stamp: Stamp,
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RegisterKey? {
        var restamped = write
        restamped.stamp = stamp
        switch try transaction.edit(write) {
        case .set(_, let name, _), .unset(_, let name), .redacted(_, let name, _):
            let key = RegisterKey(object: object, name: try transaction.nameIndex(of: name))
            guard var register = try transaction.register(key) else {
                throw .damaged("a property has no write in force")
            }
            if register.winner == write {
                register.winner = restamped
                try self.put(register, at: key, in: &transaction)
            } else {
                try transaction.restampVersion(write, to: stamp, at: key)
            }
            return register.conflictCount > 0 ? key : nil
        case .create:
            try transaction.restampVersion(write, to: stamp, at: RegisterKey(object: object, name: .lifetime))
            try transaction.update(object) { record in
                if record.creation?.write == write { record.creation?.write = restamped }
            }
        case .delete:
            try transaction.restampVersion(write, to: stamp, at: RegisterKey(object: object, name: .lifetime))
        case .move(_, let place):
            try self.withdrawMove(write, of: object, in: &transaction)
            var parent: ObjectIndex?
            if let id = place.parent { parent = try transaction.objectIndex(of: id, by: write.segment) }
            let position = place.position
            self.hierarchy.moves.append(
                MoveRecord(write: restamped, object: object, parent: parent, position: position, isEffective: false)
            )
        default: break
        }
        return nil
    }

    /// Puts the last of a property's conflicting writes in force.
    private mutating func rank(_ key: RegisterKey, in transaction: inout some StoreTransaction) throws(StoreError) {
        guard var register = try transaction.register(key) else { return }
        var last = register.winner
        for write in try transaction.conflicts(at: key) where WriteOrder.precedes(last, write, transaction) {
            last = write
        }
        guard last != register.winner else { return }
        try transaction.removeVersion(last, at: key)
        try transaction.addVersion(register.winner, status: .conflict, at: key)
        register.winner = last
        register.isRemoval = try transaction.edit(last)?.kind != .set
        try self.put(register, at: key, in: &transaction)
        // Whoever follows the object hears of it, also if another operation on it was the last.
        try transaction.update(key.object) { _ in }
    }

    /// Finds the creation that counts anew.
    private mutating func rankCreations(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let current = try transaction.look(at: object, { $0.creation?.write }) else { return }
        var first = current
        for write in try transaction.creations(of: object)
        where try transaction.creation(write, of: object, precedes: first) { first = write }
        guard first != current, case .create(_, let type, let kind) = try transaction.edit(first) else { return }
        let (typeName, kindName) = (try transaction.nameIndex(of: type), try transaction.nameIndex(of: kind))
        try transaction.update(object) { record in
            record.creation = ObjectRecord.Creation(write: first, type: typeName, kind: kindName)
        }
    }

    /// Finds anew when an object was changed last, where one of its operations that was the last is not that any more.
    private mutating func noteLast(
        _ former: Stamp,
        _ highest: Stamp,
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let known = try transaction.look(at: object) { $0.updated }
        // Moves among the operations are not recorded again yet.
        let last = max(highest, known > former ? known : try transaction.lastStamp(of: object))
        if last != known { try transaction.update(object) { $0.updated = last } }
    }
}
