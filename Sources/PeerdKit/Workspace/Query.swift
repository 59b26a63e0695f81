internal import CRDTCore
internal import Foundation

/// A description of the objects to read, and of their order.
///
/// ```swift
/// let open = Query.children(of: list).filtered(done, equals: false).ordered(by: title)
/// ```
///
/// A query is a value and reads nothing. It is run by ``Workspace/page(_:after:limit:)``, ``Workspace/live(_:limit:)``,
/// ``Workspace/count(_:)`` and the same functions of ``ReadTransaction``. No index exists for properties: a filter or
/// an order looks at each object of the type or parent.
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
    private(set) var type: String?
    private(set) var kind: String?
    private(set) var text: String?
    private(set) var filters: [Filter] = []
    private(set) var orderName: String?

    /// All objects, in the order of their ids.
    public static let all = Query(scope: .all)

    /// Selects the objects of a type, in the order of their ids.
    public static func objects(type: String) -> Query { Query(scope: .type(type)) }

    /// Selects the direct children of an object, or those at the root for nil, in their order in the tree.
    public static func children(of parent: ObjectID?) -> Query { Query(scope: .children(parent)) }

    private init(scope: Scope) { self.scope = scope }

    /// Keeps the objects of a type.
    public func filtered(type: String) -> Query { self.changed { $0.type = type } }

    /// Keeps the objects of which a property is a text that contains this one, whatever the case of its letters.
    public func containing(_ text: String) -> Query { self.changed { $0.text = text } }

    /// Keeps the objects of a kind.
    public func filtered(kind: String) -> Query { self.changed { $0.kind = kind } }

    /// Keeps the objects whose property equals a value.
    ///
    /// Objects without the property are dropped, whatever the value. Several filters must all hold.
    public func filtered<Content: PropertyValue>(_ property: Property<Content>, equals content: Content) -> Query {
        self.changed { $0.filters.append(Filter(name: property.name, value: content.value)) }
    }

    /// Sorts by a property, in ascending order.
    ///
    /// Objects without the property come first. Then come null, truth values, numbers, text by its UTF-8 bytes,
    /// documents, bytes and blobs. Objects with equal values are sorted by their ids. A second call replaces the first.
    public func ordered<Content>(by property: Property<Content>) -> Query {
        self.changed { $0.orderName = property.name }
    }

    private func changed(_ change: (inout Query) -> Void) -> Query {
        var query = self
        change(&query)
        return query
    }
}

/// The place where a page of a query ended, and the next one begins.
public struct Cursor: Hashable, Sendable {
    let query: Query
    let id: ObjectID
    let position: Position
    let orderValue: Value?
}

extension Cursor {
    /// The cursor as text, without its query.
    package var text: String {
        var members: [ExactText: JSON] = [
            "id": .string(self.id.description), "position": .string(Hexadecimal.text(self.position.bytes)),
        ]
        if let value = self.orderValue { members["value"] = value.json }
        return Data(JSON.object(members).canonicalText.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Reads a cursor from its text; nil if it is not one.
    package init?(_ text: String, of query: Query) {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64 + padding), case .object(let members)? = JSON(parsing: data),
            case .string(let id)? = members["id"], let id = ObjectID(text: id),
            case .string(let position)? = members["position"], let position = Hexadecimal.bytes(position)
        else { return nil }
        self.init(
            query: query,
            id: id,
            position: Position(bytes: position),
            orderValue: members["value"].map { Value($0) }
        )
    }
}

/// A part of the objects of a query.
public struct Page: Hashable, Sendable {
    /// The objects, in the order of the query.
    public let objects: [Object]
    /// The cursor for the next page; nil if this page is the last.
    public let next: Cursor?

    /// The most objects that one page may have.
    static let limitMax = 10_000
    /// A page, an element of a sequence of changes, and the like end early when their values take so many bytes.
    static let byteCountMax = 4 << 20

    /// Refuses a number of objects that no page has.
    static func check(_ limit: Int) throws(PeerdError) {
        guard (1...self.limitMax).contains(limit) else {
            throw PeerdError(
                .invalidArgument,
                "A page has 1 to \(self.limitMax) objects.",
                advice: "Ask for several pages."
            )
        }
    }
}
