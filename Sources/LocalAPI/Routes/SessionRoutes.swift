internal import NIOHTTP1

/// How browsers get in.
struct SessionRoutes: Sendable {
    let access: Access?

    var routes: [Route] {
        [
            Route(.GET, "/open/{code}", query: .any) { request in
                try self.requireAccess().login(code: request.parameters[0], request.head.headers)
            },
            Route(.GET, "/ws/sync") { _ -> Response in
                throw Problem(
                    .upgradeRequired,
                    "upgrade-required",
                    "This is a WebSocket.",
                    advice: "Connect to it as one; /api/asyncapi.json describes its messages.",
                    headers: ["Upgrade": "websocket"]
                )
            },
            Route(.POST, "/api/links") { _ in Created(LinkAnswer(url: try self.requireAccess().makeLink())) },
            Route(.GET, "/api/sessions") { request in
                SessionList(sessions: try self.requireAccess().listSessions(request.head.headers))
            },
            Route(.DELETE, "/api/sessions") { _ -> Response in
                _ = try self.requireAccess().endSessions(nil)
                return .noContent
            },
            Route(.DELETE, "/api/sessions/{id}") { request -> Response in
                let id = request.parameters[0]
                guard try self.requireAccess().endSessions(id) > 0 else {
                    throw Problem(
                        .notFound,
                        "no-such-session",
                        "No browser is signed in as \(id).",
                        advice: "It may have been signed out; read the list again."
                    )
                }
                return .noContent
            },
        ]
    }

    private func requireAccess() throws(Problem) -> Access {
        guard let access = self.access else { throw Self.noLoopback }
        return access
    }

    private static let noLoopback = Problem(
        .notFound,
        "no-browsers",
        "The daemon does not serve browsers.",
        advice: "Start it without --no-http."
    )
}
