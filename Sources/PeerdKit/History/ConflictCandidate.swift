package import CRDTCore

/// What may be in conflict, as one store numbers it: a property, or the creations or the moves of an object.
package enum ConflictCandidate: Hashable {
    case property(RegisterKey)
    case creation(ObjectIndex)
    case place(ObjectIndex)

    /// The object that it is about.
    package var object: ObjectIndex {
        switch self {
        case .property(let key): key.object
        case .creation(let object), .place(let object): object
        }
    }

    init(_ left: LeftWrite) {
        self =
            left.name == .place
            ? .place(left.shown) : .property(RegisterKey(object: left.shown, name: left.name))
    }

    func subject(in transaction: inout some StoreTransaction) throws(StoreError) -> Conflict.Subject {
        switch self {
        case .property(let key): .property(try transaction.name(key.name))
        case .creation: .creation
        case .place: .place
        }
    }
}

extension StoreTransaction {
    /// Everything that has several versions; they may say the same.
    package mutating func conflictCandidates() throws(StoreError) -> [ConflictCandidate] {
        var (candidates, properties): ([ConflictCandidate], Set<ConflictCandidate>) = ([], [])
        for (key, _) in try self.conflictedRegisters() {
            let object = try self.shownInPlace(of: key.object)
            if object != key.object, try self.besides(object, holding: key.name).first != key.object { continue }
            let candidate = ConflictCandidate.property(RegisterKey(object: object, name: key.name))
            if properties.insert(candidate).inserted { candidates.append(candidate) }
        }
        for object in try self.coveredObjects() {
            for left in try self.coveredWrites(on: object) where left.isLater {
                let candidate = ConflictCandidate(left)
                if properties.insert(candidate).inserted { candidates.append(candidate) }
            }
        }
        candidates += try self.objectsWithDifferentCreations().map { .creation($0) }
        candidates += try self.objectsWithOpenMoves().map { .place($0) }
        let contested = try self.contestedObjects()
        if contested.isEmpty { return candidates }
        // What is in conflict where an object was moved from competes where it is now.
        let elsewhere = Set(contested.flatMap(\.departed))
        candidates.removeAll { elsewhere.contains($0.object) }
        var known = Set(candidates)
        for object in contested {
            for left in try object.writes(in: &self) {
                let candidate = ConflictCandidate(left)
                if known.insert(candidate).inserted { candidates.append(candidate) }
            }
        }
        return candidates
    }

    /// The object whose properties an object beside it holds; itself, if it is not in such a circle.
    package mutating func shownInPlace(of object: ObjectIndex) throws(StoreError) -> ObjectIndex {
        guard self.circles.hasBeside else { return object }
        let record = try self.look(at: object) { ($0.circle, $0.id) }
        guard self.circles[record.0].isBeside else { return object }
        return try self.existingObjectIndex(of: record.1) ?? object
    }

    /// The write in force, if one is, and those that compete with it; nil if nothing does.
    package mutating func versions(
        of candidate: ConflictCandidate
    ) throws(StoreError) -> (winner: WriteReference?, others: [WriteReference])? {
        let left = try (self.leftWrites(behind: candidate.object) + self.coveredWrites(on: candidate.object))
            .filter { $0.isLater && ConflictCandidate($0) == candidate }
            .map(\.write)
        switch candidate {
        case .property(var key):
            // A property that is hidden competes where it is written.
            if let beside = try self.besides(key.object, holding: key.name).first { key.object = beside }
            let register = try self.register(key)
            let conflicts = (register?.conflictCount ?? 0) > 0 ? try self.conflicts(at: key) : []
            return conflicts.isEmpty && left.isEmpty ? nil : (register?.winner, conflicts + left)
        case .creation(let object): return try self.concurrentCreations(of: object)
        case .place(let object):
            let open = try self.openMoves(of: object)
            let winner = try self.moveInForce(of: object)?.write
            let others = (open.count > 1 ? open.filter { $0 != winner } : []) + left
            return others.isEmpty ? nil : (winner, others)
        }
    }

    /// The creation that makes an object what it is, and those whose authors had not seen it, nor their writes been
    /// seen by its author.
    ///
    /// - Returns: nil if the object was not created.
    private mutating func concurrentCreations(
        of object: ObjectIndex
    ) throws(StoreError) -> (winner: WriteReference?, others: [WriteReference])? {
        guard let counting = try self.look(at: object, { $0.creation?.write }) else { return nil }
        let context = try self.authorContext(of: counting)
        var others: [WriteReference] = []
        for write in try self.creations(of: object) where write != counting && !context.covers(write) {
            if !(try self.authorContext(of: write).covers(counting)) { others.append(write) }
        }
        return (counting, others)
    }
}
