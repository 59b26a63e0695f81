/// The mechanism for late knowledge about which changes count: what follows from those that do, or do not, any more is
/// computed anew, object by object. Where they only come in another order, `Merge+Reordering` does with less.
extension Merge {
    /// Computes registers, objects and moves that some changes touch anew.
    ///
    /// The changes lie in the log. Each is applied or not, by its segment's record; nothing of the state need agree
    /// with that yet.
    /// `rights`: by which operations counted until now; nil if they are the same still.
    /// - Complexity: O(*n* log *m*) for *n* operations in the history of the objects that the changes touch; the
    ///   hierarchy as for as many late moves.
    mutating func revise(
        _ places: [SegmentPoint],
        formerly rights: RightsTable? = nil,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard !places.isEmpty else { return }
        self.summary.isRevised = true
        self.examined = ExaminedConflicts()
        let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
        var objects: Set<ObjectIndex> = []
        // Those that count and of which there may be no rows.
        var gained: [ObjectIndex: [WriteReference]] = [:]
        let former = rights ?? transaction.rights
        for place in places {
            let (formerEnds, ends) = (former.limits(of: place.segment), transaction.rights.limits(of: place.segment))
            let isCounted = place.sequence <= transaction.progress(of: place.segment).countedSequence
            let run = try transaction.loadRun(of: place.segment, from: place.sequence, limits: one, signed: false)
            guard let run, let change = run.changes.first else { throw .damaged("a change is missing from the log") }
            var withdrawn: [RegisterKey: Int64] = [:]
            for (index, position) in change.operationRange.enumerated()
            where run.operations[position].kind.isEdit {
                let operation = run.operations[position]
                let object = try transaction.objectIndex(of: run.objects[Int(operation.object)], by: place.segment)
                objects.insert(object)
                let ordinal = ChainOrdinal(sequence: place.sequence, index: UInt32(index))
                if isCounted, ends?.allow(operation, of: run, at: place.sequence) ?? true {
                    gained[object, default: []].append(
                        WriteReference(
                            stamp: .zero,
                            segment: place.segment,
                            sequence: place.sequence,
                            index: UInt32(index)
                        )
                    )
                }
                guard operation.kind == .redacted, formerEnds?.allow(operation, of: run, at: place.sequence) ?? true
                else { continue }
                let key = RegisterKey(object: object, name: try transaction.nameIndex(of: run.name(of: operation)))
                // The changes do not count any more; those that count again are applied anew.
                if try !transaction.isRecorded(ordinal, on: place.segment, at: key) { withdrawn[key, default: 0] += 1 }
            }
            for (key, count) in withdrawn.sorted(by: { $0.key.packed < $1.key.packed }) {
                try self.uncount(redacted: count, in: place, at: key, in: &transaction)
            }
        }
        let changed = Set(places)
        // Moves that this transaction applied are not recorded yet, and a history has only recorded ones.
        try self.settleMoves(in: &transaction)
        for object in objects.sorted(by: { $0.rawValue < $1.rawValue }) {
            try self.recompute(object, changed, gained[object] ?? [], in: &transaction)
        }
    }

    /// Computes an object and its registers anew from its history.
    ///
    /// The moves among the changed operations are taken out of the hierarchy, and in again if they are applied.
    private mutating func recompute(
        _ object: ObjectIndex,
        _ changed: Set<SegmentPoint>,
        _ gained: [WriteReference],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var history: [WriteReference] = []
        for former in try transaction.history(of: object) {
            let isChanged = changed.contains(former.point)
            if isChanged { try self.withdrawMove(former, of: object, in: &transaction) }
            try self.noteWithdrawn(former, of: object, in: &transaction)
            // Those of changes that count are among the gained ones.
            guard !isChanged, former.sequence <= transaction.progress(of: former.segment).countedSequence,
                try transaction.countsByRight(former)
            else { continue }
            history.append(former)
        }
        history += gained
        for position in history.indices {
            history[position].stamp = try transaction.effectiveStamp(at: history[position].point)
        }
        history += try self.unsettleRedacted(on: object, in: &transaction)
        try self.compute(object, from: history, in: &transaction) { changed.contains($0.point) }
    }

    /// Computes an object and its registers from operations that count, in place of what its rows say.
    ///
    /// `movesIt`: whether a move is to be taken into the hierarchy, where it is not.
    mutating func compute(
        _ object: ObjectIndex,
        from history: [WriteReference],
        in transaction: inout some StoreTransaction,
        where movesIt: (WriteReference) -> Bool
    ) throws(StoreError) {
        for (name, _) in try transaction.registers(of: object) {
            try transaction.removeRegister(RegisterKey(object: object, name: name))
        }
        try transaction.removeRegister(RegisterKey(object: object, name: .lifetime))
        try transaction.update(object) { record in
            (record.existence, record.creation, record.updated) = (Existence(), nil, .zero)
            (record.openMove, record.otherOpenMoves) = (nil, [])
        }
        var contexts = ContextCursor()
        for write in history.sorted(by: { WriteOrder.precedes($0, $1, transaction) }) {
            let seen = try contexts.context(at: write.point, in: &transaction)
            let context = CausalContext(seen: seen, author: write.segment, ordinal: write.ordinal)
            try self.perform(write, on: object, context, movesIt: movesIt(write), in: &transaction)
        }
        self.noteStale(object)
    }

