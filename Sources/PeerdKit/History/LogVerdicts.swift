internal import CRDTCore

/// Judges operations of one stretch of a chain by the state.
struct LogVerdicts {
    let appliedSequence: UInt64
    let isHeld: Bool
    /// How far the stretch counts; nil if all of it does.
    let limits: RightEnds?

    /// An operation of a change, and what became of it.
    typealias Judged = (write: WriteReference, edit: Edit, status: OperationStatus)

    /// Reads the operations of a change that are wanted.
    func operations(
        of change: Change,
        in run: Run,
        at place: SegmentPoint,
        _ stamp: Stamp,
        in transaction: inout some StoreTransaction,
        where isWanted: (CRDTCore.Operation) -> Bool
    ) throws -> [Judged] {
        var judged: [Judged] = []
        for (index, operation) in run.operations[change.operationRange].enumerated() where isWanted(operation) {
            judged.append(try self.judge(operation, UInt32(index), in: run, at: place, stamp, in: &transaction))
        }
        return judged
    }

    /// Reads one operation of a change.
    func judge(
        _ operation: CRDTCore.Operation,
        _ index: UInt32,
        in run: Run,
        at place: SegmentPoint,
        _ stamp: Stamp,
        in transaction: inout some StoreTransaction
    ) throws -> Judged {
        let write = WriteReference(stamp: stamp, segment: place.segment, sequence: place.sequence, index: index)
        guard let edit = try? run.edit(operation) else {
            throw StoreError.damaged("an operation of change \(place.sequence) in the log cannot be read")
        }
        return (write, edit, try self.status(of: edit, write, in: &transaction))
    }

    private func status(
        of edit: Edit,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        guard write.sequence <= self.appliedSequence else { return self.isHeld ? .held : .waiting }
        if let limits, !limits.allow(edit, at: write.sequence) { return .rejected }
        let countedSequence = transaction.progress(of: write.segment).countedSequence
        if write.sequence > countedSequence, edit.object != nil { return .unmerged }
        switch edit {
        case .set(let object, let name, _), .unset(let object, let name), .redacted(let object, let name, _):
            let key = RegisterKey(
                object: try transaction.objectIndex(of: object, by: write.segment),
                name: try transaction.nameIndex(of: name)
            )
            guard let register = try transaction.register(key) else { return .superseded }
            if register.winner == write { return .effective }
            guard register.conflictCount > 0 else { return .superseded }
            return try transaction.firstConflicts(at: key, from: write.segment).contains(write)
                ? .conflict : .superseded
        case .move(let object, _): return try self.status(ofMove: object, write, in: &transaction)
        case .create, .delete, .introduce, .restamp, .undo, .branch, .erase, .action, .rights: return .effective
        case .unknown: return .unread
        }
    }

    private func status(
        ofMove object: ObjectID,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        let index = try transaction.objectIndex(of: object, by: write.segment)
        var after = write
        after.index += 1
        let last = try transaction.lastEffectiveMove(of: index, before: after)
        guard last?.write == write else { return .withoutEffect }
        if try transaction.moveInForce(of: index)?.write == write { return .effective }
        return try transaction.openMoves(of: index).contains(write) ? .conflict : .superseded
    }
}
