internal import CRDTCore
internal import PeerdKit

/// Queries as clients write them: as parameters of a request, or as JSON.
struct ObjectQuery {
    /// What a client asks for.
    private struct Wishes {
        var type: String?
        var kind: String?
        /// An id, or `root`.
        var parent: String?
        var search: String?
        var order: String?
        var filters: [(name: String, value: JSON)] = []
        /// When the parent is looked for; nil for now.
        var moment: Moment?
    }

    let query: Query

    static let parameterNames: Set = ["type", "kind", "parent", "search", "order", "property", "value"]

    /// Reads the parameters of a list.
    init(_ parameters: QueryParameters, in workspace: Workspace) async throws {
        var wishes = Wishes()
        wishes.moment = try parameters.one("at").map { try Moment($0) }
        wishes.type = try parameters.one("type")
        wishes.kind = try parameters.one("kind")
        wishes.parent = try parameters.one("parent")
        wishes.search = try parameters.one("search")
        wishes.order = try parameters.one("order")
        let (names, values) = (parameters.all("property"), parameters.all("value"))
        guard names.count == values.count else {
            throw Problem.badRequest("Each “property” needs a “value” with JSON behind it, and each value a property.")
        }
        for (name, value) in zip(names, values) {
            guard let json = JSON(parsing: value.utf8) else {
                throw Problem.badRequest("The value of the property “\(name)” is not JSON; texts need quotation marks.")
            }
            wishes.filters.append((name, json))
        }
        self.query = try await Self.query(wishes, in: workspace)
    }

    /// Reads a query of a WebSocket.
    init(_ json: JSON, in workspace: Workspace) async throws {
        let members = try Members(json, of: "A query")
        var wishes = Wishes()
        wishes.type = try members.text("type")
        wishes.kind = try members.text("kind")
        wishes.parent = try members.text("parent")
        wishes.search = try members.text("search")
        wishes.order = try members.text("order")
        wishes.filters = try members.object("where")
        try members.requireNoOthers()
        self.query = try await Self.query(wishes, in: workspace)
    }

    private static func query(_ wishes: Wishes, in workspace: Workspace) async throws -> Query {
        var query: Query
        if let parent = wishes.parent {
            query = .children(of: try await ObjectLookup.parent(parent, in: workspace, at: wishes.moment))
            if let type = wishes.type { query = query.filtered(type: type) }
        } else {
            query = wishes.type.map { .objects(type: $0) } ?? .all
        }
        if let kind = wishes.kind { query = query.filtered(kind: kind) }
        if let text = wishes.search, !text.isEmpty { query = query.containing(text) }
        if let order = wishes.order { query = query.ordered(by: Property<Value>(order)) }
        for (name, value) in wishes.filters { query = query.filtered(Property<Value>(name), equals: Value(value)) }
        return query
    }
}
