internal import CRDTCore
package import FileServing
package import NIOCore
package import NIOHTTP1

/// The answer to a request.
package struct Response: Sendable {
    /// What the answer carries.
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Written piece by piece; each piece waits until the client has taken enough of the ones before.
        case stream(@Sendable (any BodyWriter) async throws -> Void)
        /// Parts of files and bytes between them; the number of bytes is the sum of all.
        case segments([Segment])

        /// Nil if it is not known before the end.
        var byteCount: UInt64? {
            switch self {
            case .none: 0
            case .bytes(let bytes): UInt64(bytes.count)
            case .segments(let segments): segments.reduce(0) { $0 + $1.byteCount }
            case .stream: nil
            }
        }
    }

    /// A part of a body: bytes in memory, or a part of a file.
    package enum Segment: Sendable {
        case bytes(ByteBuffer)
        case file(OpenFile, Range<UInt64>)

        var byteCount: UInt64 {
            switch self {
            case .bytes(let bytes): UInt64(bytes.readableBytes)
            case .file(_, let range): UInt64(range.count)
            }
        }
    }

    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: Body

    package init(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: Body = .none) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    package init(_ answer: some Encodable) { self.init(.ok, answer) }

    package init(_ status: HTTPResponseStatus, _ answer: some Encodable) {
        self.init(status, json: JSON(answer).bytes)
    }

    /// `bytes`: JSON.
    package init(_ status: HTTPResponseStatus = .ok, json bytes: [UInt8]) {
        self.init(status, bytes, type: "application/json")
    }

    package init(_ status: HTTPResponseStatus = .ok, _ bytes: [UInt8], type: String) {
        self.init(status, headers: ["Content-Type": type], body: .bytes(bytes))
    }

    package static let noContent = Response(.noContent)

    /// The answer to a client that may have this version already: with its tag, and without a body if so.
    func tagged(_ tag: EntityTag, for head: RequestHead) -> Response {
        let isKnown = EntityTag.none(of: head.headers["If-None-Match"], match: tag)
        var response = isKnown ? Response(.notModified) : self
        response.headers.add(name: "ETag", value: tag.text)
        return response
    }
}

/// What a route makes of a request.
package protocol RouteResult: Sendable {
    /// The types that its JSON can have; none if it is no JSON, or has no form of its own.
    static var answers: [any Answer.Type] { get }

    func response(to request: Request) async throws -> Response
}

extension Response: RouteResult {
    package static var answers: [any Answer.Type] { [] }

    package func response(to request: Request) -> Response { self }
}

extension Answer {
    package static var answers: [any Answer.Type] { [Self.self] }

    package func response(to request: Request) -> Response { Response(self) }
}

/// A response whose JSON, if it is no stream of lines, has one of some forms.
struct Shaped<each Form: Answer>: RouteResult {
    static var answers: [any Answer.Type] {
        var answers: [any Answer.Type] = []
        repeat answers.append((each Form).self)
        return answers
    }

    let response: Response

    init(_ response: Response) { self.response = response }

    func response(to request: Request) -> Response { self.response }
}

/// What a request has made.
struct Created<Content: Answer>: RouteResult {
    static var answers: [any Answer.Type] { [Content.self] }
    let content: Content
    let location: String?

    init(_ content: Content, at location: String? = nil) { (self.content, self.location) = (content, location) }

    func response(to request: Request) -> Response {
        var response = Response(.created, self.content)
        if let location { response.headers.add(name: "Location", value: location) }
        return response
    }
}

/// Takes the pieces of a body.
package protocol BodyWriter: Sendable {
    /// Returns once there is room for the next piece.
    func write(_ bytes: [UInt8]) async throws
}
