package import CRDTCore

/// What a state shows of an object, in the words of the model and of any state that can be read.
package struct VisibleObject: Hashable, Sendable {
    package var type: ModelText?
    package var parent: ObjectID?
    package var position = Position.initial
    package var properties: [ModelText: Value] = [:]
    package var children: [ObjectID] = []

    /// What the model says.
    package init(_ object: PlainObject) {
        self.type = object.creation?.type
        self.parent = object.parent
        self.position = object.position
        self.children = object.children
        for property in object.properties {
            if case .set(_, _, let value) = property.winner.edit { self.properties[property.name] = value }
        }
    }

    /// What a state says of an object that shows.
    private init(_ index: ObjectIndex, in state: inout some StateReading) throws(StoreError) {
        let record = try state.object(index)
        self.type = try record.creation.map { creation throws(StoreError) in ModelText(try state.name(creation.type)) }
        self.parent = try record.parent.map { parent throws(StoreError) in try state.object(parent).id }
        self.position = record.position
        for (name, value) in try state.properties(of: index) { self.properties[ModelText(name)] = value }
        for child in try state.visibleChildren(of: index, after: nil, limit: .max) {
            self.children.append(try state.object(child).id)
        }
    }

    /// The same in words, which are the same in each run.
    package var words: String {
        let values = self.properties.map { name, value in "\(name): \("\(value)".prefix(40))" }.sorted()
        let children = self.children.map { ModelWords.short($0) }
        let type = self.type?.description ?? "no type"
        return "\(type) in \(ModelWords.short(self.parent)) at \(self.position.bytes) with \(values) over \(children)"
    }

    /// Everything that the model shows.
    package static func all(of model: NaiveModel) -> [ObjectID: VisibleObject] {
        let visible = model.state().objects.filter(\.isVisible)
        return Dictionary(uniqueKeysWithValues: visible.map { ($0.id, VisibleObject($0)) })
    }

    /// Everything that a timeline shows: a branch, or the main one for nil.
    ///
    /// Throws `compacted` where a value of a branch is missing.
    package static func all(
        on branch: BranchID?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectID: VisibleObject] {
        guard let branch else { return try self.all(of: &transaction) }
        var state = HistoryState(try transaction.view(of: branch), of: transaction)
        try state.requireComplete()
        return try self.all(of: &state)
    }

    /// Everything that a state shows, which it must find in each of its ways.
    package static func all(of state: inout some StateReading) throws(StoreError) -> [ObjectID: VisibleObject] {
        var found: [ObjectID: VisibleObject] = [:]
        for index in try state.visibleObjects() {
            found[try state.object(index).id] = try VisibleObject(index, in: &state)
        }
        return found
    }
}

extension StateReading {
    /// Throws `compacted` where a value of an object that shows is missing.
    package mutating func requireComplete() throws(StoreError) {
        for index in try self.visibleObjects() where try !self.missingProperties(of: index).isEmpty { throw .compacted }
    }
}
