internal import CRDTCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Sends requests to the daemon of a data directory, over its Unix socket.
package struct APIClient: APICaller {
    private let path: String
    private let silenceMax: TimeAmount

    private static let connectPatience = Duration.seconds(5)
    /// Long work shows life more often.
    package static let silenceSecondsMax: Int64 = 60

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// Sends requests to whoever listens at the path of a socket.
    ///
    /// `silenceMax`: how long to wait for a sign of life.
    init(path: String, silenceMax: TimeAmount) {
        self.path = path
        self.silenceMax = silenceMax
    }

    /// Sends requests to whoever listens at the path of a socket.
    ///
    /// `silenceSeconds`: how long to wait for a sign of life at most.
    package init(path: String, silenceSeconds: Int64 = APIClient.silenceSecondsMax) {
        self.init(path: path, silenceMax: .seconds(min(max(1, silenceSeconds), Self.silenceSecondsMax)))
    }

    /// Whether someone listens.
    ///
    /// - Throws: ``SocketFailure`` if there is someone who cannot be reached.
    package func isListenedTo() async throws -> Bool {
        do {
            close(try await LocalSocketAddress.connect(self.path, patience: Self.connectPatience))
            return true
        } catch let failure as SocketFailure where failure.isAbsence {
            return false
        }
    }

    /// Whether someone listens, and answers.
    ///
    /// - Throws: ``APIConnectionError`` if there is someone who does not answer in time.
    package func isAnswered() async throws -> Bool {
        guard try await self.isListenedTo() else { return false }
        do {
            _ = try await self.answer(APIRequest(.get, "healthz"), as: HealthAnswer.self)
            return true
        } catch APIConnectionError.endedEarly {
            // It is ending.
            return false
        } catch is Problem {
            return true
        } catch let failure as SocketFailure where failure.isAbsence {
            return false
        }
    }

    /// Sends a request on a connection of its own.
    package func exchange<Result>(
        _ request: APIRequest,
        _ read: (APIAnswer) async throws -> Result
    ) async throws -> Result {
        let alarm = SilenceAlarm.Record()
        let connection = try await self.connect(alarm)
        return try await connection.executeThenClose { inbound, outbound in
            var failure: APIConnectionError?
            do {
                try await Self.send(request, to: outbound, alarm)
            } catch let error as APIConnectionError {
                // Whoever hangs up before the end of the request may have said why.
                failure = error
            }
            var parts = inbound.makeAsyncIterator()
            guard let head = try await Self.translating(alarm, { try await Self.head(&parts) }) else {
                throw alarm.error ?? failure ?? .endedEarly
            }
            let body = AnswerBody {
                try await Self.translating(alarm) {
                    switch try await parts.next(isolation: #isolation) {
                    case .body(let buffer): return Array(buffer.readableBytesView)
                    case .end: return nil
                    case .head, nil: throw APIConnectionError.endedEarly
                    }
                }
            }
            return try await read(APIAnswer(status: head.status, headers: head.headers, body: body))
        }
    }

    private func connect(_ alarm: SilenceAlarm.Record) async throws -> Connection {
        let descriptor = try await LocalSocketAddress.connect(self.path, patience: Self.connectPatience)
        let silenceMax = self.silenceMax
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .withConnectedSocket(descriptor) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SilenceAlarm(silenceMax, alarm))
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private static func send(
        _ request: APIRequest,
        to outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
        _ alarm: SilenceAlarm.Record
    ) async throws {
        var headers = request.headers
        headers.add(name: "Host", value: "localhost")
        headers.add(name: "Connection", value: "close")
        var bytes: [UInt8] = []
        switch request.body {
        case .none: headers.add(name: "Content-Length", value: "0")
        case .json(let json):
            json.append(to: &bytes)
            headers.add(name: "Content-Length", value: String(bytes.count))
        case .pieces: headers.add(name: "Transfer-Encoding", value: "chunked")
        }
        let method = HTTPMethod(rawValue: request.method.rawValue)
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: request.target, headers: headers)
        guard case .pieces(let next) = request.body else {
            let parts: [HTTPClientRequestPart] = [
                .head(head), .body(.byteBuffer(ByteBuffer(bytes: bytes))), .end(nil),
            ]
            return try await self.translating(alarm) { try await outbound.write(contentsOf: parts) }
        }
        try await self.translating(alarm) { try await outbound.write(.head(head)) }
        while let piece = try await next() {
            try await self.translating(alarm) { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece)))) }
        }
        try await self.translating(alarm) { try await outbound.write(.end(nil)) }
    }

    /// The head of the answer, behind those that only tell to go on.
    private static func head(
        _ parts: inout NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    ) async throws -> HTTPResponseHead? {
        while let part = try await parts.next(isolation: #isolation) {
            if case .head(let head) = part, head.status.code >= 200 { return head }
        }
        return nil
    }

    /// Does something with the connection, and says what its failure means.
    private static func translating<Result>(
        _ alarm: SilenceAlarm.Record,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch {
            if let error = alarm.error { throw error }
            switch error {
            case is CancellationError, is APIConnectionError: throw error
            case let error as HTTPParserError where error != .invalidEOFState: throw APIConnectionError.notUnderstood
            default: throw APIConnectionError.endedEarly
            }
        }
    }
}
