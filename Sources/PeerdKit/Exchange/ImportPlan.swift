internal import CRDTCore
internal import Engine

/// Turns objects to import into the steps that make them, against the state as it is.
struct ImportPlan {
    private(set) var steps: [Transaction.Step] = []
    private var planned: Set<ObjectID> = []
    /// Whose ids keys stand for, and in which namespace.
    let user: UserID
    let namespace: ObjectID

    init(user: UserID, namespace: ObjectID) {
        (self.user, self.namespace) = (user, namespace)
    }

    mutating func add(_ object: ImportedObject, in state: inout some StateReading) throws {
        let id = self.id(of: object.reference)
        var parent = object.parent.map { self.id(of: $0) }
        // The parent of an exported subtree's root may be unknown here; the object then stands at the root.
        if let named = parent, try !self.isThere(named, in: &state) { parent = nil }
        var properties: [ExactText: Value] = [:]
        for (name, text) in object.properties {
            properties[name] = JSON(parsing: text.utf8).map { Value($0) } ?? .string(text)
        }
        self.planned.insert(id)
        if let index = try state.visibleObject(id) {
            for (name, value) in try StateExport.properties(of: index, in: &state)
            where properties[name] == value {
                properties[name] = nil
            }
            let place = try state.object(index).parent
            if let place, try state.object(place).id == parent { parent = nil }
            if place != nil, object.isPlacedAtRoot { self.steps.append(.move(id, parent: nil, before: nil)) }
            if properties.isEmpty, parent == nil { return }
        }
        self.steps.append(
            .create(
                Transaction.Creation(
                    id: .given(id),
                    type: object.type,
                    kind: object.kind,
                    parent: parent,
                    properties: properties,
                    keptNames: object.missing
                )
            )
        )
    }

    private func id(of reference: ImportedObject.Reference) -> ObjectID {
        switch reference {
        case .id(let id): id
        case .key(let type, let key):
            ObjectID(of: self.user, key: key.text, type: type.text, in: self.namespace)
        }
    }

    /// Whether the workspace has what a reference means.
    func isKnown(
        _ reference: ImportedObject.Reference,
        in state: inout some StateReading
    ) throws -> Bool {
        try state.visibleObject(self.id(of: reference)) != nil
    }

    private func isThere(_ id: ObjectID, in state: inout some StateReading) throws -> Bool {
        try self.planned.contains(id) || state.visibleObject(id) != nil
    }
}
