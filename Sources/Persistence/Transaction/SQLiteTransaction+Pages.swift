package import CRDTCore

/// Objects a page at a time.
extension SQLiteTransaction {
    /// Visible objects in ascending order of ids, behind one.
    package func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.visiblePage].rows(Self.text(of: id), limit) { $0.object(0) }
    }

    package func knownObjects(after last: CircledObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let (id, circle) = (Self.text(of: last?.id), last?.circle ?? .home)
        return try self.statements[.knownPage].rows(id, circle, limit) { $0.object(0) }
    }

    package func objects(of id: ObjectID) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.objectsByID].rows(id) { $0.object(0) }
    }

    package func objectsOutsideOfHome() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.objectsOutsideOfHome].rows { $0.object(0) }
    }

    /// The same for objects of one type.
    package func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.typePage].rows(type, Self.text(of: id), limit) { $0.object(0) }
    }

    /// The text of an id; nil as text that comes before every id.
    private static func text(of id: ObjectID?) -> String { id?.description ?? "" }

    /// What shows under a parent (nil: the root) in its order, behind one.
    package func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let (position, id) = (last?.position.bytes ?? [], Self.text(of: last?.id))
        return try self.statements[.childPage].rows(parent, position, id, limit) { $0.object(0) }
    }

    package func visibleObjectCount() throws(StoreError) -> Int {
        try self.flush()
        return try self.statements[.visibleCount].first { Int(clamping: $0.int64(0)) } ?? 0
    }

    /// The number of a name that is known.
    package func existingNameIndex(of name: String) throws(StoreError) -> NameIndex? {
        try self.statements[.nameByText].first(name) { $0.name(0) }
    }

    package func visibleChild(of parent: ObjectIndex?, before place: SiblingPlace) throws(StoreError) -> ObjectIndex? {
        try self.flush()
        return try self.statements[.childBefore].first(parent, place.position.bytes, place.id) { $0.object(0) }
    }

    package func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position? {
        try self.flush()
        let bytes = try self.statements[.lastPosition].first(parent) { $0.isNull(0) ? nil : $0.bytes(0) } ?? nil
        return bytes.map { Position(bytes: $0) }
    }
}
