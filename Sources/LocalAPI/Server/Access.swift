internal import CRDTCore
internal import NIOCore
package import NIOHTTP1
internal import PeerCrypto

/// Who may use the local API over loopback, where every program and every page of the machine can connect.
///
/// A program shows the token, and a page a cookie that it got by a link that works once. The checks of `Host` stop
/// pages whose name was made to lead to this machine (DNS rebinding, CVE-2018-5702), those of `Origin` and
/// `Sec-Fetch-Site` pages of other origins that bring the cookie (CVE-2022-41924, CVE-2024-28179).
///
/// A browser sends a cookie to every port of its host, whoever listens there. So pages have a host name of their own
/// below `localhost`, which nobody else knows. A page that is open also goes on asking at the port while the daemon is
/// away, and tells name and cookie to whoever has taken it. So both are new at each start, and a name that somebody
/// else may have answered to, and left a service worker behind, is never answered to again.
package struct Access: Sendable {
    private let token: [UInt8]
    private let port: UInt16
    private let cookieName: String
    /// The names by which programs call the server.
    private let hosts: [String]
    /// The name by which browsers do.
    package let pageHost: String
    /// Origins of the user's own pages, which may use the API with the token.
    private let allowedOrigins: Set<String>
    private let sessions = PageSessions()

    package init(token: String, port: UInt16, allowedOrigins: [String]) throws {
        self.token = Array(token.utf8)
        self.port = port
        self.cookieName = "peerd-\(port)"
        self.hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)"]
        self.pageHost = "\(try RandomText.hexadecimal(byteCount: Self.labelByteCount)).localhost:\(port)"
        self.allowedOrigins = Set(allowedOrigins)
    }

    private static let labelByteCount = 8

    /// Checks everything but the token, and then the token; nil if the request may be carried out.
    package func refusal(of head: RequestHead, isWebSocket: Bool = false) -> Problem? {
        if let problem = self.refusalOfHost(head) { return problem }
        if head.path == ["healthz"] { return nil }
        if self.hasToken(head.headers) { return nil }
        let hasCookie = self.hasCookie(head.headers)
        // A page of another origin may not so much as open a WebSocket; programs show their token in its first message.
        if hasCookie || isWebSocket, let problem = self.refusalOfOrigin(head.headers, isWebSocket: isWebSocket) {
            return problem
        }
        if hasCookie { return nil }
        if let cookie = self.cookie(head.headers), self.sessions.wasBetrayed(cookie) { return Self.betrayed }
        return Problem(
            .unauthorized,
            "unauthorized",
            "This needs a token, or in a browser a link that works once.",
            advice: "Run “peerd open” for a browser; “peerd api” prints the token for programs.",
            headers: ["WWW-Authenticate": "Bearer"]
        )
    }

    private func refusalOfHost(_ head: RequestHead) -> Problem? {
        let hosts = head.headers["Host"]
        guard hosts.count == 1, self.hosts.contains(hosts[0].lowercased()) || self.isOfPage(head.headers) else {
            if self.hasNameOfPages(head.headers) { return Self.startedAnew }
            let host = hosts.first ?? ""
            return Problem(
                .misdirectedRequest,
                "misdirected",
                "The server does not answer to the name “\(host)”.",
                advice: Self.isLoopback(host)
                    ? """
                    If you forward a port to it, forward the same one, since links and cookies are for port \
                    \(self.port): “ssh -L \(self.port):localhost:\(self.port)”. Then run “peerd open --print” there.
                    """ : "Use one of: \(self.hosts.joined(separator: ", "))."
            )
        }
        return nil
    }

    /// Whether a host is this machine, as a browser names it, at whatever port.
    private static func isLoopback(_ host: String) -> Bool {
        ["127.0.0.1", "localhost", "[::1]"].contains { name in
            guard host.lowercased().hasPrefix(name) else { return false }
            let rest = host.dropFirst(name.count)
            return rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil
        }
    }

    /// Whether a request came by the name of pages.
    private func isOfPage(_ headers: HTTPHeaders) -> Bool {
        let hosts = headers["Host"]
        return hosts.count == 1 && ConstantTime.areEqual(Array(hosts[0].lowercased().utf8), Array(self.pageHost.utf8))
    }

    /// Whether a request came by a name that pages have, or had before the daemon was started.
    package func hasNameOfPages(_ headers: HTTPHeaders) -> Bool {
        let hosts = headers["Host"]
        let end = ".localhost:\(self.port)"
        guard hosts.count == 1, hosts[0].lowercased().hasSuffix(end) else { return false }
        return Hexadecimal.bytes(String(hosts[0].dropLast(end.count)))?.count == Self.labelByteCount
    }

    private func refusalOfOrigin(_ headers: HTTPHeaders, isWebSocket: Bool) -> Problem? {
        let isForeign = headers["Origin"].contains { origin in
            origin.lowercased() != self.pageOrigin && !(isWebSocket && self.allowedOrigins.contains(origin))
        }
        let isCrossSite = headers["Sec-Fetch-Site"].contains { site in
            site != "same-origin" && site != "none" && !(isWebSocket && !isForeign && !headers["Origin"].isEmpty)
        }
        guard isForeign || isCrossSite else { return nil }
        return Problem(
            .forbidden,
            "forbidden",
            "A page of another origin may not use this.",
            advice: "Start the daemon with --allow-origin for pages of your own, and let them send the token."
        )
    }

    /// The origin of the server's own pages.
    package var pageOrigin: String { "http://\(self.pageHost)" }

    /// Whether a page of this origin may use the API with the token.
    package func allows(origin: String) -> Bool { self.allowedOrigins.contains(origin) }

    /// Whether a text is the token.
    package func isToken(_ text: String) -> Bool { ConstantTime.areEqual(Array(text.utf8), self.token) }

    private func hasToken(_ headers: HTTPHeaders) -> Bool {
        guard let field = headers.first(name: "Authorization"), field.lowercased().hasPrefix("bearer ") else {
            return false
        }
        return self.isToken(String(field.dropFirst("bearer ".count)))
    }

    /// Whether the cookie of a page is there.
    package func hasCookie(_ headers: HTTPHeaders) -> Bool {
        self.cookie(headers).map { self.sessions.has($0) } ?? false
    }

    /// What a page shows as its cookie; nil if it shows none, or came by another name.
    private func cookie(_ headers: HTTPHeaders) -> [UInt8]? {
        guard self.isOfPage(headers) else { return nil }
        for field in headers["Cookie"] {
            for pair in field.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0] == self.cookieName { return Array(parts[1].utf8) }
            }
        }
        return nil
    }

    // MARK: - Links that work once, and the browsers that they let in

    /// Makes a link that lets one browser in.
    package func makeLink() throws -> String { "\(self.pageOrigin)/open/\(try self.sessions.makeCode())" }

    /// Answers the link; the second time it is of no use, nor by another name.
    package func login(code: String, _ headers: HTTPHeaders) throws -> Response {
        guard self.isOfPage(headers) else { throw Self.badLink }
        let agent = headers.first(name: "User-Agent") ?? ""
        switch try self.sessions.use(code, cookie: self.cookie(headers), agent: agent) {
        case .began(let cookie):
            let field = "\(self.cookieName)=\(String(decoding: cookie, as: UTF8.self))"
            var response = Self.welcome
            response.headers.add(
                name: "Set-Cookie",
                value: "\(field); Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000"
            )
            return response
        case .isIn: return Self.welcome
        case .ended: throw Self.betrayed
        case .unknown: throw Self.badLink
        }
    }

    /// Has a connection end when the browser that opened it is signed out.
    func attach(_ channel: any Channel, _ headers: HTTPHeaders) {
        if let cookie = self.cookie(headers) { self.sessions.attach(channel, to: cookie) }
    }

    /// The browsers that are in; `headers`: those of whoever asks.
    func listSessions(_ headers: HTTPHeaders) -> [SessionAnswer] { self.sessions.list(for: self.cookie(headers)) }

    /// Signs a browser out, or all of them if `id` is nil; returns how many.
    func endSessions(_ id: String?) -> Int { self.sessions.end(id) }

    /// Leads to the dashboard.
    ///
    /// A redirect would count as begun by the page before, a file or a terminal, and so come without a strict cookie.
    private static let welcome = Response(
        .ok,
        Array(
            """
            <!doctype html><meta charset="utf-8"><title>peerd</title><meta http-equiv="refresh" content="0;url=/">
            <p><a href="/">The dashboard</a></p>

            """.utf8
        ),
        type: "text/html; charset=utf-8"
    )

    private static let badLink = Problem(
        .unauthorized,
        "unauthorized",
        "The link was used before, or is older than two minutes.",
        advice: "Run “peerd open” once more."
    )

    private static let betrayed = Problem(
        .unauthorized,
        "unauthorized",
        "The link of this page was used a second time, by another browser or program. So both are signed out.",
        advice: "Run “peerd open” once more; if it was not you, somebody else on this machine had got the link."
    )

    private static let startedAnew = Problem(
        .unauthorized,
        "unauthorized",
        "The daemon was started anew since this page was opened, and another program may have answered meanwhile.",
        advice: "Run “peerd open”: it opens a page with another address. Then close this one."
    )
}
