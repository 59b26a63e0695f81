internal import Persistence

/// The state of a workspace at one moment, valid inside the closure of ``Workspace/read(_:)``.
public struct ReadTransaction: ~Copyable {
    /// That of the store, or an earlier one.
    private let state: WorkspaceState

    init(_ state: WorkspaceState) { self.state = state }

    /// Returns an object with its properties; nil if it does not exist or is deleted.
    ///
    /// - Throws: ``PeerdError`` if the disk fails or the database is damaged.
    /// - Complexity: O(*n* log *m*) for *n* properties of the object in a workspace of *m*.
    public func object(_ id: ObjectID) throws -> Object? {
        try self.translating { try Object.find(id, in: &$0) }
    }

    /// Returns the value of a property; nil if the object or the property does not exist.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value has another type, or if the disk fails.
    /// - Complexity: O(log *m*) in a workspace of *m* properties.
    public func value<Content>(of property: Property<Content>, on id: ObjectID) throws -> Content? {
        let value = try self.translating { transaction -> Value? in
            guard let name = try transaction.existingNameIndex(of: property.name),
                let index = try transaction.visibleObject(id)
            else { return nil }
            return try transaction.value(of: name, on: index)
        }
        return try value.map { try property.content(of: $0) }
    }

    /// Returns one page of the objects of a query.
    ///
    /// - Parameters:
    ///   - query: the objects to read, and their order.
    ///   - cursor: ``Page/next`` of the page before; nil for the first page.
    ///   - limit: the most objects to return, from 1 to 10,000.
    /// - Returns: the objects, and the cursor for the next page.
    /// - Throws: ``PeerdError`` with `invalidArgument` for a limit out of range or the cursor of another query, or if
    ///   the disk fails.
    /// - Complexity: O(*n*) in the objects that are looked at until the page is full. Sorted by a property, each page
    ///   looks at all objects of the query. Memory holds one page.
    public func page(_ query: Query, after cursor: Cursor? = nil, limit: Int = 100) throws -> Page {
        try Page.check(limit)
        return try self.translating { transaction in
            try QueryRun(query, after: cursor).page(limit: limit, in: &transaction)
        }
    }

    /// Returns the number of objects of a query.
    ///
    /// - Throws: ``PeerdError`` if the disk fails or the database is damaged.
    /// - Complexity: O(*n*) in the objects that the query looks at, before its filters.
    public func count(_ query: Query) throws -> Int {
        try self.translating { transaction in try QueryRun(query, after: nil).count(in: &transaction) }
    }

    private func translating<Result>(_ body: (inout WorkspaceState) throws -> Result) throws -> Result {
        var state = self.state
        do {
            return try body(&state)
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }
}
