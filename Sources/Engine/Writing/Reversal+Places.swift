internal import CRDTCore

/// Where objects go back to.
extension Reversal {
    /// The objects that the change moved.
    ///
    /// The last is the first to go back, so that none is put below itself on the way.
    var moved: [ObjectID] {
        var (found, seen): ([ObjectID], Set<ObjectID>) = ([], [])
        for case .move(let object, _) in self.edits.reversed() where seen.insert(object).inserted {
            found.append(object)
        }
        return found
    }

    mutating func restorePlace(
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try self.takesEdits(object, on: plan, in: &state, &store) else { return }
        switch try WriteRefusal.from({ () throws(StoreError) in try self.found(object, in: &store) }) {
        case .nothing: break
        case .edited(let segment): self.keep(object, .place, .edited, store.segment(segment).introduction)
        case .place(let move): try self.put(object, where: move, on: &plan, in: &state, &store)
        }
    }

    enum FoundPlace {
        case nothing
        case edited(SegmentIndex)
        case place(MoveRecord?)
    }

    /// Where an object should stand; as `found` of a property.
    mutating func found(
        _ object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> FoundPlace {
        let index = try store.objectIndex(of: object, in: self.circle)
        let moves = try self.now.moves(of: index, in: &store).filter(\.isEffective)
        let current = moves.max { WriteOrder.precedes($0.write, $1.write, store) }
        let former = try self.before.lastMove(of: index, in: &store)
        guard let current, let left = try self.after.lastMove(of: index, in: &store), left.write != former?.write
        else { return .nothing }
        guard try self.isStill(left, current, in: &store) else {
            if let former, try self.isStill(former, current, in: &store) { return .nothing }
            return .edited(current.write.segment)
        }
        var place = former
        for move in moves where !self.undo.isRedo && !self.after.view.counts(move.write) {
            guard WriteOrder.precedes(move.write, left.write, store) else { continue }
            if let place, WriteOrder.precedes(move.write, place.write, store) { continue }
            if try self.words.stands(move.write.point, in: &store) { place = move }
        }
        // What was nowhere before has no place to go back to, whoever keeps it in sight.
        let isCreated = try store.look(at: index) { $0.creation != nil }
        let isOfOtherCircle =
            !isCreated && self.circle == store.circles.base ? try store.objects(of: object).count > 1 : false
        if place == nil, !isOfOtherCircle, try !self.isAlive(index, .before, in: &store) { return .nothing }
        return .place(place)
    }

    /// Puts back what the merge has displaced and not moved: its own last move would close a cycle with what that had
    /// brought, and has no effect.
    ///
    /// What cannot go back yet does with another change of the merge. All of it stands above what was moved.
    /// - Complexity: O(*d*) in all that is above, beside the moves of each.
    mutating func restoreDisplaced(
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard self.piece.merge != nil else { return }
        var seen = Set(self.moved)
        for object in self.moved {
            var next = try WriteRefusal.from { () throws(StoreError) in try self.above(object, in: &store) }
            while let above = next, seen.insert(above).inserted {
                next = try WriteRefusal.from { () throws(StoreError) in try self.above(above, in: &store) }
                let found = try WriteRefusal.from { () throws(StoreError) -> FoundPlace in
                    let index = try store.objectIndex(of: above, in: self.circle)
                    let left = try self.after.lastMove(of: index, in: &store)
                    let isMoved = left.map { !self.before.view.counts($0.write) } ?? false
                    return isMoved ? .nothing : try self.found(above, in: &store)
                }
                guard case .place(let move) = found, try plan.isVisible(above, in: &state) else { continue }
                let place = try Self.place(of: move, in: &store)
                if let parent = place.parent, try !plan.isVisible(parent, in: &state) { continue }
                guard try !plan.wouldCloseCycle(above, under: place.parent, in: &state),
                    try self.takesEdits(above, on: plan, in: &state, &store),
                    self.finds(room: .move(above, place), of: .place, on: above, in: plan)
                else { continue }
                try plan.put(above, under: place.parent, at: place.position)
            }
        }
    }

    /// What an object stood in that the merge had left.
    mutating func above(
        _ object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> ObjectID? {
        let parent = try self.after.place(of: try store.objectIndex(of: object, in: self.circle), in: &store).parent
        return try parent.map { parent throws(StoreError) in try store.object(parent).id }
    }

    func isStill(
        _ move: MoveRecord,
        _ current: MoveRecord,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if current.write.point == move.write.point, current.write.index == move.write.index { return true }
        guard try self.words.isWord(current.write.point, in: &store) else { return false }
        return current.parent == move.parent && current.position == move.position
    }

    /// Where a move has put something; nil for where it was made.
    static func place(
        of move: MoveRecord?,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Place {
        try WriteRefusal.from { () throws(StoreError) -> Place in
            let parent = try move?.parent.map { above throws(StoreError) in try store.object(above).id }
            return Place(parent: parent, position: move?.position ?? .initial)
        }
    }

    /// Puts an object where a move has put it; nil for where it was made.
    mutating func put(
        _ object: ObjectID,
        where move: MoveRecord?,
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let wanted = try Self.place(of: move, in: &store)
        if let parent = wanted.parent, try !plan.isVisible(parent, in: &state) {
            let isAsBefore = try WriteRefusal.from { () throws(StoreError) in
                try self.isAsBefore(try store.objectIndex(of: parent, in: self.circle), in: &store)
            }
            guard isAsBefore else { return self.keep(object, .place, .parentGone, nil) }
        }
        if try plan.wouldCloseCycle(object, under: wanted.parent, in: &state) {
            return self.keep(object, .place, .parentGone, nil)
        }
        guard self.finds(room: .move(object, wanted), of: .place, on: object, in: plan) else { return }
        try plan.put(object, under: wanted.parent, at: wanted.position)
    }
}
