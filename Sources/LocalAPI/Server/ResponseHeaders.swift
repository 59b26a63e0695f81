internal import FileServing
internal import NIOHTTP1
internal import Synchronization

/// Fields that every answer has.
enum ResponseHeaders {
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:",
        "media-src 'self' blob:", "connect-src 'self'", "font-src 'self'", "form-action 'self'", "base-uri 'none'",
        "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// What keeps pages safe.
    private static let safety: HTTPHeaders = [
        "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    ]

    /// Adds the time, what keeps pages safe, and that nothing of the workspace is to be stored.
    ///
    /// A browser writes what it may store to its disk, where no erasure reaches it.
    static func complete(_ headers: inout HTTPHeaders) {
        headers.add(contentsOf: self.safety)
        headers.add(name: "Date", value: ClockText.now())
        if !headers.contains(name: "Cache-Control") { headers.add(name: "Cache-Control", value: "no-store") }
    }

    /// Adds what lets a page of the user's own origin read the answer.
    static func allow(_ origin: String, in headers: inout HTTPHeaders) {
        headers.add(name: "Access-Control-Allow-Origin", value: origin)
        headers.add(name: "Vary", value: "Origin")
        headers.add(name: "Access-Control-Expose-Headers", value: "ETag, Location, Content-Range, Accept-Ranges")
        headers.replaceOrAdd(name: "Cross-Origin-Resource-Policy", value: "cross-origin")
    }

    /// The answer to a preflight of such a page.
    static let preflight = Response(
        .noContent,
        headers: [
            "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
            "Access-Control-Allow-Headers":
                "Authorization, Content-Type, If-Match, If-None-Match, If-Range, Peerd-Action, Peerd-Program, Range",
            "Access-Control-Max-Age": "600",
        ]
    )
}

/// The present second as HTTP writes it, which is made once a second.
private enum ClockText {
    private static let last = Mutex<(date: HTTPDate, text: String)?>(nil)

    static func now() -> String {
        let date = HTTPDate.present
        return self.last.withLock { last in
            if let last, last.date == date { return last.text }
            let text = date.text
            last = (date, text)
            return text
        }
    }
}
