internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// What goes in and out as a whole: export and import, and changes by long polling.
struct ExchangeRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/export", query: .only(["under", "at"])) { try await self.export($0) },
            Route(.POST, "/api/import", query: .branch) { try await self.importObjects($0) },
            Route(.GET, "/api/changes", query: .objects + ["object", "subtree", "since", "wait"]) { request in
                try await self.changes(request)
            },
        ]
    }

    private func export(_ request: Request) async throws -> Response {
        var root: ObjectID?
        let moment = try request.moment
        if let name = try request.head.query.one("under") {
            root = try await ObjectLookup.object(name, in: self.workspace, at: moment).id
        } else if let moment {
            // One that is not here, or not all of it, shows before the answer begins.
            try await self.workspace.requireKept(at: moment)
        }
        let top = root
        return Response(
            .ok,
            headers: ["Content-Type": "application/json"],
            body: .stream { writer in
                try await self.workspace.writeExport(under: top, at: moment) { try await writer.write($0) }
            }
        )
    }

    private func changes(_ request: Request) async throws -> DeltaAnswer {
        let scope = try await self.scope(request.head.query)
        let seconds = try request.head.query.number("wait", in: 0...APILimits.waitSecondsMax) ?? 0
        let token = try request.head.query.one("since").map { try ChangeToken($0) }
        var changes = try self.workspace.changes(of: scope, since: token).makeAsyncIterator()
        var delta = try await changes.nextAtOnce()
        if delta == nil, seconds > 0 { delta = try await Self.next(of: changes, within: .seconds(seconds)) }
        return delta.map { DeltaAnswer($0) } ?? DeltaAnswer(nothingSince: token?.description ?? "")
    }

    /// The next element; nil if there is none in time.
    private static func next(of changes: Changes.Iterator, within time: Duration) async throws -> Delta? {
        try await withThrowingTaskGroup(of: Delta?.self) { group in
            group.addTask {
                var changes = changes
                return try await changes.next()
            }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func scope(_ parameters: QueryParameters) async throws -> Scope {
        if let object = try parameters.one("object") {
            return .object(try await ObjectLookup.id(object, in: self.workspace))
        }
        if let top = try parameters.one("subtree") {
            return .subtree(try await ObjectLookup.id(top, in: self.workspace))
        }
        let query = try await ObjectQuery.read(parameters, in: self.workspace)
        return query == .all ? .everything : .query(query)
    }
}
