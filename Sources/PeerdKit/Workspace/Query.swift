internal import Foundation

/// Which objects, and in which order.
///
/// ```swift
/// let open = Query.children(of: list).filtered(done, equals: false).ordered(by: title)
/// ```
public struct Query: Hashable, Sendable {
    enum Scope: Hashable, Sendable {
        case all
        case type(String)
        case children(ObjectID?)
    }

    struct Filter: Hashable, Sendable {
        var name: String
        var value: Value
    }

    let scope: Scope
    private(set) var kind: String?
    private(set) var filters: [Filter] = []
    private(set) var orderName: String?

    /// All objects, in the order of their ids.
    public static let all = Query(scope: .all)

    /// The objects of a type, in the order of their ids.
    public static func objects(type: String) -> Query { Query(scope: .type(type)) }

    /// What stands under an object, or at the root, in the order in which it stands there.
    public static func children(of parent: ObjectID?) -> Query { Query(scope: .children(parent)) }

    private init(scope: Scope) { self.scope = scope }

    /// Only those of a kind.
    public func filtered(kind: String) -> Query {
        var query = self
        query.kind = kind
        return query
    }

    /// Only those whose property has a value.
    ///
    /// One that has no such property has no value.
    public func filtered<Content: PropertyValue>(_ property: Property<Content>, equals content: Content) -> Query {
        var query = self
        query.filters.append(Filter(name: property.name, value: content.value))
        return query
    }

    /// In ascending order of a property: those without one first, then null, truth values, numbers, text by its bytes,
    /// documents, bytes and blobs; where it is the same, in the order of ids.
    public func ordered<Content>(by property: Property<Content>) -> Query {
        var query = self
        query.orderName = property.name
        return query
    }
}

/// Where a page of a query ended.
public struct Cursor: Hashable, Sendable {
    let query: Query
    let id: ObjectID
    let position: Position
    let orderValue: Value?
}

/// Some objects of a query.
public struct Page: Hashable, Sendable {
    /// The objects, in the order of the query.
    public let objects: [Object]
    /// Where the next page begins; nil if this one has reached the end.
    public let next: Cursor?

    /// As many objects may be asked for at once.
    static let limitMax = 10_000
}
