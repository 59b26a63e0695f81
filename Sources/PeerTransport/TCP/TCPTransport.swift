internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix

/// Moves bytes over TCP.
///
/// Knows nothing of what they mean.
///
/// Commands return at once and take effect on the transport's thread in the order in which they were given; what
/// comes of them is told through `events`, which is called on that thread and must not block it.
package final class TCPTransport: Sendable {
    private struct Mailbox {
        var commands: [Command] = []
        var isDrainScheduled = false
    }

    private enum Command: Sendable {
        case dial(TransportID, PeerAddress, timeoutMilliseconds: Int64)
        case send(TransportID, [UInt8])
        case close(TransportID, afterFlush: Bool)
        case resumeReading(TransportID, byteCount: Int)
        case noteMember(TransportID)
    }

    private let limits: TransportLimits
    private let eventLoop: any EventLoop
    private let table: NIOLoopBoundBox<ConnectionTable>
    private let mailbox = NIOLockedValueBox(Mailbox())

    package init(
        events: @escaping @Sendable (TransportEvent) -> Void,
        limits: TransportLimits = TransportLimits(),
        thread: TransportThread = .shared
    ) {
        limits.check()
        self.limits = limits
        self.eventLoop = thread.eventLoop
        self.table = .makeBoxSendingValue(ConnectionTable(limits: limits, emit: events), eventLoop: thread.eventLoop)
    }

    // MARK: Commands

    /// Accepts connections on an address; port 0 lets the system choose.
    ///
    /// Returns the address that it came to.
    package func listen(on address: PeerAddress) async throws(ListenError) -> PeerAddress {
        do {
            guard address.host == PeerAddress.anyHost else { return try await self.bind(address) }
            do {
                return try await self.bind(PeerAddress(host: "::", port: address.port))
            } catch let error where FailureText.meansNoIPv6(error) {
                return try await self.bind(PeerAddress(host: "0.0.0.0", port: address.port))
            }
        } catch {
            throw ListenError(address: address, reason: FailureText.ofListening(error))
        }
    }

    /// Opens a connection; `connected` or `dialFailed` follows.
    ///
    /// The id must be new and have the top bit clear.
    package func dial(_ id: TransportID, _ address: PeerAddress, timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        let milliseconds = min(max(seconds, 0), 86_400) * 1000 + attoseconds / 1_000_000_000_000_000
        self.post(.dial(id, address, timeoutMilliseconds: max(milliseconds, 1)))
    }

    /// Queues bytes for a connection, without bound: `sent` tells how far the queue has come.
    ///
    /// Does nothing for a connection that is not open (any more), since its end is on its way to the caller.
    package func send(_ id: TransportID, _ bytes: [UInt8]) {
        self.post(.send(id, bytes))
    }

    /// Ends a connection or cancels its dial.
    ///
    /// Nothing is received after this; the terminal event still follows.
    ///
    /// After a flush all that was sent before reaches a peer that goes on reading; without one it is dropped.
    package func close(_ id: TransportID, afterFlush: Bool) {
        self.post(.close(id, afterFlush: afterFlush))
    }

    /// Ends the connections whose own address this machine has no more: nothing can come on them, and nobody says so.
    ///
    /// `hosts`: the addresses that it has.
    package func closeConnections(outside hosts: Set<String>) {
        self.eventLoop.execute { self.table.value.closeConnections(outside: hosts) }
    }

    /// Acknowledges received bytes, which makes room for more.
    package func resumeReading(_ id: TransportID, byteCount: Int) {
        self.post(.resumeReading(id, byteCount: byteCount))
    }

    /// Says that an accepted connection is a member's, so that it takes no place of a stranger.
    package func noteMember(_ id: TransportID) {
        self.post(.noteMember(id))
    }

    /// Stops listening and closes all connections; returns when each terminal event was given.
    package func shutdown() async {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute {
                self.drain()
                self.table.value.shutDown { continuation.resume() }
            }
        }
    }

    package func counters() async -> TransportCounters {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute { continuation.resume(returning: self.table.value.counters) }
        }
    }

    // MARK: Mailbox

    /// Many commands given in a row wake the thread once and, for each connection, end in one system call.
    private func post(_ command: Command) {
        let mustWake = self.mailbox.withLockedValue { mailbox in
            mailbox.commands.append(command)
            defer { mailbox.isDrainScheduled = true }
            return !mailbox.isDrainScheduled
        }
        if mustWake { self.eventLoop.execute { self.drain() } }
    }

    private func drain() {
        let commands = self.mailbox.withLockedValue { mailbox in
            mailbox.isDrainScheduled = false
            let commands = mailbox.commands
            mailbox.commands = []
            return commands
        }
        let table = self.table.value
        var written: [TCPConnection] = []
        for command in commands {
            switch command {
            case .dial(let id, let address, let timeoutMilliseconds):
                self.startDial(id, address, timeout: .milliseconds(timeoutMilliseconds))
            case .send(let id, let bytes):
                guard let connection = table[id] else { continue }
                connection.send(bytes)
                if written.last !== connection { written.append(connection) }
            case .close(let id, let afterFlush):
                table.close(id, afterFlush: afterFlush)
            case .resumeReading(let id, let byteCount):
                table[id]?.acknowledge(byteCount)
            case .noteMember(let id):
                table.noteMember(id)
            }
        }
        for connection in written { connection.pump() }
    }

    // MARK: Dialling

    private func startDial(_ id: TransportID, _ address: PeerAddress, timeout: TimeAmount) {
        guard self.table.value.beginDial(id) else { return }
        let table = self.table
        let bootstrap = Self.withSocketOptions(ClientBootstrap(group: self.eventLoop), self.limits)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Happy Eyeballs may still begin attempts after the dial was cancelled.
                    guard table.value.addAttempt(id, channel) else { throw ChannelError.ioOnClosedChannel }
                }
            }
        let connected: EventLoopFuture<any Channel>
        if let socketAddress = try? SocketAddress(ipAddress: address.host, port: Int(address.port)) {
            connected = bootstrap.connect(to: socketAddress)
        } else {
            connected = bootstrap.connect(host: address.host, port: Int(address.port))
        }
        connected.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): table.value.dialSucceeded(id, channel)
            case .failure(let error): table.value.dialFailed(id, DialFailure(error))
            }
        }
    }

    private static func withSocketOptions(_ bootstrap: ClientBootstrap, _ limits: TransportLimits) -> ClientBootstrap {
        var bootstrap =
            bootstrap
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: Self.readBuffers)
        for (option, value) in Self.socketOptions(limits) {
            bootstrap = bootstrap.channelOption(option, value: value)
        }
        return bootstrap
    }

    // MARK: Listening

    private func bind(_ address: PeerAddress) async throws -> PeerAddress {
        let server = try await self.bindChannel(address)
        let table = self.table
        let isWanted = try await self.eventLoop.submit { table.value.addServer(server) }.get()
        guard isWanted, let local = server.localAddress?.peerAddress else {
            try await server.close()
            throw ChannelError.ioOnClosedChannel
        }
        return local
    }

    private func bindChannel(_ address: PeerAddress) async throws -> any Channel {
        let table = self.table
        var bootstrap = ServerBootstrap(group: self.eventLoop)
            .serverChannelOption(.backlog, value: self.limits.acceptBacklog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: Self.readBuffers)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try table.value.accept(channel)
                }
            }
        for (option, value) in Self.socketOptions(self.limits) {
            bootstrap = bootstrap.childChannelOption(option, value: value)
        }
        // Whatever the system's default is, `::` means IPv4, too.
        if address.host == "::" {
            bootstrap = bootstrap.serverChannelOption(ChannelOptions.Types.SocketOption.onlyIPv6, value: 0)
        }
        if let socketAddress = try? SocketAddress(ipAddress: address.host, port: Int(address.port)) {
            return try await bootstrap.bind(to: socketAddress).get()
        }
        return try await bootstrap.bind(host: address.host, port: Int(address.port)).get()
    }

    // MARK: Sockets

    private static let readBuffers = AdaptiveRecvByteBufferAllocator(
        minimum: TransportLimits.smallestRead,
        initial: TransportLimits.smallestRead,
        maximum: TransportLimits.largestRead
    )

    private static func socketOptions(
        _ limits: TransportLimits
    ) -> [(ChannelOptions.Types.SocketOption, ChannelOptions.Types.SocketOption.Value)] {
        [
            (.tcpOption(.tcp_nodelay), 1),
            (.socketOption(.so_keepalive), 1),
            (.keepAliveIdleSeconds, .init(limits.keepAliveIdleSeconds)),
            (.keepAliveIntervalSeconds, .init(limits.keepAliveIntervalSeconds)),
            (.keepAliveProbes, .init(limits.keepAliveProbes)),
        ]
    }
}
