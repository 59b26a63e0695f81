internal import CRDTCore

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

    func contains(_ index: ObjectIndex, in state: inout some StateReading) throws -> Answer {
        let record = try state.object(index)
        guard record.isVisible else { return .hidden }
        switch self.scope {
        case .everything: return .inside
        case .object(let id): return record.id == id ? .inside : .elsewhere(mayHaveBeenInside: false)
        case .subtree(let id):
            guard let top = try state.existingObjectIndex(of: id) else {
                return .elsewhere(mayHaveBeenInside: false)
            }
            var next: ObjectIndex? = index
            var watch = CycleWatch<ObjectIndex>()
            while let object = next {
                if object == top { return .inside }
                try watch.pass(object)
                next = try state.object(object).parent
            }
            return .elsewhere(mayHaveBeenInside: false)
        case .query(let query): return try self.contains(index, record, query, in: &state)
        }
    }

    private func contains(
        _ index: ObjectIndex,
        _ record: ObjectRecord,
        _ query: Query,
        in state: inout some StateReading
    ) throws -> Answer {
        switch query.scope {
        case .all: break
        case .type(let type):
            guard let name = try state.existingNameIndex(of: type), record.creation?.type == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        case .children(let parent):
            let wanted = try parent.map { try state.existingObjectIndex(of: $0) }
            if let wanted {
                guard let wanted, record.parent == wanted else { return .elsewhere(mayHaveBeenInside: false) }
            } else if record.parent != nil {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        if let type = query.type {
            guard let name = try state.existingNameIndex(of: type), record.creation?.type == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        if let kind = query.kind {
            guard let name = try state.existingNameIndex(of: kind), record.creation?.kind == name else {
                return .elsewhere(mayHaveBeenInside: false)
            }
        }
        for filter in query.filters {
            guard let name = try state.existingNameIndex(of: filter.name),
                try state.value(of: name, on: index) == filter.value
            else { return .elsewhere(mayHaveBeenInside: true) }
        }
        guard try query.finds(index, in: &state) else { return .elsewhere(mayHaveBeenInside: true) }
        return .inside
    }
}
