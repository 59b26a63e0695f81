package import CRDTCore

/// Reads a store's whole state into plain words through the port that every store implements.
package enum StateReader {
    /// The state of all `objects`, which must be every object that any operation might name.
    package static func state(
        of transaction: inout some StoreTransaction,
        objects: [ObjectID]
    ) throws(StoreError) -> PlainState {
        var state = PlainState()
        for id in objects.sorted() {
            guard let index = try transaction.existingObjectIndex(of: id) else { continue }
            let object = try self.object(index, in: &transaction)
            if !object.isBlank { state.objects.append(object) }
        }
        state.roots = try self.visibleChildren(of: nil, in: &transaction)
        for move in try transaction.movesWithoutEffect() {
            state.movesWithoutEffect.append(try self.write(move.write, in: &transaction))
        }
        state.movesWithoutEffect.sort()
        for number in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(number)))
            let counted = min(record.appliedSequence, record.exclusion?.lastSequence ?? .max)
            if counted > 0 { state.counted.append(Dot(replica: record.id, sequence: counted)) }
            if let exclusion = record.exclusion {
                state.exclusions.append(Dot(replica: record.id, sequence: exclusion.lastSequence))
            }
        }
        state.counted.sort()
        state.exclusions.sort()
        return state
    }

    private static func object(
        _ index: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> PlainObject {
        let record = try transaction.object(index)
        var object = PlainObject(id: record.id)
        object.isVisible = record.isVisible
        object.updated = record.updated
        object.position = record.position
        if let parent = record.parent { object.parent = try transaction.object(parent).id }
        if let creation = record.creation {
            object.creation = PlainCreation(
                type: try transaction.name(creation.type),
                kind: try transaction.name(creation.kind),
                creator: transaction.replica(creation.write.replica).introduction?.user,
                stamp: creation.write.stamp
            )
        }
        for (name, register) in try transaction.registers(of: index) {
            let key = RegisterKey(object: index, name: name)
            var conflicts: [PlainWrite] = []
            for conflict in try transaction.conflicts(at: key) {
                conflicts.append(try self.write(conflict, in: &transaction))
            }
            if conflicts.count != Int(register.conflictCount) {
                throw .damaged("\(register.conflictCount) conflicts counted, \(conflicts.count) recorded")
            }
            let winner = try self.write(register.winner, in: &transaction)
            if register.isRemoval != (winner.edit.kind == .unset) { throw .damaged("a removal is not marked as such") }
            object.properties.append(
                PlainProperty(
                    name: ExactText(try transaction.name(name)),
                    winner: winner,
                    conflicts: conflicts.sorted()
                )
            )
        }
        object.properties.sort { $0.name < $1.name }
        object.children = try self.visibleChildren(of: index, in: &transaction)
        return object
    }

    private static func visibleChildren(
        of parent: ObjectIndex?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectID] {
        var visible: [ObjectID] = []
        for child in try transaction.children(of: parent) {
            let record = try transaction.object(child)
            if record.isVisible { visible.append(record.id) }
        }
        return visible
    }

    private static func write(
        _ reference: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> PlainWrite {
        guard let edit = try transaction.edit(reference) else { throw .damaged("a write in force is not in the log") }
        return PlainWrite(
            stamp: reference.stamp,
            replica: transaction.replica(reference.replica).id,
            sequence: reference.sequence,
            index: Int(reference.index),
            edit: edit
        )
    }
}
