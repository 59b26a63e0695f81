internal import NIOConcurrencyHelpers
internal import NIOCore

/// Closes a connection whose other side shows no life for some time while it is awaited; less for the first sign.
///
/// It is awaited whenever this side wants to read, once there is a request to answer. While this side takes its time,
/// the clock stands.
final class IdleTimeout: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let limits: (first: TimeAmount, then: TimeAmount)
    private let record: Record
    private var alarm: Scheduled<Void>?
    private var isAsked = false
    private var isHeard = false

    /// That the alarm went off, for whoever finds the connection closed; nil if it ended for another reason.
    typealias Record = NIOLockedValueBox<APIConnectionError?>

    init(_ limits: (first: TimeAmount, then: TimeAmount), _ record: Record) {
        self.limits = limits
        self.record = record
    }

    func read(context: ChannelHandlerContext) {
        if self.alarm == nil, self.isAsked { self.arm(context) }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.disarm()
        self.isHeard = true
        context.fireChannelRead(data)
    }

    /// A server that takes the request lives.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if self.alarm != nil || !self.isAsked {
            self.disarm()
            self.arm(context)
        }
        self.isAsked = true
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.disarm()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.disarm() }

    private func disarm() {
        self.alarm?.cancel()
        self.alarm = nil
    }

    private func arm(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let limit = self.isHeard ? self.limits.then : self.limits.first
        self.alarm = context.eventLoop.scheduleTask(in: limit) {
            let (this, context) = bound.value
            this.alarm = nil
            let seconds = limit.nanoseconds / 1_000_000_000
            this.record.withLockedValue { $0 = .silent(seconds: seconds) }
            context.close(promise: nil)
        }
    }
}
