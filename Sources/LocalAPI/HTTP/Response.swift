package import CRDTCore
internal import FileServing
internal import NIOCore
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
        case segments(Segments)
    }

    /// Parts of files and bytes in memory, in order.
    package struct Segments: Sendable {
        let parts: [Segment]

        var byteCount: UInt64 { self.parts.reduce(0) { $0 + $1.byteCount } }
    }

    /// A part of a body.
    enum Segment: Sendable {
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
    package var headers = HTTPHeaders()
    package var body: Body

    package init(_ status: HTTPResponseStatus, body: Body = .none) {
        self.status = status
        self.body = body
    }

    package init(_ status: HTTPResponseStatus = .ok, json: JSON) {
        var bytes: [UInt8] = []
        json.append(to: &bytes)
        self.init(status, json: bytes)
    }

    /// `bytes`: JSON.
    package init(_ status: HTTPResponseStatus = .ok, json bytes: [UInt8]) {
        self.init(status, bytes, type: "application/json")
    }

    package init(_ status: HTTPResponseStatus = .ok, _ bytes: [UInt8], type: String) {
        self.init(status, body: .bytes(bytes))
        self.headers.add(name: "Content-Type", value: type)
    }

    package static let noContent = Response(.noContent)
}

/// Takes the pieces of a body.
package protocol BodyWriter: Sendable {
    /// Returns once there is room for the next piece.
    func write(_ bytes: [UInt8]) async throws
}
