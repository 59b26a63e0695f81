internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import Synchronization

/// Serves the local API on a Unix socket and on loopback TCP.
package final class LocalServer: Sendable {
    private let service: APIService
    private let listeners = Mutex<[any Channel]>([])
    private let connections = ConnectionBook()
    /// Those of the Unix socket: each is a command that someone waits for.
    private let requests = RunningRequests()

    private static let backlog: Int32 = 128
    /// How long requests that are being answered may take to end when the server does.
    private static let stopPatience = Duration.seconds(2)

    package init(_ service: APIService) { self.service = service }

    /// Serves whoever may use a Unix socket.
    ///
    /// `descriptor`: the socket, which listens already. The caller removes its file in the end.
    package func serve(socket descriptor: Int32) async throws {
        let channel = try await self.bootstrap(.socket).withBoundSocket(descriptor).get()
        self.listeners.withLock { $0.append(channel) }
    }

    /// Serves programs and pages of this machine on a port that was reserved.
    package func serve(_ reservation: LoopbackReservation) async throws {
        for descriptor in reservation.takeDescriptors() {
            let channel = try await self.bootstrap(.loopback).withBoundSocket(descriptor).get()
            self.listeners.withLock { $0.append(channel) }
        }
    }

    /// Takes no more requests, and ends all connections.
    package func stop() async {
        let listeners = self.listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in listeners { try? await listener.close() }
        await self.requests.end(within: Self.stopPatience)
        self.connections.closeAll()
    }

    private func bootstrap(_ entryPoint: EntryPoint) -> ServerBootstrap {
        let entry = Entry(service: self.service, point: entryPoint, connections: self.connections)
        let requests = self.requests
        return ServerBootstrap(group: self.connections.group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if entryPoint == .loopback { entry.connections.add(channel) }
                    try entry.configure(channel, entryPoint == .socket ? requests.handler() : nil)
                }
            }
    }
}

/// What makes connections of channels that came one way.
private struct Entry: Sendable {
    let service: APIService
    let point: EntryPoint
    let connections: ConnectionBook

    func configure(_ channel: any Channel, _ counter: RunningRequests.Counter?) throws {
        let connection = HTTPConnection(self.service, self.point, self.connections)
        let bound = NIOLoopBound((counter, connection), eventLoop: channel.eventLoop)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: APILimits.messageByteCountMax,
            automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeSucceededFuture(self.mayUpgrade(head) ? [:] : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture { try self.upgrade(channel, head) }
            }
        )
        // The writer of an answer says how it is framed; left to itself, the encoder ends a HEAD with an empty chunk.
        var framing = HTTPResponseEncoder.Configuration()
        framing.automaticallySetFramingHeaders = false
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: true,
            withServerUpgrade: (
                [upgrader],
                { context in
                    let (counter, connection) = bound.value
                    if let counter { context.pipeline.syncOperations.removeHandler(counter, promise: nil) }
                    context.pipeline.syncOperations.removeHandler(connection, promise: nil)
                }
            ),
            withErrorHandling: false,
            withEncoderConfiguration: framing
        )
        if let counter { try channel.pipeline.syncOperations.addHandler(counter) }
        try channel.pipeline.syncOperations.addHandler(connection)
    }

    private func request(_ head: HTTPRequestHead) -> RequestHead? {
        try? RequestHead(method: head.method, target: head.uri, headers: head.headers, entryPoint: self.point)
    }

    private func mayUpgrade(_ head: HTTPRequestHead) -> Bool {
        guard let request = self.request(head), request.path == ["ws", "sync"] else { return false }
        guard let problem = self.service.refusal(of: request, isWebSocket: true) else { return true }
        // Programs may show their token in the first message.
        return problem.code == "unauthorized" && !self.service.isOwnPage(request)
    }

    private func upgrade(_ channel: any Channel, _ head: HTTPRequestHead) throws {
        let isLetIn = self.request(head).map { self.service.isLetIn($0) } ?? false
        self.service.attach(channel, head.headers)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameRules())
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: APILimits.messageFrameCountMax,
                maxAccumulatedFrameSize: APILimits.messageByteCountMax
            )
        )
        try pipeline.addHandler(LiveConnection(self.service, isLetIn: isLetIn, channel, self.connections))
    }
}
