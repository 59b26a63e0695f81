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
        let past = try WriteRefusal.from { () throws(StoreError) in try Past(of: name, on: object, in: &self.store) }
        guard let past else { return nil }
        // What is in force is not past, but what a deleted object had is.
        let isErased = past.writeCount == 1 && (past.lives || past.value == nil)
        if isErased, past.givenUpCount == 0 { return 0 }
        if let branch = past.branch { throw .shownOnBranch(name: branch, of: name) }
        try self.plan.note(Erasure(object: object, name: name))
        let keptCount: Int64 = past.lives && past.value != nil ? 1 : 0
        if past.lives, let value = past.value {
            try self.plan.set(object, name: name, value: value)
        } else {
            try self.plan.unset(object, name: name)
        }
        // A write brings back what is deleted; this one, which has seen it, takes it away again.
        if !past.lives { try self.plan.deleteAlone(object) }
        return past.writeCount + past.givenUpCount - keptCount
    }
}

/// What is known of a property.
private struct Past {
    /// The writes whose content is here, and those on branches that were given up.
    var writeCount: Int64 = 0
    var givenUpCount: Int64
    /// Nil if it has none now.
    var value: Value?
    var lives: Bool
    /// The name of an open branch that shows an earlier value.
    var branch: String?

    init?(of name: String, on object: ObjectID, in store: inout some StoreTransaction) throws(StoreError) {
        guard let index = try store.existingObjectIndex(of: object), let number = try store.existingNameIndex(of: name)
        else { return nil }
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
