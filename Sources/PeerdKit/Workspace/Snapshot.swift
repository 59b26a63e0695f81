internal import Persistence

/// One moment of a workspace, for as long as the closure runs that was given it.
public struct Snapshot: ~Copyable {
    private let transaction: SQLiteTransaction

    init(_ transaction: SQLiteTransaction) { self.transaction = transaction }

    /// An object with its properties; nil if there is none, or it is deleted.
    ///
    /// - Complexity: O(*n* log *m*) for *n* properties in a workspace of *m*.
    public func object(_ id: ObjectID) throws -> Object? {
        try self.translating { transaction in
            guard let index = try transaction.existingObjectIndex(of: id),
                try transaction.object(index).isVisible
            else { return nil }
            return try Object(index, in: &transaction)
        }
    }

    /// The value of a property; nil if the object, or the property, is not there.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value is of another type.
    public func value<Content>(of property: Property<Content>, on id: ObjectID) throws -> Content? {
        let value = try self.translating { transaction -> Value? in
            guard let name = try transaction.existingNameIndex(of: property.name),
                let index = try transaction.existingObjectIndex(of: id), try transaction.object(index).isVisible
            else { return nil }
            return try transaction.value(of: name, on: index)
        }
        return try value.map { try property.content(of: $0) }
    }

    /// So many objects of a query, behind a cursor.
    ///
    /// - Complexity: In the order of ids or of siblings, O(*n*) for what is looked at until the page is full; in the
    ///   order of a property, O(*n*) for all that the query looks at, with memory for one page.
    public func page(_ query: Query, after cursor: Cursor? = nil, limit: Int = 100) throws -> Page {
        guard (1...Page.limitMax).contains(limit) else {
            throw PeerdError(
                .invalidArgument,
                "A page has 1 to \(Page.limitMax) objects.",
                advice: "Ask for several pages."
            )
        }
        return try self.translating { transaction in
            try QueryRun(query, after: cursor).page(limit: limit, in: &transaction)
        }
    }

    /// How many objects a query has.
    ///
    /// - Complexity: O(*n*) in the objects that it looks at.
    public func count(_ query: Query) throws -> Int {
        try self.translating { transaction in try QueryRun(query, after: nil).count(in: &transaction) }
    }

    private func translating<Result>(_ body: (inout SQLiteTransaction) throws -> Result) throws -> Result {
        var transaction = self.transaction
        do {
            return try body(&transaction)
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }
}
