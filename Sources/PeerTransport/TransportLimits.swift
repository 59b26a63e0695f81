/// What one transport may use; each is a bound, none a target.
package struct TransportLimits: Sendable {
    /// Connections at one time, dialled, accepted and still being dialled together.
    package var connections = 256

    /// Connections that are let in although they may be anybody's: at once, and again in each second, from one network
    /// and from all that no member has come from.
    ///
    /// One costs a fifth of a millisecond of a processor, and more if it knows a key. Each of thousands that are too
    /// many costs a third of that.
    package var strangersByNetwork = StrangerPace.Limit(count: 100, aSecond: 20)
    package var strangers = StrangerPace.Limit(count: 400, aSecond: 80)

    /// Networks of strangers, and networks that members have come from, which are known at one time.
    package static let strangerNetworks = 1024
    package static let memberNetworks = 256

    /// Received bytes of one connection that were handed out and not yet acknowledged by `resumeReading`.
    package var unacknowledgedBytes = 1 << 20

    /// Bytes of one connection that are copied into buffers for the kernel at one time.
    package var writeWindow = 1 << 20

    /// How long a connection that is being closed after a flush may make no progress before it is cut.
    package var closeGraceSeconds = 3

    /// Silence after which the kernel asks whether the peer is still there, and between its questions.
    package var keepAliveIdleSeconds = 30
    package var keepAliveIntervalSeconds = 10
    package var keepAliveProbes = 3

    /// Connections that the kernel completes ahead of us.
    package var acceptBacklog: Int32 = 256

    /// Smallest and largest number of bytes that one read takes; within it the size follows the traffic.
    package static let smallestRead = 64 << 10
    package static let largestRead = 256 << 10

    /// Most bytes in one buffer for the kernel; also the grain of `sent` events.
    package static let largestWrite = 256 << 10

    package init() {}

    /// Stops a program that asks for what cannot work.
    func check() {
        precondition(self.connections > 0, "a transport needs room for at least one connection")
        precondition(
            self.unacknowledgedBytes >= Self.largestRead,
            "the budget of unacknowledged bytes must have room for one read"
        )
        precondition(self.writeWindow >= Self.largestWrite, "the write window must have room for one write")
        precondition(self.closeGraceSeconds > 0, "a close needs some time")
    }
}

/// What a transport has done and holds; for tests, status pages and metrics.
package struct TransportCounters: Sendable, Equatable {
    package var openConnections = 0
    package var pendingDials = 0
    package var accepted: UInt64 = 0
    package var refusedAccepts: UInt64 = 0
    package var dialled: UInt64 = 0
    package var failedDials: UInt64 = 0
    package var receivedBytes: UInt64 = 0
    package var sentBytes: UInt64 = 0
    /// Received, handed out and not acknowledged, over all connections, and the most one connection ever had.
    package var unacknowledgedBytes = 0
    package var peakUnacknowledgedBytes = 0
    /// Read at the end of a stream beyond the budget and not handed out yet (see `TCPConnection`).
    package var heldBytes = 0
    /// Taken over by `send` and not yet in the kernel.
    package var queuedBytes = 0

    package init() {}
}
