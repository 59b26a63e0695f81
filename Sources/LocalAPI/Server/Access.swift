internal import CRDTCore
internal import NIOConcurrencyHelpers
package import NIOHTTP1
internal import PeerCrypto

/// Who may use the local API over loopback, where every program and every page of the machine can connect.
///
/// A program shows the token, and a page a cookie that it got by a link that works once. The checks of `Host` stop
/// pages whose name was made to lead to this machine (DNS rebinding, CVE-2018-5702), those of `Origin` and
/// `Sec-Fetch-Site` pages of other origins that bring the cookie (CVE-2022-41924, CVE-2024-28179).
///
/// A browser sends a cookie to every port of its host, whoever listens there. So pages have a host name of their own
/// below `localhost`, which nobody else knows; the cookie is for that name alone.
package struct Access: Sendable {
    private let token: [UInt8]
    private let cookie: [UInt8]
    private let cookieName: String
    /// The names by which programs call the server.
    private let hosts: [String]
    /// The name by which browsers do.
    package let pageHost: String
    /// Origins of the user's own pages, which may use the API with the token.
    private let allowedOrigins: Set<String>
    /// When the codes of links end.
    private let deadlines = NIOLockedValueBox<[String: ContinuousClock.Instant]>([:])

    private static let loginPatience = Duration.seconds(120)
    private static let loginCountMax = 64

    package init(token: String, port: UInt16, allowedOrigins: [String]) {
        let text = Array(token.utf8)
        self.token = text
        self.cookieName = "peerd-\(port)"
        // The cookie is not the token: what reads the one cannot use the other.
        let digest = Array("peerd cookie ".utf8 + text).withUnsafeBytes { Blake2b.unpersonalised256($0) }
        self.cookie = [digest.0, digest.1, digest.2, digest.3].flatMap { Hexadecimal.text($0).utf8 }
        self.hosts = ["127.0.0.1:\(port)", "localhost:\(port)", "[::1]:\(port)"]
        let name = Array("peerd host ".utf8 + text).withUnsafeBytes { Blake2b.unpersonalised256($0) }
        self.pageHost = "\(Hexadecimal.text(name.0)).localhost:\(port)"
        self.allowedOrigins = Set(allowedOrigins)
    }

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
            return Problem(
                .misdirectedRequest,
                "misdirected",
                "The server does not answer to the name “\(hosts.first ?? "")”.",
                advice: "Use one of: \(self.hosts.joined(separator: ", "))."
            )
        }
        return nil
    }

    /// Whether a request came by the name of pages.
    private func isOfPage(_ headers: HTTPHeaders) -> Bool {
        let hosts = headers["Host"]
        return hosts.count == 1 && ConstantTime.areEqual(Array(hosts[0].lowercased().utf8), Array(self.pageHost.utf8))
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
        self.isOfPage(headers)
            && headers["Cookie"].contains { field in
                field.split(separator: ";").contains { pair in
                    let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                    return parts.count == 2 && parts[0] == self.cookieName
                        && ConstantTime.areEqual(Array(parts[1].utf8), self.cookie)
                }
            }
    }

    // MARK: - Links that work once

    /// The field that gives a browser its cookie.
    private var cookieField: String {
        "\(self.cookieName)=\(String(decoding: self.cookie, as: UTF8.self)); Path=/; HttpOnly; SameSite=Strict; "
            + "Max-Age=31536000"
    }

    /// Makes the code of a link that lets one browser in.
    package func makeLoginCode() -> String {
        var entropy = EntropyStream(seed: SystemEntropy.seed())
        let code = Hexadecimal.text(entropy?.bytes(16) ?? [])
        guard !code.isEmpty else { return code }
        self.deadlines.withLockedValue { deadlines in
            let now = ContinuousClock.now
            deadlines = deadlines.filter { $0.value > now }
            if deadlines.count >= Self.loginCountMax, let oldest = deadlines.min(by: { $0.value < $1.value }) {
                deadlines[oldest.key] = nil
            }
            deadlines[code] = now + Self.loginPatience
        }
        return code
    }

    /// Answers the link; the second time it is of no use, nor by another name.
    package func login(code: String, _ headers: HTTPHeaders) throws(Problem) -> Response {
        guard self.isOfPage(headers) else { throw Self.badLink }
        let deadline = self.deadlines.withLockedValue { $0.removeValue(forKey: code) }
        guard let deadline, deadline > .now else { throw Self.badLink }
        return Response(.seeOther, headers: ["Location": "/", "Set-Cookie": self.cookieField])
    }

    private static let badLink = Problem(
        .unauthorized,
        "unauthorized",
        "The link was used before, or is older than two minutes.",
        advice: "Run “peerd open” once more."
    )
}
