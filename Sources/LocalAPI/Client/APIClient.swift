internal import CRDTCore
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// Sends requests to the daemon of a data directory, over its Unix socket.
///
/// Nothing of a body is sent, not even its end, before the daemon has said that it is ready for it, and the daemon
/// begins with what comes then. So what was given up because a daemon hung is not done once it goes on.
package struct APIClient: APICaller {
    private let path: String
    private let idleTimeout: (first: TimeAmount, then: TimeAmount)
    /// The connection that has shown that someone listens.
    private let reached: ReachedSocket?

    private static let connectPatience = Duration.seconds(5)
    /// Long work shows life more often.
    private static let idleTimeoutSecondsMax: Int64 = 60
    /// How long a daemon that lives needs at most to say that a request is there.
    private static let signSecondsMax: Int64 = 10

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
    private typealias Parts = NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator

    /// Sends requests to whoever listens at the path of a socket.
    ///
    /// `idleTimeout`: how long to wait for a sign of life.
    init(path: String, idleTimeout: TimeAmount = .seconds(APIClient.signSecondsMax)) {
        self.init(path: path, (idleTimeout, idleTimeout), nil)
    }

    private init(path: String, _ idleTimeout: (first: TimeAmount, then: TimeAmount), _ reached: ReachedSocket?) {
        (self.path, self.idleTimeout, self.reached) = (path, idleTimeout, reached)
    }

    /// Reaches whoever listens at the path of a socket, by the connection that the first request is sent on; nil if
    /// nobody listens.
    ///
    /// `patienceSeconds`: how long whoever calls is ready to wait; nil for as long as the work takes.
    /// - Throws: ``SocketFailure`` if there is someone who cannot be reached.
    package static func reach(path: String, patienceSeconds: Int64? = nil) async throws -> APIClient? {
        do {
            let reached = ReachedSocket(try await LocalSocketAddress.connect(path, patience: self.connectPatience))
            let first = min(max(1, patienceSeconds ?? self.signSecondsMax), self.signSecondsMax)
            // The answer to a request with a time limit comes a little later than that.
            let then = min(
                patienceSeconds ?? self.idleTimeoutSecondsMax,
                self.idleTimeoutSecondsMax - self.signSecondsMax
            )
            let idleTimeout = (TimeAmount.seconds(first), TimeAmount.seconds(then + self.signSecondsMax))
            return APIClient(path: path, idleTimeout, reached)
        } catch let failure as SocketFailure where failure.isAbsence {
            return nil
        }
    }

    /// A connected socket until a request takes it.
    private final class ReachedSocket: Sendable {
        private let descriptor: Mutex<Int32?>

        init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        deinit { self.take().map { _ = close($0) } }

        func take() -> Int32? { self.descriptor.withLock { $0.take() } }
    }

    /// Sends a request on a connection of its own.
    ///
    /// - Throws: ``APIConnectionError`` with `notTaken` if whoever was reached has ended before it took the first
    ///   request.
    package func exchange(_ request: APIRequest, _ read: (APIAnswer) async throws -> Void) async throws {
        guard let descriptor = self.reached?.take() else {
            let descriptor = try await LocalSocketAddress.connect(self.path, patience: Self.connectPatience)
            return try await self.exchange(request, on: descriptor, ifNotTaken: .endedEarly, read)
        }
        return try await self.exchange(request, on: descriptor, ifNotTaken: .notTaken, read)
    }

    private func exchange(
        _ request: APIRequest,
        on descriptor: Int32,
        ifNotTaken error: APIConnectionError,
        _ read: (APIAnswer) async throws -> Void
    ) async throws {
        let alarm = IdleTimeout.Record(nil)
        let connection = try await self.connection(on: descriptor, alarm)
        return try await connection.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            var head: HTTPResponseHead
            do {
                try await Self.translating(alarm) { try await outbound.write(.head(Self.head(of: request))) }
                head = try await Self.head(&parts, alarm)
            } catch APIConnectionError.endedEarly {
                throw error
            }
            if head.status == .continue {
                // Whoever hangs up before the end of the body may have said why.
                do { try await Self.sendBody(of: request, to: outbound, alarm) } catch is APIConnectionError {}
                head = try await Self.head(&parts, alarm)
            }
            let answer = APIAnswer(status: head.status) {
                try await Self.translating(alarm) {
                    switch try await parts.next(isolation: #isolation) {
                    case .body(let buffer): return Array(buffer.readableBytesView)
                    case .end: return nil
                    case .head, nil: throw APIConnectionError.endedEarly
                    }
                }
            }
            return try await read(answer)
        }
    }

    private func connection(on descriptor: Int32, _ alarm: IdleTimeout.Record) async throws -> Connection {
        let idleTimeout = self.idleTimeout
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .withConnectedSocket(descriptor) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleTimeout(idleTimeout, alarm))
                    // Left to itself, the encoder takes it that a request to read has no body.
                    var framing = HTTPRequestEncoder.Configuration()
                    framing.automaticallySetFramingHeaders = false
                    try pipeline.addHandler(HTTPRequestEncoder(configuration: framing))
                    let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward)
                    try pipeline.addHandler(ByteToMessageHandler(decoder))
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    /// The head of a request, whose body can be withheld, even if it is empty.
    private static func head(of request: APIRequest) -> HTTPRequestHead {
        var headers = request.headers
        headers.add(name: "Host", value: "localhost")
        headers.add(name: "Connection", value: "close")
        headers.add(name: "Expect", value: "100-continue")
        headers.add(name: "Transfer-Encoding", value: "chunked")
        let method = HTTPMethod(rawValue: request.method.rawValue)
        return HTTPRequestHead(version: .http1_1, method: method, uri: request.target, headers: headers)
    }

    private static func sendBody(
        of request: APIRequest,
        to outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
        _ alarm: IdleTimeout.Record
    ) async throws {
        func send(_ piece: [UInt8]) async throws {
            try await self.translating(alarm) { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece)))) }
        }
        switch request.body {
        case .none: break
        case .json(let json): try await send(json.bytes)
        case .pieces(let next): while let piece = try await next() { try await send(piece) }
        }
        try await self.translating(alarm) { try await outbound.write(.end(nil)) }
    }

    /// The next head of an answer: that of another answer to come, or of the answer itself.
    private static func head(_ parts: inout Parts, _ alarm: IdleTimeout.Record) async throws -> HTTPResponseHead {
        try await self.translating(alarm) {
            guard case .head(let head) = try await parts.next(isolation: #isolation) else {
                throw APIConnectionError.endedEarly
            }
            return head
        }
    }

    /// Does something with the connection, and says what its failure means.
    private static func translating<Result>(
        _ alarm: IdleTimeout.Record,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch {
            if let error = alarm.withLockedValue({ $0 }) { throw error }
            switch error {
            case is CancellationError, is APIConnectionError: throw error
            case let error as HTTPParserError where error != .invalidEOFState: throw APIConnectionError.notUnderstood
            default: throw APIConnectionError.endedEarly
            }
        }
    }
}
