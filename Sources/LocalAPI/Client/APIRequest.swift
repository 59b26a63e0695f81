package import CRDTCore
internal import NIOHTTP1

/// A request as a program writes it.
package struct APIRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package enum Body: Sendable {
        case none
        case json(JSON)
        /// JSON in pieces, each read when the one before is on its way; nil ends it.
        case pieces(@Sendable () async throws -> [UInt8]?)
    }

    package var method: Method
    /// The components of the path.
    package var path: [String]
    package var query: [(name: String, value: String)] = []
    package var body = Body.none
    /// Whether the answer is wanted as lines of JSON, with the progress of long work before the last one.
    package var wantsLines = false
    /// Whether a write is to be answered with its receipt alone.
    package var wantsReceipt = false
    /// The name of the program that asks; nil for one without a name.
    package var program: String?

    /// What is nil in `query` and `body` is left out; `path`: the components, whose characters may be any.
    package init(
        _ method: Method,
        _ path: String...,
        query: [(name: String, value: String?)] = [],
        body: [ExactText: JSON?]? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query.compactMap { name, value in value.map { (name, $0) } }
        if let body { self.body = .json(.object(body.compactMapValues { $0 })) }
    }

    /// The path and the query, encoded.
    var target: String {
        let path = self.path.map { "/" + PercentCoding.encoded($0) }.joined()
        if self.query.isEmpty { return path }
        let parameters = self.query.map { "\(PercentCoding.encoded($0.name))=\(PercentCoding.encoded($0.value))" }
        return "\(path)?\(parameters.joined(separator: "&"))"
    }

    /// The fields of the header, without those of the connection.
    var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        if self.wantsLines { headers.add(name: "Accept", value: LineStream.mediaType) }
        if let program = self.program {
            headers.add(name: "Peerd-Program", value: PercentCoding.encoded(program))
        }
        if self.wantsReceipt { headers.add(name: "Prefer", value: "return=minimal") }
        if case .none = self.body {} else { headers.add(name: "Content-Type", value: "application/json") }
        return headers
    }
}

extension PercentCoding {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    /// The text with each byte escaped that is not an unreserved character.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            self.unreserved.contains(byte)
                ? String(UnicodeScalar(byte)) : "%\(Hexadecimal.text([byte]).uppercased())"
        }.joined()
    }
}
