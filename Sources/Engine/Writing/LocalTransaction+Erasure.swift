package import CRDTCore

/// The writes of a property that are erased on request.
extension LocalTransaction {
    /// Erases the past of a property on all machines: it keeps its value, and all writes that are stored here lose
    /// theirs.
    ///
    /// A property of an object that is deleted loses its last value too; the object stays deleted.
    ///
    /// - Returns: the number of values that are erased, without the one that the property keeps; nil if the object
    ///   never had that property.
    package mutating func erasePast(of name: String, on object: ObjectID) throws(WriteRefusal) -> Int64? {
        try self.planning { local throws(WriteRefusal) in try local.planErasure(of: name, on: object) }
    }

    private mutating func planErasure(of name: String, on object: ObjectID) throws(WriteRefusal) -> Int64? {
        guard self.branch == nil else { throw .notOnBranch }
        // It has a past in all circles where the object was, and beside them if it was hidden.
        let pasts = try WriteRefusal.from { () throws(StoreError) -> [Past] in
            guard let index = try self.store.existingObjectIndex(of: object) else { return [] }
            var pasts: [Past] = []
            let user = self.plan.user
            for part in try self.store.objects(of: object) {
                let circle = try self.store.circles[self.store.object(part).circle]
                guard part == index || circle == self.plan.base || circle.isOwned(by: user) else { continue }
                if let past = try Past(of: name, on: part, in: &self.store) { pasts.append(past) }
            }
            return pasts
        }
        if pasts.isEmpty { return nil }
        var count: Int64 = 0
        for past in pasts { count += try self.erase(past, of: name, on: object) }
        return count
    }

    private mutating func erase(
        _ past: Past,
        of name: String,
        on object: ObjectID
    ) throws(WriteRefusal) -> Int64 {
        // What is in force is not past, but what a deleted object had is.
        let isErased = past.writeCount == 1 && (past.lives || past.value == nil)
        if isErased, past.givenUpCount == 0 { return 0 }
        if let branch = past.branch { throw .shownOnBranch(name: branch, of: name) }
        try self.plan.note(Erasure(object: object, name: name), in: past.circle)
        let kept = past.lives ? past.value : nil
        let edit = kept.map { Edit.set(object, name: name, value: $0) } ?? .unset(object, name: name)
        try self.plan.append(edit, in: past.circle)
        // A write brings back what is deleted; this one, which has seen it, takes it away again.
        if !past.lives { try self.plan.append(.delete(object), in: past.circle) }
        return past.writeCount + past.givenUpCount - (kept == nil ? 0 : 1)
    }
}

/// What is known of a property in one circle.
private struct Past {
    let circle: Circle
    /// The writes whose content is here, and those on branches that were given up.
    var writeCount: Int64 = 0
    var givenUpCount: Int64
    /// Nil if it has none now.
    var value: Value?
    var lives: Bool
    /// The name of an open branch that shows an earlier value.
    var branch: String?

    init?(of name: String, on index: ObjectIndex, in store: inout some StoreTransaction) throws(StoreError) {
        guard let number = try store.existingNameIndex(of: name) else { return nil }
        self.circle = try store.circles[store.look(at: index) { $0.circle }]
        let key = RegisterKey(object: index, name: number)
        self.givenUpCount = Int64(try store.givenUpWrites(at: key).count)
        self.lives = try store.look(at: index) { $0.existence.isAlive }
        if let register = try store.register(key) {
            self.writeCount = register.writeCount - (try store.redactedWrites(at: key).reduce(0) { $0 + $1.count })
            // What is in force must be written behind the erasure, and nobody here knows it.
            if try store.edit(register.winner)?.kind == .redacted { throw .compacted }
            if case .set(_, _, let value) = try store.edit(register.winner) { self.value = value }
        } else if self.givenUpCount == 0 {
            return nil
        }
        if let barring = try store.branchBarringErasure(at: key) {
            self.branch = store.branches[barring]?.opening.name ?? "\(barring)"
        }
    }
}
