internal import NIOCore
internal import NIOPosix

/// The one thread on which transports read and write.
///
/// Moving bytes is a small part of the work of a node, so one thread serves all transports of a process.
package final class TransportThread: Sendable {
    /// The thread of the process; it is never stopped.
    package static let shared = TransportThread()

    private let group: MultiThreadedEventLoopGroup

    package init() {
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }

    var eventLoop: any EventLoop {
        self.group.any()
    }

    /// Ends a thread that is not the shared one, after the transports on it were shut down.
    package func stop() async {
        precondition(self !== Self.shared, "the shared thread serves the whole process")
        // Fails only if it was stopped before, which is what the caller wants.
        try? await self.group.shutdownGracefully()
    }
}
