internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Conflicts and the log.
struct HistoryRoutes: Sendable {
    let workspace: Workspace

    private static let conflictParameters: Set = ["limit", "after", "summaries"]
    private static let logParameters: Set = ["limit", "order", "after"]

    var routes: [Route] {
        [
            Route(.GET, "/api/conflicts", query: .only(Self.conflictParameters)) {
                try await self.conflicts(in: .everything, $0)
            },
            Route(.GET, "/api/objects/{id}/conflicts", query: .only(Self.conflictParameters)) { request in
                let object = try await ObjectLookup.object(request.parameters[0], in: self.workspace)
                return try await self.conflicts(in: .object(object.id), request)
            },
            Route(.POST, "/api/conflicts/resolve") { try await self.resolve($0) },
            Route(.GET, "/api/log", query: .only(Self.logParameters)) { try await self.log($0) },
            Route(.GET, "/api/objects/{id}/log", query: .only(Self.logParameters)) { try await self.log($0) },
        ]
    }

    private func conflicts(in scope: Scope, _ request: Request) async throws -> Shaped<ConflictPageAnswer> {
        if request.wantsLines {
            return Shaped(try await LineRoutes(workspace: self.workspace).conflicts(in: scope, request))
        }
        // It adds to lines alone; a value that is wrong is wrong here, too.
        _ = try request.head.query.flag("summaries")
        let limit = try request.head.query.limit
        let after = try request.head.query.after(in: "conflicts") { ConflictPlace($0) }
        let page = try await self.workspace.conflictPage(in: scope, after: after, limit: limit)
        let answer = ConflictPageAnswer(
            conflicts: page.conflicts.map { ConflictAnswer($0) },
            movesWithoutEffect: page.moves.map { MoveWithoutEffectAnswer($0) },
            next: page.next?.text
        )
        return Shaped(Response(answer))
    }

    private func resolve(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        let object = try await ObjectLookup.id(try members.requiredText("object"), in: self.workspace)
        let property = try members.text("property")
        guard let json = members["content"] else { throw Problem.badRequest("The body needs a “content”.") }
        let choice = try ConflictChoice(json)
        let conflicts = try await self.workspace.conflicts(in: .object(object))
        let (winner, losers) = (try members.text("winner"), try members.texts("losers"))
        try members.requireNoOthers()
        // Of what has no property, the versions say what it is about.
        let conflict = conflicts.first { conflict in
            conflict.property == property && conflict.winner?.id == winner && conflict.losers.map(\.id) == losers
        }
        guard let conflict else {
            throw Problem(
                .conflict,
                "conflict-changed",
                "The conflict has changed since it was read, or has ended; nothing was written.",
                advice: "Read the conflicts again, and decide again."
            )
        }
        try await self.workspace.resolve(conflict, with: try choice.content(of: conflict))
        return .noContent
    }

    /// The latest operations first, or the earliest.
    private func log(_ request: Request) async throws -> Shaped<LogPageAnswer> {
        let name = request.parameters.first
        if request.wantsLines { return Shaped(try await LineRoutes(workspace: self.workspace).log(of: name, request)) }
        var object: ObjectID?
        if let name { object = try await ObjectLookup.id(name, in: self.workspace) }
        let limit = try request.head.query.limit
        let order = try request.head.query.one("order") ?? "newest"
        guard ["newest", "oldest"].contains(order) else {
            throw Problem.badRequest("The parameter order is “newest” or “oldest”.")
        }
        let after = try request.head.query.after(in: "a log") { LogPlace($0) }
        let page = try await self.workspace.logPage(
            of: object,
            after: after,
            newestFirst: order == "newest",
            limit: limit
        )
        return Shaped(Response(LogPageAnswer(entries: page.entries.map { LogEntryAnswer($0) }, next: page.next?.text)))
    }
}

/// The latest word of a conflict as a client writes it: a content, or the id of the version that has it.
///
/// The id is exact where the client is not: a browser rounds integers above 2^53.
private enum ConflictChoice {
    case content(Conflict.Version.Content)
    case version(String)

    init(_ json: JSON) throws(Problem) {
        let members = try Members(json, of: "The content")
        if let version = try members.text("version") {
            self = .version(version)
        } else if let value = members["value"] {
            self = .content(.value(Value(value)))
        } else if try members.flag("removed") {
            self = .content(.removal)
        } else if members.has("parent") {
            let parent = try members.text("parent")
            let id = parent.flatMap { ObjectID(text: $0) }
            guard parent == nil || id != nil else { throw .badRequest("The parent must be a whole id, or null.") }
            self = .content(.place(id))
        } else {
            throw .badRequest("The content has one of “version”, “value”, “removed” and “parent”.")
        }
    }

    func content(of conflict: Conflict) throws(Problem) -> Conflict.Version.Content {
        switch self {
        case .content(let content): return content
        case .version(let id):
            let versions = conflict.losers + [conflict.winner].compactMap { $0 }
            guard let version = versions.first(where: { $0.id == id }) else {
                throw .invalid("The conflict has no version “\(id)”; nothing was written.")
            }
            return version.content
        }
    }
}
