internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The number of requests that are being answered, so that a daemon that ends can let them come to their end.
final class RunningRequests: Sendable {
    private let state = Mutex((count: 0, isEnding: false))

    private static let interval = Duration.milliseconds(10)

    /// Lets no more begin, and waits until none is left, but not for ever.
    func end(within patience: Duration) async {
        let deadline = ContinuousClock.now + patience
        self.state.withLock { $0.isEnding = true }
        while self.state.withLock({ $0.count }) > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// A handler that counts the requests of one connection.
    func handler() -> Counter { Counter(self) }

    final class Counter: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundIn = HTTPServerResponsePart

        private let requests: RunningRequests
        private var count = 0

        fileprivate init(_ requests: RunningRequests) { self.requests = requests }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head = self.unwrapInboundIn(data) {
                // Whoever gets no word of a request may do it himself.
                guard self.requests.state.withLock({ !$0.isEnding }) else { return context.close(promise: nil) }
                self.add(1)
            }
            context.fireChannelRead(data)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard case .end = self.unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.whenComplete { _ in bound.value.add(-1) }
            context.write(data, promise: written)
        }

        func handlerRemoved(context: ChannelHandlerContext) { self.add(-self.count) }

        private func add(_ number: Int) {
            guard number > 0 || self.count > 0 else { return }
            self.count += number
            self.requests.state.withLock { $0.count += number }
        }
    }
}
