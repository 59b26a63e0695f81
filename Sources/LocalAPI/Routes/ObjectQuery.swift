internal import CRDTCore
internal import PeerdKit

/// Queries as clients write them: as parameters of a request, or as JSON.
enum ObjectQuery {
    /// What both forms have; `parent` is an id, or `root`.
    private static let names = ["type", "kind", "parent", "search", "order"]

    static let parameterNames = Set(ObjectQuery.names).union(["property", "value"])

    /// Reads the parameters of a list.
    static func read(_ parameters: QueryParameters, in workspace: Workspace) async throws -> Query {
        let moment = try parameters.one("at").map { try Moment($0) }
        let wishes = try Self.wishes { name throws(Problem) in try parameters.one(name) }
        let (names, values) = (parameters.all("property"), parameters.all("value"))
        guard names.count == values.count else {
            throw Problem.badRequest("Each “property” needs a “value” with JSON behind it, and each value a property.")
        }
        let filters = try zip(names, values).map { name, value in
            guard let json = JSON(parsing: value.utf8) else {
                throw Problem.badRequest("The value of the property “\(name)” is not JSON; texts need quotation marks.")
            }
            return (name: name, value: json)
        }
        return try await self.query(wishes, filters, in: workspace, at: moment)
    }

    /// Reads a query of a WebSocket.
    static func read(_ json: JSON, in workspace: Workspace) async throws -> Query {
        let members = try Members(json, of: "A query")
        let wishes = try Self.wishes { name throws(Problem) in try members.text(name) }
        let filters = try members.object("where")
        try members.requireNoOthers()
        return try await self.query(wishes, filters, in: workspace, at: nil)
    }

    private static func wishes(_ text: (String) throws(Problem) -> String?) throws(Problem) -> [String: String] {
        var wishes: [String: String] = [:]
        for name in self.names { wishes[name] = try text(name) }
        return wishes
    }

    /// `moment`: when the parent is looked for; nil for now.
    private static func query(
        _ wishes: [String: String],
        _ filters: [(name: String, value: JSON)],
        in workspace: Workspace,
        at moment: Moment?
    ) async throws -> Query {
        var query: Query
        if let parent = wishes["parent"] {
            let id = parent == "root" ? nil : try await ObjectLookup.id(parent, in: workspace, at: moment)
            query = .children(of: id)
            if let type = wishes["type"] { query = query.filtered(type: type) }
        } else {
            query = wishes["type"].map { .objects(type: $0) } ?? .all
        }
        if let kind = wishes["kind"] { query = query.filtered(kind: kind) }
        if let text = wishes["search"], !text.isEmpty { query = query.containing(text) }
        if let order = wishes["order"] { query = query.ordered(by: Property<Value>(order)) }
        for (name, value) in filters { query = query.filtered(Property<Value>(name), equals: Value(value)) }
        return query
    }
}
