package import CRDTCore

/// Objects a page at a time.
extension SQLiteTransaction {
    /// Visible objects in ascending order of ids, behind one.
    package func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.page(.visiblePage, after: id, limit)
    }

    package func knownObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.page(.knownPage, after: id, limit)
    }

    private func page(_ query: StoreQuery, after id: ObjectID?, _ limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let statement = try self.statements[query]
        defer { statement.reset() }
        statement.bind(1, id)
        statement.bind(2, Int64(limit))
        return try self.indexes(statement)
    }

    /// The same for objects of one type.
    package func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let statement = try self.statements[.typePage]
        defer { statement.reset() }
        statement.bind(1, id)
        statement.bind(2, Int64(limit))
        statement.bind(3, Int64(type.rawValue))
        return try self.indexes(statement)
    }

    /// What shows under a parent (nil: the root) in its order, behind one.
    package func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let statement = try self.statements[parent == nil ? .rootChildPage : .childPage]
        defer { statement.reset() }
        statement.bind(1, last?.position.bytes ?? [])
        statement.bind(2, last?.id)
        statement.bind(3, Int64(limit))
        if let parent { statement.bind(4, Int64(parent.rawValue)) }
        return try self.indexes(statement)
    }

    package func visibleObjectCount() throws(StoreError) -> Int {
        try self.flush()
        let statement = try self.statements[.visibleCount]
        defer { statement.reset() }
        return try statement.step() ? Int(clamping: statement.int64(0)) : 0
    }

    /// The number of a name that is known.
    package func existingNameIndex(of name: String) throws(StoreError) -> NameIndex? {
        let statement = try self.statements[.nameByText]
        defer { statement.reset() }
        statement.bind(1, name)
        return try statement.step() ? NameIndex(rawValue: statement.uint32(0)) : nil
    }

    package func visibleChild(of parent: ObjectIndex?, before place: SiblingPlace) throws(StoreError) -> ObjectIndex? {
        try self.flush()
        let statement = try self.statements[parent == nil ? .rootChildBefore : .childBefore]
        defer { statement.reset() }
        statement.bind(1, place.position.bytes)
        statement.bind(2, place.id)
        if let parent { statement.bind(3, Int64(parent.rawValue)) }
        return try statement.step() ? ObjectIndex(rawValue: statement.uint32(0)) : nil
    }

    package func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position? {
        try self.flush()
        let statement = try self.statements[parent == nil ? .lastRootPosition : .lastPosition]
        defer { statement.reset() }
        if let parent { statement.bind(1, parent.rawValue) }
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return Position(bytes: statement.bytes(0))
    }

    private func indexes(_ statement: Statement) throws(StoreError) -> [ObjectIndex] {
        var objects: [ObjectIndex] = []
        while try statement.step() { objects.append(ObjectIndex(rawValue: statement.uint32(0))) }
        return objects
    }
}
