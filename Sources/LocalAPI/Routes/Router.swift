internal import NIOHTTP1

/// A request on its way to a handler.
package struct Request: Sendable {
    package var head: RequestHead
    package var body: RequestBody
    /// What stands in the place of the template's parameters.
    package var parameters: [String] = []

    package init(head: RequestHead, body: RequestBody) {
        self.head = head
        self.body = body
    }
}

extension Request {
    /// Refuses what only the owner of the directory may ask for.
    ///
    /// `what`: a sentence up to “only over …”.
    func requireOwner(_ what: String, advice: String) throws(Problem) {
        guard self.head.entryPoint == .loopback else { return }
        throw Problem(
            .unprocessableEntity,
            "only-over-socket",
            "\(what) only over the Unix socket of the data directory.",
            advice: advice
        )
    }
}

/// How a request is answered.
package enum Answering: Sendable {
    /// With what was there in microseconds, on the caller's thread.
    case now(Response)
    /// With what is made of it in its time.
    case later(@Sendable () async -> Response)

    /// With what `make` returns, or the problem that it throws.
    static func later(to head: RequestHead, _ make: @escaping @Sendable () async throws -> Response) -> Answering {
        .later {
            do { return try await make() } catch { return Problem(error).response(to: head) }
        }
    }
}

/// A route: a method and a template of a path, with what answers them.
final class Route: Sendable {
    let method: HTTPMethod
    let path: String
    let template: Template
    let query: Query
    /// The types of the JSON with which it answers.
    let answers: [any Answer.Type]
    let handler: @Sendable (Request) throws -> Answering

    /// The parameters behind the question mark that a route knows.
    enum Query: Sendable {
        /// These; another is a slip of the pen, and refused.
        case only(Set<String>)
        /// All, since pages add some so that no cache answers.
        case any

        static let none = Query.only([])
        /// The one of the routes that write objects.
        static let branch = Query.only(["branch"])
        static let objects = Query.only(ObjectQuery.parameterNames)

        static func + (left: Query, right: Set<String>) -> Query {
            if case .only(let names) = left { .only(names.union(right)) } else { .any }
        }
    }

    /// `template`: such as `/api/objects/{id}`; `{path…}` at the end stands for all that follows, and `{name?}` for
    /// one component, even an empty one.
    convenience init<Result: RouteResult>(
        _ method: HTTPMethod,
        _ template: String,
        query: Query = .none,
        _ handler: @escaping @Sendable (Request) async throws -> Result
    ) {
        self.init(method, template, query: query, answers: Result.answers) { request in
            .later(to: request.head) { try await handler(request).response(to: request) }
        }
    }

    /// The same for a route that may answer at once.
    init(
        _ method: HTTPMethod,
        _ template: String,
        query: Query,
        answers: [any Answer.Type],
        _ handler: @escaping @Sendable (Request) throws -> Answering
    ) {
        (self.method, self.path, self.template) = (method, template, Template(template))
        (self.query, self.answers, self.handler) = (query, answers, handler)
    }

    /// Throws if a request has a parameter that the route does not know.
    func check(_ parameters: QueryParameters) throws(Problem) {
        guard !parameters.isEmpty, case .only(let names) = self.query,
            let other = parameters.names.subtracting(names).min()
        else { return }
        throw Problem(
            .badRequest,
            "bad-request",
            "There is no parameter “\(other)” here.",
            advice: names.isEmpty ? "Leave it out." : "Use \(names.sorted().joined(separator: ", "))."
        )
    }

    struct Template: Sendable, Hashable {
        private enum Part: Hashable {
            case literal(String)
            case parameter
            /// A parameter that may be empty.
            case anyParameter
            case rest
        }

        private let parts: [Part]

        init(_ text: String) {
            self.parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
                guard part.hasPrefix("{") else { return .literal(String(part)) }
                return part.hasSuffix("…}") ? .rest : part.hasSuffix("?}") ? .anyParameter : .parameter
            }
        }

        /// The word that a path must have at a place; nil if it may differ.
        func word(_ place: Int) -> String? {
            if self.parts.count > place, case .literal(let word) = self.parts[place] { word } else { nil }
        }

        /// The parameters of a path; nil if the path does not fit.
        func parameters(of path: [String]) -> [String]? {
            guard path.count == self.parts.count || self.parts.last == .rest else { return nil }
            var parameters: [String] = []
            for (index, part) in self.parts.enumerated() {
                switch part {
                case .rest: return parameters + path.dropFirst(index)
                case .literal(let text): if index >= path.count || path[index] != text { return nil }
                case .parameter:
                    if index >= path.count || path[index].isEmpty { return nil }
                    parameters.append(path[index])
                case .anyParameter:
                    if index >= path.count { return nil }
                    parameters.append(path[index])
                }
            }
            return parameters
        }
    }
}

/// Finds what answers a request.
package struct Router: Sendable {
    let routes: [Route]
    /// The same by the first two words that their paths must have.
    private let routesByWords: [String?: [String?: [Route]]]

    init(_ routes: [Route]) {
        self.routes = routes
        self.routesByWords = Dictionary(grouping: routes) { $0.template.word(0) }
            .mapValues { Dictionary(grouping: $0) { $0.template.word(1) } }
    }

    /// Answers a request; never throws, since whatever is wrong is an answer too.
    func answering(_ request: Request) -> Answering {
        do {
            let (route, parameters) = try self.route(of: request.head)
            var request = request
            request.parameters = parameters
            try route.check(request.head.query)
            return try route.handler(request)
        } catch {
            return .now(Problem(error).response(to: request.head))
        }
    }

    private func route(of head: RequestHead) throws(Problem) -> (Route, [String]) {
        // A HEAD is a GET whose body is not sent.
        let method = head.method == .HEAD ? .GET : head.method
        let known = self.routesByWords[head.path.first] ?? [:]
        var fitting: [(route: Route, parameters: [String])] = []
        for word in [head.path.dropFirst().first, nil] {
            for route in known[word] ?? [] {
                if let parameters = route.template.parameters(of: head.path) { fitting.append((route, parameters)) }
            }
        }
        // A word of a template counts more than a parameter: /api/objects/count is no object.
        let parameterCount = fitting.lazy.map { $0.parameters.count }.min()
        var allowed: [String] = []
        for (route, parameters) in fitting where parameters.count == parameterCount {
            if route.method == method { return (route, parameters) }
            for name in route.method == .GET ? ["GET", "HEAD"] : [route.method.rawValue] where !allowed.contains(name) {
                allowed.append(name)
            }
        }
        guard allowed.isEmpty else {
            throw Problem(
                .methodNotAllowed,
                "method-not-allowed",
                "\(head.method.rawValue) cannot be used here.",
                advice: "Use one of: \(allowed.joined(separator: ", ")).",
                headers: ["Allow": allowed.joined(separator: ", ")]
            )
        }
        throw Problem(
            .notFound,
            "not-found",
            "There is nothing at this path.",
            advice: "/api/openapi.json lists what there is."
        )
    }
}
