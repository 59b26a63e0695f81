internal import NIOCore
internal import NIOWebSocket

/// Lets only frames pass that RFC 6455 allows a client without extensions: masked, of a known kind, no bit reserved.
final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    struct Violation: Error {}

    private static let opcodes: Set<WebSocketOpcode> = [.continuation, .text, .binary, .connectionClose, .ping, .pong]
    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        guard !self.isBroken else { return }
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3, Self.opcodes.contains(frame.opcode) else {
            self.isBroken = true
            return context.fireErrorCaught(Violation())
        }
        context.fireChannelRead(data)
    }
}
