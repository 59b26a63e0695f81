internal import NIOHTTP1

/// How browsers get in.
struct SessionRoutes: Sendable {
    let access: Access?

    var routes: [Route] {
        [
            Route(.GET, "/open/{code}", query: .any) { request in
                guard let access = self.access else { throw Self.noLoopback }
                return try access.login(code: request.parameters[0], request.head.headers)
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
            Route(.POST, "/api/links") { request in
                guard let access = self.access else { throw Self.noLoopback }
                return Created(LinkAnswer(url: "\(access.pageOrigin)/open/\(access.makeLoginCode())"))
            },
        ]
    }

    private static let noLoopback = Problem(
        .notFound,
        "not-found",
        "The daemon does not serve browsers.",
        advice: "Start it without --no-http."
    )
}
