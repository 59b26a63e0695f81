import LocalAPI
import NIOHTTP1
import Testing

/// Who may use loopback, where every program and page of the machine can connect.
@Suite struct AccessTests {
    private static let token = String(repeating: "5a", count: 32)
    private let access: Access

    init() throws {
        self.access = try Access(token: Self.token, port: 8080, allowedOrigins: ["https://notes.example"])
    }

    /// The code of a new link.
    private static func code(_ access: Access) throws -> String {
        String(try #require(try access.makeLink().split(separator: "/").last))
    }

    /// The name by which browsers call.
    private var page: HTTPHeaders { ["Host": self.access.pageHost] }

    private func head(_ path: String = "/api/status", _ headers: HTTPHeaders) throws -> RequestHead {
        try RequestHead(method: .GET, target: path, headers: headers, entryPoint: .loopback)
    }

    private func refusal(_ headers: HTTPHeaders, isWebSocket: Bool = false) throws -> String? {
        self.access.refusal(of: try self.head("/api/status", headers), isWebSocket: isWebSocket)?.code
    }

    /// The cookie of a browser that used a link.
    private func cookie() throws -> String {
        let response = try self.access.login(code: try Self.code(self.access), self.page)
        let field = try #require(response.headers.first(name: "Set-Cookie"))
        return String(field.prefix { $0 != ";" })
    }

    @Test(arguments: ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LOCALHOST:8080"])
    func `names of this machine are answered to`(host: String) throws {
        #expect(try self.refusal(["Host": host, "Authorization": "Bearer \(Self.token)"]) == nil)
    }

    @Test(arguments: [
        "evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:8081", "localhost.evil.example:8080",
        "127.0.0.1.nip.io:8080", "0.0.0.0:8080", "[::ffff:127.0.0.1]:8080", "127.1:8080", "localhost:8080 ", "",
    ])
    func `names that were made to lead here are not answered to`(host: String) throws {
        #expect(try self.refusal(["Host": host, "Authorization": "Bearer \(Self.token)"]) == "misdirected")
    }

    @Test func `without token and cookie only the health shows`() throws {
        let headers: HTTPHeaders = ["Host": "127.0.0.1:8080"]
        #expect(try self.refusal(headers) == "unauthorized")
        #expect(self.access.refusal(of: try self.head("/healthz", headers)) == nil)
        for path in ["/healthz/", "//healthz", "/api/../healthz", "/", "/api/openapi.json"] {
            #expect(self.access.refusal(of: try self.head(path, headers))?.code == "unauthorized", "\(path)")
        }
    }

    @Test(arguments: ["Bearer ", "Bearer 5a", "Basic \(Self.token)", "Bearer \(Self.token)0", Self.token])
    func `what is not the token lets nobody in`(field: String) throws {
        #expect(try self.refusal(["Host": "127.0.0.1:8080", "Authorization": field]) == "unauthorized")
    }

    @Test func `a link lets one browser in, once`() throws {
        let code = try Self.code(self.access)
        let response = try self.access.login(code: code, self.page)
        let field = try #require(response.headers.first(name: "Set-Cookie"))
        #expect(field.contains("HttpOnly") && field.contains("SameSite=Strict") && !field.contains(Self.token))
        let headers: HTTPHeaders = ["Host": self.access.pageHost, "Cookie": "other=1; \(field.prefix { $0 != ";" })"]
        #expect(try self.refusal(headers) == nil)
        // The same browser may come back to it, and use another one; it is one session still.
        #expect(try self.access.login(code: code, headers).headers["Set-Cookie"].isEmpty)
        #expect(try self.access.login(code: try Self.code(self.access), headers).headers["Set-Cookie"].isEmpty)
        #expect(throws: Problem.self) { try self.access.login(code: "", self.page) }
        #expect(try self.refusal(headers) == nil)
        // Another one: nobody knows which of the two was meant.
        #expect(throws: Problem.self) { try self.access.login(code: code, self.page) }
        let problem = try #require(self.access.refusal(of: try self.head("/api/status", headers)))
        #expect(problem.code == "unauthorized" && problem.detail.contains("a second time"))
        #expect(throws: Problem.self) { try self.access.login(code: code, self.page) }
    }

    @Test func `a new start lets no browser of the former one in, and knows its name`() throws {
        let later = try Access(token: Self.token, port: 8080, allowedOrigins: [])
        let cookie = try self.cookie()
        #expect(later.pageHost != self.access.pageHost)
        for host in [later.pageHost, self.access.pageHost] {
            let head = try self.head("/api/status", ["Host": host, "Cookie": cookie])
            #expect(later.refusal(of: head)?.code == "unauthorized")
        }
        // By a name that another program may have answered to, nothing is shown, whoever asks.
        for path in ["/", "/healthz", "/api/status"] {
            let headers: HTTPHeaders = ["Host": self.access.pageHost, "Authorization": "Bearer \(Self.token)"]
            let problem = later.refusal(of: try self.head(path, headers))
            #expect(problem?.detail.contains("started anew") == true)
        }
    }

    @Test(arguments: ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])
    func `the cookie is for the name of pages alone, which nobody is told`(host: String) throws {
        #expect(try self.refusal(["Host": host, "Cookie": try self.cookie()]) == "unauthorized")
        let code = try Self.code(self.access)
        #expect(throws: Problem.self) { try self.access.login(code: code, ["Host": host]) }
        // By the wrong name, the link was not used.
        #expect(try self.access.login(code: code, self.page).status == .ok)
        let strange = self.access.refusal(of: try self.head("/", ["Host": "evil.example:8080"]))
        #expect(strange?.advice?.contains(self.access.pageHost) == false)
        let other = try Access(token: String(repeating: "a5", count: 32), port: 8080, allowedOrigins: [])
        #expect(other.pageHost != self.access.pageHost && other.pageHost.hasSuffix(".localhost:8080"))
    }

    @Test func `the cookie of another port is of no use`() throws {
        let other = try Access(token: Self.token, port: 8081, allowedOrigins: [])
        let login = try other.login(code: try Self.code(other), ["Host": other.pageHost])
        let field = login.headers.first(name: "Set-Cookie")
        let cookie = String(try #require(field).prefix { $0 != ";" }).replacing("peerd-8081", with: "peerd-8080")
        #expect(try self.refusal(["Host": self.access.pageHost, "Cookie": cookie]) == "unauthorized")
        let renamed = try self.cookie().replacing("peerd-8080", with: "peerd-8081")
        #expect(try self.refusal(["Host": self.access.pageHost, "Cookie": renamed]) == "unauthorized")
    }

    @Test(arguments: [
        ("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", "http://127.0.0.1:9000"),
        ("Origin", "https://127.0.0.1:8080"), ("Origin", "https://notes.example"), ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ])
    func `pages of other origins cannot use the cookie`(name: String, value: String) throws {
        var headers: HTTPHeaders = ["Host": self.access.pageHost, "Cookie": try self.cookie()]
        #expect(try self.refusal(headers) == nil)
        headers.add(name: name, value: value)
        #expect(try self.refusal(headers) == "forbidden")
    }

    @Test func `pages of other origins cannot open a WebSocket, whatever they bring`() throws {
        let headers: HTTPHeaders = ["Host": "127.0.0.1:8080", "Origin": "http://evil.example"]
        #expect(try self.refusal(headers, isWebSocket: true) == "forbidden")
        let own: HTTPHeaders = ["Host": self.access.pageHost, "Origin": self.access.pageOrigin]
        #expect(try self.refusal(own, isWebSocket: true) == "unauthorized")
        let allowed: HTTPHeaders = ["Host": "127.0.0.1:8080", "Origin": "https://notes.example"]
        #expect(try self.refusal(allowed, isWebSocket: true) == "unauthorized")
    }
}
