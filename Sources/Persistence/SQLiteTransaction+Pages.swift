package import CRDTCore

/// Objects a page at a time.
extension SQLiteTransaction {
    /// Visible objects in ascending order of ids, behind one.
    package func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        let statement = try self.statements[.visiblePage]
        defer { statement.reset() }
        statement.bind(1, id?.bytes.array ?? [])
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
        statement.bind(1, id?.bytes.array ?? [])
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
        statement.bind(2, last?.id.bytes.array ?? [])
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

    /// The value in force of a property; nil if there is none.
    package func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        guard let register = try self.register(RegisterKey(object: object, name: name)), !register.isRemoval,
            case .set(_, _, let value) = try self.edit(register.winner)
        else { return nil }
        return value
    }

    private func indexes(_ statement: Statement) throws(StoreError) -> [ObjectIndex] {
        var objects: [ObjectIndex] = []
        while try statement.step() { objects.append(ObjectIndex(rawValue: statement.uint32(0))) }
        return objects
    }
}
