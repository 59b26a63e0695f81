package import Logging
internal import NIOCore

/// Sends and hears small packets on the local network, by multicast on every interface.
///
/// Knows nothing of their content.
///
/// Needs neither a route nor a name server; an interface that does not work does not disturb the others. Own packets
/// are heard, too, and one packet may be heard once for each interface that both sides share.
package final class BeaconTransport: Sendable {
    package static let maximumPayload = BeaconConfiguration.maximumPayload

    private let eventLoop: any EventLoop
    private let sockets: NIOLoopBoundBox<BeaconSockets>

    package init(
        configuration: BeaconConfiguration = BeaconConfiguration(),
        logger: Logger = Logger(label: "peerd.beacon"),
        thread: TransportThread = .shared
    ) {
        self.eventLoop = thread.eventLoop
        self.sockets = .makeBoxSendingValue(
            BeaconSockets(configuration: configuration, logger: logger, eventLoop: thread.eventLoop),
            eventLoop: thread.eventLoop
        )
    }

    /// Begins to listen, once.
    ///
    /// `onReceive` is called on the transport's thread and must not block it. Returns when the interfaces that are
    /// there have been joined; `counters` tells which.
    package func start(
        onReceive: @escaping @Sendable (_ payload: [UInt8], _ fromHost: String) -> Void
    ) async {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute {
                self.sockets.value.start(onReceive: onReceive).whenComplete { _ in continuation.resume() }
            }
        }
    }

    /// Sends one packet from each interface address, and takes notice of interfaces that have come or gone.
    package func broadcast(_ payload: [UInt8]) throws(BeaconError) {
        guard payload.count <= Self.maximumPayload else { throw .payloadTooLarge(payload.count) }
        self.eventLoop.execute { self.sockets.value.broadcast(payload) }
    }

    package func counters() async -> BeaconCounters {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute { continuation.resume(returning: self.sockets.value.counters) }
        }
    }

    package func shutdown() async {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute {
                self.sockets.value.shutDown()
                continuation.resume()
            }
        }
    }
}