    /// Takes the last dropped and superseded writes to properties of an object out of their counts: what had seen them
    /// may not count any more.
    ///
    /// Those before them on the same segment were seen by them.
    private mutating func unsettleRedacted(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for name in try transaction.namesWithRedactedWrites(of: object) {
            let key = RegisterKey(object: object, name: name)
            for redacted in try transaction.redactedWrites(at: key) {
                guard let write = try transaction.lastRedacted(at: key, on: redacted.segment) else { continue }
                // It may have been written to more than once in one change.
                let run = try transaction.change(at: write.point)
                var leavesOthers = false
                for operation in run.operations[run.changes[0].operationRange].prefix(Int(write.index))
                where operation.kind == .redacted && !leavesOthers {
                    let object = try transaction.objectIndex(of: run.objects[Int(operation.object)], by: write.segment)
                    guard object == key.object else { continue }
                    leavesOthers = try transaction.nameIndex(of: run.name(of: operation)) == key.name
                }
                try transaction.uncountRedacted(1, in: write.point, of: key, leavingOthers: leavesOthers)
                found.append(write)
            }
        }
        return found
    }

    /// Notes that a write is not in force or in conflict any more, if it was and is missing.
    private mutating func noteWithdrawn(
        _ write: WriteReference,
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard try transaction.missingCount(in: write.point) > 0,
            case .redacted(_, let name, _) = try transaction.edit(write)
        else { return }
        let key = RegisterKey(object: object, name: try transaction.nameIndex(of: name))
        guard try transaction.isRecorded(write.ordinal, on: write.segment, at: key) else { return }
        try self.note(missing: -1, in: write.point, in: &transaction)
    }

    /// Takes a recorded move out of the hierarchy's order.
    mutating func withdrawMove(
        _ former: WriteReference,
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let move = try transaction.removeMove(former, of: object) else { return }
        var withdrawn = self.hierarchy.withdrawn ?? (first: move, objects: [])
        if WriteOrder.precedes(move, withdrawn.first, transaction) { withdrawn.first = move }
        withdrawn.objects.insert(object)
        self.hierarchy.withdrawn = withdrawn
    }

    /// Performs one stored operation on an object.
    ///
    /// `movesIt`: whether a move is to be taken into the hierarchy, where it is not.
    private mutating func perform(
        _ write: WriteReference,
        on object: ObjectIndex,
        _ context: CausalContext,
        movesIt: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let edit = try transaction.edit(write) else { return }
        switch edit {
        case .set(_, let name, _), .unset(_, let name), .redacted(_, let name, _):
            try self.touch(object, by: write, in: &transaction)
            let key = RegisterKey(object: object, name: try transaction.nameIndex(of: name))
            try self.write(write, edit.kind, context, at: key, in: &transaction)
        case .create(_, let type, let kind):
            try self.create(object, type: type, kind: kind, by: write, in: &transaction)
        case .move(_, let place):
            try self.touch(object, by: write, in: &transaction)
            try self.note(move: write, of: object, context, in: &transaction)
            guard movesIt else { return }
            var parent: ObjectIndex?
            if let id = place.parent { parent = try transaction.objectIndex(of: id, by: write.segment) }
            let position = place.position
            self.hierarchy.moves.append(
                MoveRecord(write: write, object: object, parent: parent, position: position, isEffective: false)
            )
        case .delete: try self.delete(object, by: write, context, in: &transaction)
        default: break
        }
    }
}

/// Contexts of changes that are asked for along their segments.
struct ContextCursor {
    private var last: [SegmentIndex: (sequence: UInt64, context: SeenSegments)] = [:]

    mutating func context(
        at place: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SeenSegments {
        var context: SeenSegments
        if let before = self.last[place.segment], before.sequence <= place.sequence,
            place.sequence - before.sequence <= Limits.checkpointInterval
        {
            context = before.context
            if before.sequence < place.sequence {
                var news = SeenSegments()
                let changes = before.sequence + 1...place.sequence
                _ = try transaction.extend(&context, noting: &news, by: changes, of: place.segment)
            }
        } else {
            context = try transaction.context(at: place)
        }
        self.last[place.segment] = (place.sequence, context)
        return context
    }
}
