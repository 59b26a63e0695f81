internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// One connection: reads requests, has them answered one after the other, and writes the answers.
///
/// Everything in it happens on the connection's event loop.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: APIService
    private let entryPoint: EntryPoint
    private let connections: ConnectionBook
    private var phase = Phase.waiting
    private var body: BodyPieces?
    /// The request that begins when something of its body comes, or its end; nil once it has.
    ///
    /// Whoever waits to be asked for a body, and goes away without having sent one, has had nothing done.
    private var unbegun: (request: RequestHead, head: HTTPRequestHead)?
    private var task: Task<Void, Never>?
    private var alarm = Alarm()
    /// Whether the client has not taken all of the last answer.
    private var isStalled = false

    private enum Phase {
        /// For the head of a request.
        case waiting
        /// The request is being answered, and its body has not come to its end.
        case receiving
        /// The request is there, and is being answered.
        case answering
        /// Nothing more is answered.
        case closing
    }

    init(_ service: APIService, _ entryPoint: EntryPoint, _ connections: ConnectionBook) {
        self.service = service
        self.entryPoint = entryPoint
        self.connections = connections
    }

    func channelActive(context: ChannelHandlerContext) {
        self.arm(APILimits.headSeconds, context)
        context.fireChannelActive()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { self.arm(APILimits.headSeconds, context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    private func end() {
        self.phase = .closing
        self.alarm.end()
        self.body?.finish(Problem.badRequest("The connection ended before the body did."))
        self.task?.cancel()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An upgrade that was refused comes again, as a request like others.
        if error is NIOWebSocketUpgradeError { return }
        guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
        var problem = Problem.badRequest("The request is not HTTP/1.1: \(error).")
        if error == .headerOverflow { problem = Self.headerTooLarge }
        switch self.phase {
        // Whoever reads the body answers with the problem.
        case .receiving where self.unbegun == nil: self.body?.finish(problem)
        case .waiting, .receiving:
            self.phase = .closing
            self.write(problem.response, to: nil, closes: true, context)
        case .answering, .closing: break
        }
    }

    private static let headerTooLarge = Problem(
        .requestHeaderFieldsTooLarge,
        "header-too-large",
        "The header has more than \(APILimits.headerByteCountMax) bytes.",
        advice: "Send less."
    )

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.begin(head, context)
        case .body(let buffer):
            guard case .receiving = self.phase else { return }
            self.arm(APILimits.stallSeconds, context)
            self.body?.append(Array(buffer.readableBytesView))
            self.beginWithBody(context)
        case .end:
            guard case .receiving = self.phase else { return }
            self.phase = .answering
            self.alarm.disarm()
            self.body?.finish(nil)
            self.beginWithBody(context)
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .waiting = self.phase else { return }
        self.alarm.disarm()
        self.phase = .receiving
        let refusal: Response
        do throws(Problem) {
            let request = try Self.checked(head, self.entryPoint)
            guard let problem = self.service.refusal(of: request) else { return self.answer(request, head, context) }
            refusal = self.service.answer(to: request, refusedWith: problem)
        } catch {
            refusal = error.response
        }
        // What was refused may have a body that nobody reads.
        let hasBody = head.hasBody
        self.service.metrics.note(status: UInt(refusal.status.code))
        if hasBody { self.phase = .closing } else { self.phase = .answering }
        self.write(refusal, to: head, closes: hasBody || !head.staysOpen, context)
    }

    /// Reads a head, and refuses what two readers could understand in two ways (RFC 9112 §11.2).
    private static func checked(
        _ head: HTTPRequestHead,
        _ entryPoint: EntryPoint
    ) throws(Problem) -> RequestHead {
        let headers = head.headers
        let byteCount = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard byteCount <= APILimits.headerByteCountMax else { throw Self.headerTooLarge }
        let coding = headers["Transfer-Encoding"]
        guard coding.isEmpty || coding.map({ $0.lowercased() }) == ["chunked"], coding.isEmpty || !headers.hasLength,
            headers["Content-Length"].count <= 1
        else { throw .badRequest("The length of the body is given in more than one way.") }
        guard headers["Host"].count == 1 || entryPoint == .socket else {
            throw .badRequest("A request has exactly one field “Host”.")
        }
        return try RequestHead(method: head.method, target: head.uri, headers: headers, entryPoint: entryPoint)
    }

    private func answer(_ request: RequestHead, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        self.connections.note(context.channel, letsIn: true)
        guard head.hasBody else {
            // A request without a body ends with its head, so nothing more of it changes the phase.
            self.phase = .answering
            return self.answer(Request(head: request, body: .empty), head, context)
        }
        self.unbegun = (request, head)
        self.body = BodyPieces(of: context.channel)
        self.arm(APILimits.stallSeconds, context)
        // A client of HTTP/1.0 takes the first status line for that of the answer (RFC 9110 §10.1.1).
        if head.version == .http1_1, head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" }) {
            context.writeAndFlush(
                self.wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))),
                promise: nil
            )
        }
    }

    private func beginWithBody(_ context: ChannelHandlerContext) {
        guard let (request, head) = self.unbegun.take() else { return }
        self.answer(Request(head: request, body: RequestBody(pieces: self.body)), head, context)
    }

    private func answer(_ request: Request, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let make: @Sendable () async -> Response
        switch self.service.answering(request) {
        case .now(let response): return self.finish(response, head, context)
        case .later(let body): make = body
        }
        let loop = NIOLoopBound(context, eventLoop: context.eventLoop)
        let this = NIOLoopBound(self, eventLoop: context.eventLoop)
        let writer = ResponseWriter(context.channel, head, isPatient: self.entryPoint == .socket)
        self.task = Task {
            let response = await make()
            if case .bytes = response.body, head.method != .HEAD {
                return writer.eventLoop.execute { this.value.finish(response, head, loop.value) }
            }
            if case .segments(let segments) = response.body, head.method != .HEAD {
                return writer.eventLoop.execute { this.value.write(segments, of: response, writer, head, loop.value) }
            }
            let isComplete = (try? await writer.write(response, closes: !head.staysOpen)) != nil
            writer.eventLoop.execute { this.value.finish(isComplete, head, loop.value) }
        }
    }

    /// Writes an answer that is there as a whole.
    private func finish(_ response: Response, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let closes = self.isReceiving || !head.staysOpen
        self.write(response, to: head, closes: closes, context)
    }

    /// Writes an answer of which parts are in files.
    private func write(
        _ segments: [Response.Segment],
        of response: Response,
        _ writer: ResponseWriter,
        _ head: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        guard context.channel.isActive else { return }
        writer.write(segments, of: response, closes: !head.staysOpen).assumeIsolated().whenComplete { result in
            self.finish((try? result.get()) != nil, head, context)
        }
    }

    /// Ends an answer that was written in pieces.
    private func finish(_ isComplete: Bool, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard isComplete, context.channel.isActive else { return context.close(promise: nil) }
        self.writeEnd(closes: self.isReceiving || !head.staysOpen, context)
    }

    private var isReceiving: Bool { if case .receiving = self.phase { true } else { false } }

    private func write(
        _ response: Response,
        to head: HTTPRequestHead?,
        closes: Bool,
        _ context: ChannelHandlerContext
    ) {
        let answer = ResponseWriter.head(response, to: head, closes: closes)
        context.write(self.wrapOutboundOut(.head(answer)), promise: nil)
        if case .bytes(let bytes) = response.body, !bytes.isEmpty, head?.method != .HEAD,
            answer.status.mayHaveResponseBody
        {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
        self.writeEnd(closes: closes, context)
    }

    /// Writes the end of an answer: the next request, or the end of the connection.
    private func writeEnd(closes: Bool, _ context: ChannelHandlerContext) {
        self.task = nil
        self.body = nil
        guard closes else {
            self.arm(APILimits.idleSeconds, context)
            // The next request may be here already, and begins within the write.
            self.phase = .waiting
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            return self.channelWritabilityChanged(context: context)
        }
        self.arm(APILimits.stallSeconds, context)
        self.phase = .closing
        let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil))).whenComplete { result in
            let (this, context) = loop.value
            switch result {
            case .failure: context.close(promise: nil)
            case .success: this.linger(context)
            }
        }
    }

    /// A client that does not take its answer has less time than one that asks for nothing.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard case .waiting = self.phase else { return }
        let isTaken = context.channel.isWritable
        if !isTaken || self.isStalled {
            self.isStalled = !isTaken
            self.arm(isTaken ? APILimits.idleSeconds : APILimits.stallSeconds, context)
        }
    }

    /// Ends the connection, once the client has had time to read the answer.
    ///
    /// What it still sends is read and dropped: to close before would reset the connection, and the answer with it.
    private func linger(_ context: ChannelHandlerContext) {
        self.arm(APILimits.lingerSeconds, context)
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        channel.setOption(.autoRead, value: true).whenSuccess { channel.read() }
    }

    /// Closes the connection if nothing happens for some seconds.
    private func arm(_ seconds: Int64, _ context: ChannelHandlerContext) {
        self.alarm.arm(.now() + .seconds(seconds), context.channel)
    }
}

extension HTTPRequestHead {
    /// Whether further requests may come; a client of HTTP/1.0 finds the end of an answer by that of the connection.
    fileprivate var staysOpen: Bool { self.isKeepAlive && self.version == .http1_1 }

    fileprivate var hasBody: Bool {
        self.headers.contains(name: "Transfer-Encoding")
            || self.headers.first(name: "Content-Length").map { $0 != "0" } ?? false
    }
}

extension HTTPHeaders {
    fileprivate var hasLength: Bool { self.contains(name: "Content-Length") }
}

extension HTTPResponseStatus {
    var mayHaveResponseBody: Bool { self != .noContent && self != .notModified && self.code >= 200 }
}
