internal import NIOCore
internal import NIOHTTP1

/// Writes an answer to a connection, in pieces, each as soon as the client has taken those before.
struct ResponseWriter: Sendable {
    private let channel: any Channel
    private let request: HTTPRequestHead
    /// Whether the client may take its time: someone may read what a command prints.
    private let isPatient: Bool

    var eventLoop: any EventLoop { self.channel.eventLoop }

    /// How long the client may take for a piece; nil for any time.
    private var patience: TimeAmount? { self.isPatient ? nil : .seconds(APILimits.stallSeconds) }

    init(_ channel: any Channel, _ request: HTTPRequestHead, isPatient: Bool) {
        self.isPatient = isPatient
        self.channel = channel
        self.request = request
    }

    /// The head of an answer with all fields; `request`: nil if it was not understood.
    static func head(_ response: Response, to request: HTTPRequestHead?, closes: Bool) -> HTTPResponseHead {
        let version = request?.version ?? .http1_1
        var headers = response.headers
        ResponseHeaders.complete(&headers)
        if response.status.mayHaveResponseBody, !headers.contains(name: "Content-Length") {
            if let byteCount = response.body.byteCount {
                headers.add(name: "Content-Length", value: String(byteCount))
            } else if version == .http1_1, request?.method != .HEAD {
                headers.add(name: "Transfer-Encoding", value: "chunked")
            }
        }
        if closes { headers.replaceOrAdd(name: "Connection", value: "close") }
        return HTTPResponseHead(version: version, status: response.status, headers: headers)
    }

    /// Writes an answer that is made piece by piece, or needs no body, up to its end, which is left to the caller.
    ///
    /// If it throws, the connection has to end.
    func write(_ response: Response, closes: Bool) async throws {
        self.writeHead(of: response, closes: closes)
        guard self.request.method != .HEAD, response.status.mayHaveResponseBody,
            case .stream(let write) = response.body
        else { return }
        try await write(self)
    }

    private func writeHead(of response: Response, closes: Bool) {
        let head = Self.head(response, to: self.request, closes: closes)
        self.channel.write(HTTPServerResponsePart.head(head), promise: nil)
    }

    /// Writes an answer of which parts are in files, up to its end.
    ///
    /// Call it on the event loop.
    func write(_ segments: [Response.Segment], of response: Response, closes: Bool) -> EventLoopFuture<Void> {
        self.writeHead(of: response, closes: closes)
        return SegmentSender(self.channel, segments, patience: self.patience).send()
    }
}

extension ResponseWriter: BodyWriter {
    /// Sends a piece; closes the connection if the client does not take it in time.
    func write(_ bytes: [UInt8]) async throws {
        let channel = self.channel
        let alarm = self.patience.map { channel.eventLoop.scheduleTask(in: $0) { channel.close(promise: nil) } }
        defer { alarm?.cancel() }
        try Task.checkCancellation()
        try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes)))).get()
    }
}
