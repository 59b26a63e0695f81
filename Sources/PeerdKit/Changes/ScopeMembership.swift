internal import CRDTCore
internal import Persistence

/// Whether objects are in a scope as it is in one state of the database.
struct ScopeMembership {
    enum Answer {
        case inside
        /// It is deleted.
        case hidden
        /// `mayHaveBeenInside`: before a property changed, and not only before it was moved.
        case elsewhere(mayHaveBeenInside: Bool)
    }

    let scope: Scope

    init(_ scope: Scope) { self.scope = scope }

    var isSubtree: Bool {
        if case .subtree = self.scope { true } else { false }
    }

    func contains(_ index: ObjectIndex, in transaction: inout SQLiteTransaction) throws -> Answer {
        let record = try transaction.object(index)
        guard record.isVisible else { return .hidden }
        switch self.scope {
        case .everything: return .inside
        case .object(let id): return record.id == id ? .inside : .elsewhere(mayHaveBeenInside: false)
        case .subtree(let id):
            guard let top = try transaction.existingObjectIndex(of: id) else {
                return .elsewhere(mayHaveBeenInside: false)
            }
            var next: ObjectIndex? = index
            var watch = CircleWatch<ObjectIndex>()
            while let object = next {
                if object == top { return .inside }
                try watch.pass(object)
                next = try transaction.object(object).parent
            }
            return .elsewhere(mayHaveBeenInside: false)
        case .query(let query): return try self.contains(index, record, query, in: &transaction)
        }
    }

    private func contains(
        _ index: ObjectIndex,
        _ record: ObjectRecord,
        _ query: Query,
        in transaction: inout SQLiteTransaction
    ) throws -> Answer {
        switch query.scope {
        case .all: break
        case .type(let type):
            guard let name = try transaction.existingNameIndex(of: type), record.creation?.type == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        case .children(let parent):
            let wanted = try parent.map { try transaction.existingObjectIndex(of: $0) }
            if let wanted {
                guard let wanted, record.parent == wanted else { return .elsewhere(mayHaveBeenInside: false) }
            } else if record.parent != nil {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        if let type = query.type {
            guard let name = try transaction.existingNameIndex(of: type), record.creation?.type == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        if let kind = query.kind {
            guard let name = try transaction.existingNameIndex(of: kind), record.creation?.kind == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        for filter in query.filters {
            guard let name = try transaction.existingNameIndex(of: filter.name),
                try transaction.value(of: name, on: index) == filter.value
            else { return .elsewhere(mayHaveBeenInside: true) }
        }
        guard try query.finds(index, in: &transaction) else { return .elsewhere(mayHaveBeenInside: true) }
        return .inside
    }
}
