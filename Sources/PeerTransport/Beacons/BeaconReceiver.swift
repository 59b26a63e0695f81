internal import Logging
internal import NIOCore

/// Takes beacons off one socket: bounds their size and rate, and hands them on.
final class BeaconReceiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let sockets: BeaconSockets

    init(sockets: BeaconSockets) {
        self.sockets = sockets
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = Self.unwrapInboundIn(data)
        guard self.sockets.rate.admit(at: NIODeadline.now().uptimeNanoseconds) else {
            self.sockets.counters.droppedByRate += 1
            return
        }
        let size = envelope.data.readableBytes
        guard size > 0, size <= BeaconConfiguration.maximumPayload, let host = envelope.remoteAddress.hostText else {
            self.sockets.counters.droppedBySize += 1
            return
        }
        self.sockets.counters.received += 1
        self.sockets.onReceive(Array(buffer: envelope.data), host)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of single packets pass; if the socket itself is broken, its close follows and it is opened anew.
        self.sockets.logger.debug("beacon socket: \(FailureText.of(error))")
    }
}
