package import CRDTCore
package import Persistence

/// The state of a workspace now or at a moment, as the readers of this package see it.
package enum WorkspaceState: StateReading {
    case now(SQLiteTransaction)
    case past(PastState<SQLiteTransaction>)

    package var lineCount: Int {
        switch self {
        case .now(let state): state.lineCount
        case .past(let state): state.lineCount
        }
    }

    package func line(_ index: LineIndex) -> LineRecord {
        switch self {
        case .now(let state): state.line(index)
        case .past(let state): state.line(index)
        }
    }

    package func progress(of index: LineIndex) -> LineProgress {
        switch self {
        case .now(let state): state.progress(of: index)
        case .past(let state): state.progress(of: index)
        }
    }

    package func existingObjectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex? {
        switch self {
        case .now(let state): try state.existingObjectIndex(of: id)
        case .past(var state): try state.existingObjectIndex(of: id)
        }
    }

    package func existingNameIndex(of name: String) throws(StoreError) -> NameIndex? {
        switch self {
        case .now(let state): try state.existingNameIndex(of: name)
        case .past(var state): try state.existingNameIndex(of: name)
        }
    }

    package func name(_ index: NameIndex) throws(StoreError) -> String {
        switch self {
        case .now(let state): try state.name(index)
        case .past(var state): try state.name(index)
        }
    }

    package func object(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord {
        switch self {
        case .now(let state): try state.object(index)
        case .past(var state): try state.object(index)
        }
    }

    package func visibleChildCount(of index: ObjectIndex) throws(StoreError) -> Int {
        switch self {
        case .now(var state): try state.visibleChildCount(of: index)
        case .past(var state): try state.visibleChildCount(of: index)
        }
    }

    package func showsAnything(below index: ObjectIndex) throws(StoreError) -> Bool {
        switch self {
        case .now(var state): try state.showsAnything(below: index)
        case .past(var state): try state.showsAnything(below: index)
        }
    }

    package func lastUpdate(of index: ObjectIndex) throws(StoreError) -> Stamp {
        switch self {
        case .now(var state): try state.lastUpdate(of: index)
        case .past(var state): try state.lastUpdate(of: index)
        }
    }

    package func properties(of object: ObjectIndex) throws(StoreError) -> [(name: String, value: Value)] {
        switch self {
        case .now(let state): try state.properties(of: object)
        case .past(var state): try state.properties(of: object)
        }
    }

    package func property(_ name: String, of object: ObjectIndex) throws(StoreError) -> Value? {
        switch self {
        case .now(var state): try state.property(name, of: object)
        case .past(var state): try state.property(name, of: object)
        }
    }

    package func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        switch self {
        case .now(let state): try state.value(of: name, on: object)
        case .past(var state): try state.value(of: name, on: object)
        }
    }

    package func children(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        switch self {
        case .now(let state): try state.children(of: parent)
        case .past(var state): try state.children(of: parent)
        }
    }

    package func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        switch self {
        case .now(let state): try state.visibleChildren(of: parent, after: last, limit: limit)
        case .past(var state): try state.visibleChildren(of: parent, after: last, limit: limit)
        }
    }

    package func visibleObjects() throws(StoreError) -> [ObjectIndex] {
        switch self {
        case .now(let state): try state.visibleObjects()
        case .past(var state): try state.visibleObjects()
        }
    }

    package func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        switch self {
        case .now(let state): try state.visibleObjects(after: id, limit: limit)
        case .past(var state): try state.visibleObjects(after: id, limit: limit)
        }
    }

    package func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        switch self {
        case .now(let state): try state.visibleObjects(of: type, after: id, limit: limit)
        case .past(var state): try state.visibleObjects(of: type, after: id, limit: limit)
        }
    }
}
