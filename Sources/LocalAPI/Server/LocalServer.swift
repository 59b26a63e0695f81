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
        let (service, connections, requests) = (self.service, self.connections, self.requests)
        return ServerBootstrap(group: connections.group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if entryPoint == .loopback { connections.add(channel) }
                    let counter = entryPoint == .socket ? requests.handler() : nil
                    try Self.configure(channel, service, entryPoint, connections, counter)
                }
            }
    }

    private static func configure(
        _ channel: any Channel,
        _ service: APIService,
        _ entryPoint: EntryPoint,
        _ connections: ConnectionBook,
        _ counter: RunningRequests.Counter?
    ) throws {
        let connection = HTTPConnection(service, entryPoint, connections)
        let bound = NIOLoopBound((counter, connection), eventLoop: channel.eventLoop)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: APILimits.messageByteCountMax,
            automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeSucceededFuture(Self.mayUpgrade(head, service, entryPoint) ? [:] : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try Self.upgrade(channel, head, service, entryPoint, connections)
                }
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

    private static func head(_ head: HTTPRequestHead, _ entryPoint: EntryPoint) -> RequestHead? {
        try? RequestHead(method: head.method, target: head.uri, headers: head.headers, entryPoint: entryPoint)
    }

    private static func mayUpgrade(_ head: HTTPRequestHead, _ service: APIService, _ entryPoint: EntryPoint) -> Bool {
        guard let request = self.head(head, entryPoint), request.path == ["ws", "sync"] else { return false }
        // Programs may show their token in the first message.
        let problem = service.refusal(of: request, isWebSocket: true)
        return problem == nil || problem?.code == "unauthorized"
    }

    private static func upgrade(
        _ channel: any Channel,
        _ head: HTTPRequestHead,
        _ service: APIService,
        _ entryPoint: EntryPoint,
        _ connections: ConnectionBook
    ) throws {
        let isLetIn = self.head(head, entryPoint).map { service.isLetIn($0) } ?? false
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameRules())
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: APILimits.messageFrameCountMax,
                maxAccumulatedFrameSize: APILimits.messageByteCountMax
            )
        )
        try pipeline.addHandler(LiveConnection(service, isLetIn: isLetIn, channel, connections))
    }
}
