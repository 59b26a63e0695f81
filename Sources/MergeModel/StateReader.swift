package import CRDTCore

/// Reads a store's whole state into plain words through the port that every store implements.
package enum StateReader {
    /// The state of all `objects` of a circle, which must be every object that any operation there might name.
    package static func state(
        of transaction: inout some StoreTransaction,
        objects: [ObjectID],
        in circle: Circle = .home
    ) throws(StoreError) -> PlainState {
        var state = PlainState()
        guard let circle = transaction.circles.index(of: circle) else { return state }
        for id in objects.sorted() {
            guard let index = try transaction.existingObjectIndex(of: id, in: circle) else { continue }
            let object = try self.object(index, in: &transaction)
            if !object.isBlank { state.objects.append(object) }
        }
        state.roots = try self.visibleChildren(of: nil, in: &transaction, circle)
        for move in try transaction.movesWithoutEffect()
        where transaction.progress(of: move.write.segment).circle == circle {
            state.movesWithoutEffect.append(try self.write(move.write, in: &transaction))
        }
        state.movesWithoutEffect.sort()
        state.heads = try self.heads(circle, &transaction)
        var objectsWithOpenMoves = Set(
            state.objects.filter { $0.openMoves.count > 1 }.map(\.id)
        )
        for index in try transaction.objectsWithOpenMoves() {
            let record = try transaction.object(index)
            guard record.circle == circle else { continue }
            guard objectsWithOpenMoves.remove(record.id) != nil else {
                throw .damaged("an object is listed with open moves that has none")
            }
        }
        guard objectsWithOpenMoves.isEmpty else { throw .damaged("an object with open moves is not listed") }
        return state
    }

    /// The last applied change of every segment, but for those that a fork hangs on of which something is applied.
    private static func heads(
        _ circle: CircleIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> [FrontierEntry] {
        var heads: [SegmentPoint: FrontierEntry] = [:]
        var parents: [SegmentPoint] = []
        for index in transaction.segmentIndices {
            let record = transaction.segment(index)
            guard record.circle == circle, record.appliedSequence >= record.firstSequence else { continue }
            let place = SegmentPoint(segment: index, sequence: record.appliedSequence)
            guard let hash = try transaction.hash(at: place) else { throw .damaged("an applied change is not stored") }
            heads[place] = FrontierEntry(replica: record.id, sequence: place.sequence, hash: hash)
            if let origin = record.origin { parents.append(origin.parent) }
        }
        for parent in parents { heads[parent] = nil }
        return heads.values.sorted()
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
                creator: transaction.segment(creation.write.segment).introduction?.user,
                stamp: creation.write.stamp
            )
        }
        for move in try transaction.openMoves(of: index) {
            object.openMoves.append(try self.write(move, in: &transaction))
        }
        for (name, register) in try transaction.registers(of: index) {
            let key = RegisterKey(object: index, name: name)
            var conflicts: [PlainWrite] = []
            for conflict in try transaction.conflicts(at: key) {
                conflicts.append(try self.write(conflict, in: &transaction))
            }
            if register.writeCount <= Int64(conflicts.count) {
                throw .damaged("\(register.writeCount) writes counted, and \(conflicts.count) conflicts")
            }
            if conflicts.count != Int(register.conflictCount) {
                throw .damaged("\(register.conflictCount) conflicts counted, \(conflicts.count) recorded")
            }
            let winner = try self.write(register.winner, in: &transaction)
            if register.isRemoval != (winner.edit.kind != .set) {
                throw .damaged("what shows nothing is not marked as such")
            }
            object.properties.append(
                PlainProperty(
                    name: ModelText(try transaction.name(name)),
                    winner: winner,
                    conflicts: conflicts.sorted()
                )
            )
        }
        object.properties.sort { $0.name < $1.name }
        object.children = try self.visibleChildren(of: index, in: &transaction, record.circle)
        return object
    }

    private static func visibleChildren(
        of parent: ObjectIndex?,
        in transaction: inout some StoreTransaction,
        _ circle: CircleIndex
    ) throws(StoreError) -> [ObjectID] {
        var visible: [ObjectID] = []
        for child in try transaction.children(of: parent) {
            let record = try transaction.object(child)
            if record.isVisible, record.circle == circle { visible.append(record.id) }
        }
        return visible
    }

    private static func write(
        _ reference: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> PlainWrite {
        guard let edit = try transaction.edit(reference) else { throw .damaged("a write in force is not in the log") }
        guard let hash = try transaction.hash(at: reference.point) else { throw .damaged("a change has no hash") }
        return PlainWrite(
            stamp: reference.stamp,
            replica: transaction.replicaID(reference.segment),
            sequence: reference.sequence,
            hash: hash,
            index: Int(reference.index),
            edit: edit
        )
    }
}
