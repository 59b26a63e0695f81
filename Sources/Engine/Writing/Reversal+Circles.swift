internal import CRDTCore

/// What an action has done in several circles at once.
extension Reversal {
    /// Leaves objects as they are that the part of the action in another circle leaves: what had gone over from one
    /// circle to another goes back as a whole, or stays.
    ///
    /// - Returns: whether there are any that it had not left.
    mutating func leave(
        likewise other: Reversal,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Bool {
        try self.block(likewise: other, in: &store)
        self.transferred.formUnion(self.concerned.intersection(other.concerned))
        let spared = other.report.kept.filter {
            $0.part == .object && other.concerned.contains($0.object) && self.concerned.contains($0.object)
        }
        self.staying.formUnion(spared.map(\.object))
        let coming = Set(self.revived + self.deleted)
        let found = spared.filter { coming.contains($0.object) }
        guard !found.isEmpty else { return false }
        let objects = Set(found.map(\.object))
        self.revived.removeAll { objects.contains($0) }
        self.deleted.removeAll { objects.contains($0) }
        self.going.subtract(objects)
        self.left.formUnion(objects)
        for kept in found { self.keep(kept.object, .object, kept.reason, kept.author) }
        try self.spare(in: &state, &store)
        return true
    }

    /// The objects that it is about: of a redo also those that the undo had left as they were.
    var subjects: [ObjectID] { (self.edits + self.report.edits).compactMap(\.object) }

    /// Leaves objects deleted that were moved from here, and show in another circle: they would come back as copies.
    ///
    /// `others`: the other parts of the action. What shows where one of them is about it goes there as it comes here,
    /// or is left there.
    mutating func leaveMoved(besides others: [Reversal], in store: inout some StoreTransaction) throws(WriteRefusal) {
        let parts = Dictionary(others.map { ($0.circle, Set($0.subjects)) }) { $0.union($1) }
        let named = Set(others.flatMap(\.report.kept).filter { $0.part == .object }.map(\.object))
        for object in self.revived {
            let isElsewhere = try WriteRefusal.from { () throws(StoreError) -> Bool in
                guard let shown = try store.existingObjectIndex(of: object) else { return false }
                let own = try store.objectIndex(of: object, in: self.circle)
                guard shown != own, try store.isAlive(shown) else { return false }
                if parts[try store.object(shown).circle]?.contains(object) ?? false { return false }
                // A copy that somebody else has made takes nothing's place.
                return try store.wasMoved(own, to: shown)
            }
            guard isElsewhere else { continue }
            self.revived.removeAll { $0 == object }
            self.left.insert(object)
            if named.contains(object) { continue }
            if try !self.wasCarriedOver(object, in: &store) { try self.keep(object, .deleted, in: &store) }
        }
    }

    /// Whether a write was carried over by a device of the user.
    func isCarriedOver(
        _ segment: SegmentIndex,
        at point: SegmentPoint,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let own = store.segment(self.piece.change.segment).introduction?.user
        guard own != nil, store.segment(segment).introduction?.user == own else { return false }
        return try store.isCarriedOver(at: point)
    }

    /// The deletions of an object but those by which a device of the user has cleared away what it had carried over.
    mutating func deletionsOnPurpose(
        of object: ObjectIndex,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        let all = try self.now.deletions(of: object, in: &store)
        guard store.circles.count > 1 else { return all }
        var found: [WriteReference] = []
        for deletion in all where try !self.isCarriedOver(deletion.segment, at: deletion.point, in: &store) {
            found.append(deletion)
        }
        return found
    }

    /// Leaves hidden what would be nowhere else: where the object shows it is not put back.
    ///
    /// `others`: the other parts of the action that are taken back with this one.
    mutating func keepHidden(besides others: [Reversal], in store: inout some StoreTransaction) throws(WriteRefusal) {
        guard store.circles[self.circle].isBeside else { return }
        for (object, name) in self.properties {
            guard case .value(nil) = try self.known(name, of: object, in: &store) else { continue }
            let place = try WriteRefusal.from {
                () throws(StoreError) -> (circle: CircleIndex, author: Introduction?)? in
                guard let shown = try store.existingObjectIndex(of: object),
                    let own = try store.existingObjectIndex(of: object, in: self.circle),
                    let index = try store.existingNameIndex(of: name),
                    let hidden = try store.valueInCircle(of: index, on: own), hidden != .null,
                    try store.valueInCircle(of: index, on: shown) == nil
                else { return nil }
                let record = try store.object(shown)
                return (record.circle, record.creation.flatMap { store.segment($0.write.segment).introduction })
            }
            guard let place else { continue }
            // It may have come from another circle beside this one's objects, too.
            let ways = others.filter { $0.circle == place.circle || store.circles[$0.circle].isBeside }
            var isBack = false
            for var other in ways where !isBack {
                guard other.properties.contains(where: { $0.0 == object && $0.1 == name }) else { continue }
                if case .value(.some) = try other.known(name, of: object, in: &store) { isBack = true }
            }
            if isBack { continue }
            self.blocked[KeptPart(object: object, part: .property(name))] = (.edited, place.author)
        }
    }

    /// Leaves properties as they are that the other part leaves: what was hidden shows again as a whole, or stays.
    private mutating func block(likewise other: Reversal, in store: inout some StoreTransaction) throws(WriteRefusal) {
        guard [self.circle, other.circle].contains(where: { store.circles[$0].isBeside }) else { return }
        var other = other
        let own = Set(self.properties.map { KeptPart(object: $0.0, part: .property($0.1)) })
        for (object, name) in other.properties {
            let part = KeptPart(object: object, part: .property(name))
            guard own.contains(part) else { continue }
            switch try other.known(name, of: object, in: &store) {
            case .edited(let segment): self.blocked[part] = (.edited, store.segment(segment).introduction)
            case .unknown: self.blocked[part] = (.unknown, nil)
            case .nothing, .value: break
            }
        }
    }

    /// Whether an object is where something of the action was carried over to.
    func wasCarriedOver(
        _ object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Bool {
        try WriteRefusal.from { () throws(StoreError) -> Bool in
            for circle in self.destinations.sorted() {
                guard let index = try store.existingObjectIndex(of: object, in: circle) else { continue }
                if try store.look(at: index, { $0.creation != nil }) { return true }
            }
            return false
        }
    }

    /// Whether a property of an object was carried over.
    func wasCarriedOver(
        _ name: String,
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Bool {
        try WriteRefusal.from { () throws(StoreError) -> Bool in
            guard !self.destinations.isEmpty, let name = try store.existingNameIndex(of: name) else { return false }
            for circle in self.destinations.sorted() {
                guard let index = try store.existingObjectIndex(of: object, in: circle) else { continue }
                if try store.register(RegisterKey(object: index, name: name)) != nil { return true }
            }
            return false
        }
    }
}
