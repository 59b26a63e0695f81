internal import NIOCore

/// All connections of one transport.
///
/// Lives on the event loop, and only there.
final class ConnectionTable {
    let limits: TransportLimits
    let emit: @Sendable (TransportEvent) -> Void
    var counters = TransportCounters()
    var writeBuffers: WriteBuffers
    private var connections: [TransportID: TCPConnection] = [:]
    /// Dials under way, with the channels of their attempts: one a resolved address of the host.
    private var dials: [TransportID: [any Channel]] = [:]
    private var servers: [any Channel] = []
    private var nextAcceptedNumber: UInt64 = 1
    private var strangers: StrangerPace
    private(set) var isShutDown = false
    private var whenEmpty: [() -> Void] = []

    init(limits: TransportLimits, emit: @escaping @Sendable (TransportEvent) -> Void) {
        self.limits = limits
        self.strangers = StrangerPace(limits)
        self.writeBuffers = WriteBuffers(writeWindow: limits.writeWindow)
        self.emit = emit
    }

    var hasRoom: Bool {
        !self.isShutDown && self.connections.count + self.dials.count < self.limits.connections
    }

    subscript(id: TransportID) -> TCPConnection? {
        self.connections[id]
    }

    // MARK: Accepting

    /// Throws if there is no room, or no more: then NIO closes the new connection.
    func accept(_ channel: any Channel) throws {
        guard self.hasRoom else {
            self.counters.refusedAccepts += 1
            throw ChannelError.ioOnClosedChannel
        }
        let id = TransportID(rawValue: TransportID.acceptedBit | self.nextAcceptedNumber)
        self.nextAcceptedNumber += 1
        let connection = TCPConnection(id: id, table: self)
        self.insert(connection)
        do {
            try channel.pipeline.syncOperations.addHandler(connection)
        } catch {
            self.ended(connection, nil)
            throw error
        }
    }

    /// Whether a connection from a network is let in: a peer that has gone already has none.
    func admits(_ network: PeerNetwork?) -> Bool {
        let isAdmitted = network.map { self.strangers.admits($0, at: NIODeadline.now().uptimeNanoseconds) } ?? false
        if !isAdmitted { self.counters.refusedAccepts += 1 }
        return isAdmitted
    }

    /// A connection that was accepted is a member's.
    func noteMember(_ id: TransportID) {
        guard let network = self.connections[id]?.network else { return }
        self.strangers.noteMember(network, at: NIODeadline.now().uptimeNanoseconds)
    }

    /// Returns false if the transport was shut down while the listener came up.
    func addServer(_ server: any Channel) -> Bool {
        guard !self.isShutDown else { return false }
        self.servers.append(server)
        return true
    }

    // MARK: Dialling

    /// Returns whether the dial may go on; if not, its failure was reported.
    func beginDial(_ id: TransportID) -> Bool {
        precondition(!id.isAccepted, "ids of dialled connections have the top bit clear")
        precondition(self.connections[id] == nil && self.dials[id] == nil, "a connection id is used once")
        guard self.hasRoom else {
            self.counters.failedDials += 1
            self.emit(.dialFailed(id, self.isShutDown ? .cancelled : .tooManyConnections))
            return false
        }
        self.dials[id] = []
        self.counters.pendingDials = self.dials.count
        return true
    }

    /// Returns false if the dial was cancelled meanwhile.
    func addAttempt(_ id: TransportID, _ channel: any Channel) -> Bool {
        self.dials[id]?.append(channel) != nil
    }

    func dialSucceeded(_ id: TransportID, _ channel: any Channel) {
        guard self.dials[id] != nil else {
            channel.close(promise: nil)
            return
        }
        guard channel.isActive else {
            self.dialFailed(id, .failed("the peer closed the connection at once"))
            return
        }
        self.removeDial(id)
        let connection = TCPConnection(id: id, table: self)
        self.insert(connection)
        do {
            try channel.pipeline.syncOperations.addHandler(connection)
        } catch {
            self.counters.failedDials += 1
            self.emit(.dialFailed(id, .failed(FailureText.of(error))))
            self.ended(connection, nil)
            channel.close(promise: nil)
        }
    }

    func dialFailed(_ id: TransportID, _ failure: DialFailure) {
        guard let attempts = self.dials[id] else { return }
        self.removeDial(id)
        self.counters.failedDials += 1
        for attempt in attempts { attempt.close(promise: nil) }
        self.emit(.dialFailed(id, failure))
        self.checkEmpty()
    }

    private func removeDial(_ id: TransportID) {
        self.dials[id] = nil
        self.counters.pendingDials = self.dials.count
    }

    // MARK: Closing

    func close(_ id: TransportID, afterFlush: Bool) {
        if let connection = self.connections[id] {
            connection.close(afterFlush: afterFlush)
        } else {
            self.dialFailed(id, .cancelled)
        }
    }

    func closeConnections(outside hosts: Set<String>) {
        let lost = self.connections.values.filter { connection in
            guard let host = connection.localHost, !host.hasPrefix("127.") else { return false }
            return !hosts.contains(host)
        }
        for connection in lost.sorted(by: { $0.id.rawValue < $1.id.rawValue }) { connection.close(afterFlush: false) }
    }

    /// Stops listening, cancels dials and closes everything; what is being flushed has its grace period.
    func shutDown(whenEmpty: @escaping () -> Void) {
        self.isShutDown = true
        self.whenEmpty.append(whenEmpty)
        for server in self.servers { server.close(promise: nil) }
        self.servers = []
        for id in self.dials.keys.sorted(by: { $0.rawValue < $1.rawValue }) { self.dialFailed(id, .cancelled) }
        let open = self.connections.values.sorted { $0.id.rawValue < $1.id.rawValue }
        for connection in open where connection.phase != .flushing && connection.phase != .lingering {
            connection.close(afterFlush: false)
        }
        self.checkEmpty()
    }

    private func checkEmpty() {
        guard self.isShutDown, self.connections.isEmpty, self.dials.isEmpty else { return }
        let callbacks = self.whenEmpty
        self.whenEmpty = []
        for callback in callbacks { callback() }
    }

    // MARK: Reports of connections

    func opened(_ connection: TCPConnection, from address: PeerAddress?) {
        if connection.id.isAccepted {
            self.counters.accepted += 1
            self.emit(.accepted(connection.id, from: address ?? PeerAddress(host: "unknown", port: 0)))
        } else {
            self.counters.dialled += 1
            self.emit(.connected(connection.id))
        }
    }

    func received(_ byteCount: Int, peak: Int) {
        self.counters.receivedBytes += UInt64(byteCount)
        self.counters.unacknowledgedBytes += byteCount
        self.counters.peakUnacknowledgedBytes = max(self.counters.peakUnacknowledgedBytes, peak)
    }

    func sent(_ id: TransportID, byteCount: Int) {
        self.counters.sentBytes += UInt64(byteCount)
        self.emit(.sent(id, byteCount: byteCount))
    }

    /// The reason is nil for a connection that nobody ever heard of.
    func ended(_ connection: TCPConnection, _ reason: CloseReason?) {
        self.connections[connection.id] = nil
        self.counters.openConnections = self.connections.count
        if let reason { self.emit(.closed(connection.id, reason)) }
        self.checkEmpty()
    }

    private func insert(_ connection: TCPConnection) {
        self.connections[connection.id] = connection
        self.counters.openConnections = self.connections.count
    }
}
