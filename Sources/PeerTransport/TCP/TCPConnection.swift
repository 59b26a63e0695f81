internal import NIOCore

/// One TCP connection on the event loop: keeps the budget for reading, the queue for writing, and the order of closing.
///
/// Reading is by request only (`autoRead` is off), and a request is made only while the budget has room. There is one
/// exception that NIO makes: when the peer has ended its stream, NIO reads all that the kernel holds, asked or not.
/// Those bytes are held here and handed out as the budget allows, and the end of the connection is reported after them.
/// They are bounded by the kernel's receive buffer, which they leave.
final class TCPConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        case opening
        case open
        /// `close` after a flush was asked for; what is queued still goes out, what arrives is dropped.
        case flushing
        /// All is flushed and our end of the stream sent. Closing before the peer's end arrives could make the kernel
        /// send a reset that overtakes the last bytes.
        case lingering
        /// The channel is gone, and what was read before waits for the driver.
        case draining
        case closed
    }

    let id: TransportID
    private(set) var phase = Phase.opening
    private let table: ConnectionTable
    /// The address of this machine that it goes from.
    private(set) var localHost: String?
    /// Where it comes from, if it was accepted.
    private(set) var network: PeerNetwork?
    private var context: ChannelHandlerContext?
    private var budget: InboundBudget
    private var held = CircularBuffer<ByteBuffer>()
    private var outbound = OutboundQueue()
    /// What NIO has not written yet, in order; kept so that the buffers can be filled again.
    private var inChannel = CircularBuffer<ByteBuffer>()
    private var bytesInChannel = 0
    private var sentByteCount: UInt64 = 0
    private var isPumping = false
    private var isPumpScheduled = false
    private var isChannelClosing = false
    private var closeReason: CloseReason?
    private var deadline: Scheduled<Void>?

    init(id: TransportID, table: ConnectionTable) {
        self.id = id
        self.table = table
        self.budget = InboundBudget(limit: table.limits.unacknowledgedBytes)
    }

    // MARK: Commands

    func send(_ bytes: [UInt8]) {
        guard self.phase == .open else { return }
        self.outbound.append(bytes)
        self.table.counters.queuedBytes += bytes.count
    }

    func acknowledge(_ byteCount: Int) {
        self.table.counters.unacknowledgedBytes -= self.budget.acknowledge(byteCount)
        self.handOutHeld()
        self.requestRead()
    }

    func close(afterFlush: Bool) {
        switch self.phase {
        case .draining:
            self.closeReason = .requested
            self.finish()
        case .opening:
            self.closeChannel()
        case .open:
            self.closeReason = .requested
            self.dropHeld()
            if afterFlush {
                self.phase = .flushing
                self.scheduleDeadline()
                self.pump()
                self.endStreamIfFlushed()
                self.requestRead()
            } else {
                self.closeChannel()
            }
        case .flushing, .lingering:
            if !afterFlush { self.closeChannel() }
        case .closed:
            break
        }
    }

    /// Hands queued bytes to the kernel, as many as the window allows.
    ///
    /// Those that do not fit follow as it empties.
    func pump() {
        guard let context, !self.isPumping, self.phase == .open || self.phase == .flushing else { return }
        self.isPumping = true
        defer { self.isPumping = false }
        var wrote = false
        let allocator = context.channel.allocator
        while self.bytesInChannel < self.table.limits.writeWindow,
            let chunk = self.outbound.next(
                maximum: TransportLimits.largestWrite,
                into: { self.table.writeBuffers.take($0, allocator: allocator) }
            )
        {
            let byteCount = chunk.readableBytes
            self.bytesInChannel += byteCount
            self.inChannel.append(chunk)
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenComplete { result in
                self.chunkCompleted(byteCount, result)
            }
            context.write(Self.wrapOutboundOut(chunk), promise: promise)
            wrote = true
        }
        if wrote { context.flush() }
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.activate(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        self.activate(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = Self.unwrapInboundIn(data)
        switch self.phase {
        case .open:
            if self.held.isEmpty, self.budget.hasRoom {
                self.handOut(buffer)
            } else {
                self.held.append(buffer)
                self.table.counters.heldBytes += buffer.readableBytes
            }
        case .opening, .flushing, .lingering, .draining, .closed:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.requestRead()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent, event == .inputClosed else { return }
        switch self.phase {
        case .opening, .open, .lingering, .draining, .closed:
            // Peers do not use half-open streams: one that ended its own wants no more of ours.
            self.closeChannel()
        case .flushing:
            // It may still be reading: then the flush ends as usual. Otherwise a reset ends it.
            break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.note(error)
        self.closeChannel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.channelEnded()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.channelEnded()
    }

    // MARK: Reading

    private func activate(_ context: ChannelHandlerContext) {
        guard self.phase == .opening else { return }
        if self.id.isAccepted {
            self.network = context.channel.remoteAddress.flatMap { PeerNetwork($0) }
            guard self.table.admits(self.network) else { return self.closeChannel() }
        }
        self.phase = .open
        self.localHost = context.channel.localAddress?.hostText
        self.table.opened(self, from: context.channel.remoteAddress?.peerAddress)
        self.requestRead()
    }

    private func requestRead() {
        switch self.phase {
        case .open where self.held.isEmpty && self.budget.hasRoom, .flushing, .lingering:
            self.context?.read()
        case .opening, .open, .draining, .closed:
            break
        }
    }

    private func handOut(_ buffer: ByteBuffer) {
        let byteCount = buffer.readableBytes
        self.budget.handOut(byteCount)
        self.table.received(byteCount, peak: self.budget.peak)
        self.table.emit(.received(self.id, Array(buffer: buffer)))
    }

    private func handOutHeld() {
        while self.budget.hasRoom, let buffer = self.held.popFirst() {
            self.table.counters.heldBytes -= buffer.readableBytes
            self.handOut(buffer)
        }
        if self.phase == .draining, self.held.isEmpty { self.finish() }
    }

    private func dropHeld() {
        self.table.counters.heldBytes -= self.held.reduce(0) { $0 + $1.readableBytes }
        self.held.removeAll()
    }

    // MARK: Writing

    private func chunkCompleted(_ byteCount: Int, _ result: Result<Void, any Error>) {
        self.bytesInChannel -= byteCount
        if let chunk = self.inChannel.popFirst() { self.table.writeBuffers.giveBack(chunk) }
        self.table.counters.queuedBytes -= byteCount
        switch result {
        case .success:
            self.sentByteCount += UInt64(byteCount)
            self.table.sent(self.id, byteCount: byteCount)
            self.schedulePump()
            self.endStreamIfFlushed()
        case .failure(let error):
            self.note(error)
        }
    }

    /// Completions arrive in the middle of a flush; one round a tick also lets other connections have their turn.
    private func schedulePump() {
        guard !self.isPumpScheduled, !self.outbound.isEmpty, let context else { return }
        self.isPumpScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.isPumpScheduled = false
            self.pump()
        }
    }

    // MARK: Closing

    private func endStreamIfFlushed() {
        guard self.phase == .flushing, self.outbound.isEmpty, self.bytesInChannel == 0, let context else { return }
        self.phase = .lingering
        // Closes altogether if the peer's stream has ended already.
        context.close(mode: .output, promise: nil)
    }

    /// A close that makes no progress for the grace period is cut, so that a peer that never reads holds nothing.
    private func scheduleDeadline() {
        guard let context else { return }
        let sentBefore = self.sentByteCount
        let grace = TimeAmount.seconds(Int64(self.table.limits.closeGraceSeconds))
        self.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: grace) {
            if self.phase == .flushing, self.sentByteCount != sentBefore {
                self.scheduleDeadline()
            } else {
                if self.phase == .flushing { self.closeReason = .flushTimedOut }
                self.closeChannel()
            }
        }
    }

    private func closeChannel() {
        guard !self.isChannelClosing else { return }
        self.isChannelClosing = true
        self.context?.close(promise: nil)
    }

    /// Remembers the first thing that went wrong; what follows from the closing itself is no news.
    private func note(_ error: any Error) {
        let consequences: [ChannelError] = [.eof, .ioOnClosedChannel, .alreadyClosed, .outputClosed]
        if let error = error as? ChannelError, consequences.contains(error) { return }
        if self.closeReason == nil { self.closeReason = .failed(FailureText.of(error)) }
    }

    private func channelEnded() {
        switch self.phase {
        case .open where !self.held.isEmpty && self.closeReason != .requested:
            self.phase = .draining
            self.dropOutbound()
            self.handOutHeld()
        case .opening, .open, .flushing, .lingering:
            self.finish()
        case .draining, .closed:
            break
        }
    }

    private func dropOutbound() {
        self.table.counters.queuedBytes -= self.outbound.byteCount
        self.outbound.removeAll()
    }

    private func finish() {
        let wasReported = self.phase != .opening
        self.phase = .closed
        self.deadline?.cancel()
        self.deadline = nil
        self.dropOutbound()
        self.dropHeld()
        self.table.counters.unacknowledgedBytes -= self.budget.acknowledge(self.budget.unacknowledged)
        self.table.ended(self, wasReported ? self.closeReason ?? .closedByPeer : nil)
    }
}
