internal import NIOCore
internal import NIOWebSocket

/// A WebSocket: hands whole messages to a session, answers pings, and ends what has gone silent.
///
/// Everything in it happens on the connection's event loop.
final class LiveConnection: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let service: APIService
    private let isLetIn: Bool
    private let connections: ConnectionBook
    private let inbox: BodyPieces
    private var task: Task<Void, Never>?
    private var pings: RepeatedTask?
    private var unansweredCount = 0
    private var isClosing = false

    init(_ service: APIService, isLetIn: Bool, _ channel: any Channel, _ connections: ConnectionBook) {
        self.service = service
        self.isLetIn = isLetIn
        self.connections = connections
        self.inbox = BodyPieces(of: channel, joins: false)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let socket = LiveSocket(channel: context.channel)
        let (channel, connections) = (context.channel, self.connections)
        let session = LiveSession(self.service, socket, isLetIn: self.isLetIn) {
            connections.note(channel, letsIn: true)
        }
        let (inbox, metrics) = (self.inbox, self.service.metrics)
        metrics.noteSockets(1)
        self.task = Task {
            await session.run(inbox)
            metrics.noteSockets(-1)
        }
        let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let interval = TimeAmount.seconds(APILimits.pingSeconds)
        self.pings = context.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let (this, context) = loop.value
            this.ping(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.pings?.cancel()
        self.inbox.finish(nil)
        self.task?.cancel()
        context.fireChannelInactive()
    }

    private func ping(_ context: ChannelHandlerContext) {
        self.unansweredCount += 1
        if self.unansweredCount > 2 { return context.close(promise: nil) }
        let frame = WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
        context.writeAndFlush(self.wrapOutboundOut(frame), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        self.unansweredCount = 0
        self.connections.note(context.channel)
        guard !self.isClosing else { return }
        switch frame.opcode {
        case .text:
            let bytes = Array(frame.unmaskedData.readableBytesView)
            guard String(validating: bytes, as: UTF8.self) != nil else {
                return self.close(.dataInconsistentWithMessage, context)
            }
            self.inbox.append(bytes)
        case .binary: self.close(.unacceptableData, context)
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(self.wrapOutboundOut(pong), promise: nil)
        case .pong: break
        case .connectionClose:
            self.close(Self.reply(to: frame.unmaskedData), context)
        default: self.close(.protocolError, context)
        }
    }

    /// The code that answers a client's reason to close (RFC 6455 §7.4).
    private static func reply(to reason: ByteBuffer) -> WebSocketErrorCode {
        var reason = reason
        if reason.readableBytes == 0 { return .normalClosure }
        guard let code: UInt16 = reason.readInteger(), Self.isCodeOfClients(code),
            String(validating: reason.readableBytesView, as: UTF8.self) != nil
        else { return .protocolError }
        return WebSocketErrorCode(codeNumber: Int(code))
    }

    /// 1004 to 1006 and 1015 are never sent; what is below 3000 otherwise belongs to the standard.
    private static func isCodeOfClients(_ code: UInt16) -> Bool {
        (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            self.close(.messageTooLarge, context)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error, is FrameRules.Violation:
            self.close(.protocolError, context)
        default: context.close(promise: nil)
        }
    }

    private func close(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        guard !self.isClosing else { return }
        self.isClosing = true
        LiveSocket(channel: context.channel).close(code)
    }
}

/// Where a session sends its messages.
struct LiveSocket: Sendable {
    let channel: any Channel

    private static let closeSeconds: Int64 = 2

    /// Sends a message; returns when the system has taken it, or throws if the client does not read.
    func send(_ bytes: [UInt8]) async throws {
        let channel = self.channel
        let alarm = channel.eventLoop.scheduleTask(in: .seconds(APILimits.stallSeconds)) {
            self.close(.unknown(4408))
        }
        defer { alarm.cancel() }
        let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: bytes))
        try await channel.writeAndFlush(frame).get()
    }

    /// Says why, and ends the connection, even if the client reads nothing any more.
    func close(_ code: WebSocketErrorCode) {
        let channel = self.channel
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        channel.writeAndFlush(frame).whenComplete { _ in channel.close(mode: .output, promise: nil) }
        channel.eventLoop.scheduleTask(in: .seconds(Self.closeSeconds)) { channel.close(promise: nil) }
    }
}
