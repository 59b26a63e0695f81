internal import NIOHTTP1

/// Fields that every answer has.
enum ResponseHeaders {
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:",
        "media-src 'self' blob:", "connect-src 'self'", "font-src 'self'", "form-action 'self'", "base-uri 'none'",
        "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// Adds what keeps pages safe, and says that answers of the API are not to be stored.
    static func complete(_ headers: inout HTTPHeaders) {
        headers.add(name: "Content-Security-Policy", value: self.policy)
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Referrer-Policy", value: "no-referrer")
        headers.add(name: "Cross-Origin-Resource-Policy", value: "same-origin")
        headers.add(name: "Cross-Origin-Opener-Policy", value: "same-origin")
        if !headers.contains(name: "Cache-Control") { headers.add(name: "Cache-Control", value: "no-cache") }
    }

    /// Adds what lets a page of the user's own origin read the answer.
    static func allow(_ origin: String, in headers: inout HTTPHeaders) {
        headers.add(name: "Access-Control-Allow-Origin", value: origin)
        headers.add(name: "Vary", value: "Origin")
        headers.add(name: "Access-Control-Expose-Headers", value: "ETag, Location, Content-Range")
        headers.replaceOrAdd(name: "Cross-Origin-Resource-Policy", value: "cross-origin")
    }

    /// The answer to a preflight of such a page.
    static var preflight: Response {
        var response = Response(.noContent)
        let methods = "GET, HEAD, POST, PUT, PATCH, DELETE"
        response.headers.add(name: "Access-Control-Allow-Methods", value: methods)
        response.headers.add(
            name: "Access-Control-Allow-Headers",
            value: "Authorization, Content-Type, If-Match, If-None-Match, Range"
        )
        response.headers.add(name: "Access-Control-Max-Age", value: "600")
        return response
    }
}
