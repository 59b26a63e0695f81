package import CRDTCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Sends requests to the daemon of a data directory, over its Unix socket.
package struct APIClient: Sendable {
    private let path: String

    private static let bodyByteCountMax = 64 << 20

    /// `path`: that of the socket.
    package init(path: String) { self.path = path }

    /// Sends a request on a connection of its own, and returns the status and the JSON of the answer.
    ///
    /// - Throws: ``Problem`` if the answer is one; an error of the connection if nobody listens.
    package func send(_ method: String, _ target: String, body: JSON? = nil) async throws -> JSON {
        let (status, bytes) = try await self.exchange(method, target, body.map { Array($0.canonicalText.utf8) })
        let json = JSON(parsing: bytes) ?? .null
        guard (200..<300).contains(status.code) else {
            guard case .object(let members) = json else {
                throw Problem(status, "failed", "The daemon answered \(status).")
            }
            let (code, detail) = (members["code"]?.text ?? "failed", members["detail"]?.text ?? "\(status)")
            throw Problem(status, code, detail, advice: members["advice"]?.text)
        }
        return json
    }

    private func exchange(
        _ method: String,
        _ target: String,
        _ body: [UInt8]?
    ) async throws -> (HTTPResponseStatus, [UInt8]) {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: self.path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var headers: HTTPHeaders = ["Host": "localhost", "Connection": "close"]
            headers.add(name: "Content-Length", value: String(body?.count ?? 0))
            if body != nil { headers.add(name: "Content-Type", value: "application/json") }
            let head = HTTPRequestHead(
                version: .http1_1,
                method: HTTPMethod(rawValue: method),
                uri: target,
                headers: headers
            )
            try await outbound.write(.head(head))
            if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
            try await outbound.write(.end(nil))
            var status = HTTPResponseStatus.internalServerError
            var bytes: [UInt8] = []
            for try await part in inbound {
                switch part {
                case .head(let head): status = head.status
                case .body(let buffer):
                    guard bytes.count + buffer.readableBytes <= Self.bodyByteCountMax else { throw IOFailure.tooLong }
                    bytes += buffer.readableBytesView
                case .end: return (status, bytes)
                }
            }
            throw IOFailure.endedEarly
        }
    }

    private enum IOFailure: Error {
        case tooLong
        case endedEarly
    }
}
