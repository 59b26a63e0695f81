internal import NIOCore
internal import NIOHTTP1
package import PeerdKit

/// Everything that answers requests, whichever way they come.
package struct APIService: Sendable {
    package let workspace: Workspace
    let server: ServerDescription
    let metrics: Metrics
    let router: Router
    let actions = RequestedActions()
    private let loopbackAccess: Access?

    /// Answers requests on a workspace.
    ///
    /// `access`: who may use it over loopback; nil if there is no such entry. `servesPages`: whether browsers may come.
    package init(_ workspace: Workspace, _ server: ServerDescription, access: Access?, servesPages: Bool = true) {
        let metrics = Metrics()
        self.workspace = workspace
        self.server = server
        self.metrics = metrics
        self.loopbackAccess = access
        var routes = ObjectRoutes(workspace: workspace).routes
        routes += HistoryRoutes(workspace: workspace).routes
        routes += PastRoutes(workspace: workspace).routes
        routes += BranchRoutes(workspace: workspace).routes
        routes += SharingRoutes(workspace: workspace).routes
        routes += ExchangeRoutes(workspace: workspace).routes
        routes += SnapshotRoutes(workspace: workspace).routes
        routes += BackupRoutes(workspace: workspace).routes
        routes += PruningRoutes(workspace: workspace).routes
        routes += ProjectRoutes(workspace: workspace).routes
        routes += SystemRoutes(workspace: workspace, server: server, metrics: metrics).routes
        routes += SyncRoutes(workspace: workspace, server: server).routes
        routes += LineRoutes(workspace: workspace).routes
        routes += SessionRoutes(access: access).routes
        if servesPages {
            routes += FileRoutes(path: server.filesDirectory).routes
            if let folder = server.pagesDirectory { routes += PageRoutes(path: folder).routes }
            routes += WebFileRoutes().routes
        }
        self.router = Router(routes)
    }

    /// Why a request is not carried out at all; nil if it is.
    func refusal(of head: RequestHead, isWebSocket: Bool = false) -> Problem? {
        guard head.entryPoint == .loopback, let access = self.loopbackAccess else { return nil }
        let problem = access.refusal(of: head, isWebSocket: isWebSocket)
        guard problem?.code == "unauthorized" else { return problem }
        // A link needs nothing but the code in its path, and a preflight brings no token.
        let isLink = head.method == .GET && head.path.count == 2 && head.path[0] == "open"
        return isLink || self.isPreflight(head) ? nil : problem
    }

    /// Answers a request that was refused.
    ///
    /// A page of an allowed origin can read why. One that came by another name of this machine cannot.
    func answer(to head: RequestHead, refusedWith problem: Problem) -> Response {
        var response = problem.response(to: head)
        if problem.status != .misdirectedRequest { self.share(&response, with: head.headers) }
        return response
    }

    /// Answers a request that was not refused.
    func answering(_ request: Request) -> Answering {
        if self.isPreflight(request.head) { return .now(self.completed(ResponseHeaders.preflight, for: request.head)) }
        switch self.router.answering(request) {
        case .now(let response): return .now(self.completed(response, for: request.head))
        case .later(let make):
            return .later {
                do throws(Problem) {
                    let action = try self.actions.action(of: request.head)
                    let response = await action.perform { await make() }
                    return self.completed(response.written(in: action), for: request.head)
                } catch {
                    return self.completed(error.response(to: request.head), for: request.head)
                }
            }
        }
    }

    /// The same, for callers that can wait.
    package func respond(to request: Request) async -> Response {
        switch self.answering(request) {
        case .now(let response): response
        case .later(let make): await make()
        }
    }

    private func completed(_ response: Response, for head: RequestHead) -> Response {
        var response = response
        self.share(&response, with: head.headers)
        self.metrics.note(status: UInt(response.status.code))
        return response
    }

    /// Lets the page that sent a request read the answer, if it is of an origin that the user allows.
    private func share(_ response: inout Response, with headers: HTTPHeaders) {
        guard let origin = headers.first(name: "Origin"), self.loopbackAccess?.allows(origin: origin) ?? false else {
            return
        }
        ResponseHeaders.allow(origin, in: &response.headers)
    }

    private func isPreflight(_ head: RequestHead) -> Bool {
        guard let origin = head.headers.first(name: "Origin"), let access = self.loopbackAccess else { return false }
        return head.method == .OPTIONS && access.allows(origin: origin)
            && head.headers.contains(name: "Access-Control-Request-Method")
    }

    /// Whether whoever opens a WebSocket has shown already that he may.
    func isLetIn(_ head: RequestHead) -> Bool {
        guard head.entryPoint == .loopback, let access = self.loopbackAccess else { return true }
        return access.hasCookie(head.headers) || access.refusal(of: head) == nil
    }

    /// Whether a page of the server's own asks, which has no token to show later.
    func isOwnPage(_ head: RequestHead) -> Bool { self.loopbackAccess?.hasNameOfPages(head.headers) ?? false }

    /// Has a connection end when the browser that opened it is signed out.
    func attach(_ channel: any Channel, _ headers: HTTPHeaders) { self.loopbackAccess?.attach(channel, headers) }

    func isToken(_ text: String) -> Bool { self.loopbackAccess?.isToken(text) ?? true }
}
