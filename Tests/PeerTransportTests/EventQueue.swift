import NIOConcurrencyHelpers
import PeerTransport

/// What a transport reported, to be taken one by one in order.
final class EventQueue: Sendable {
    private struct State {
        var events: [TransportEvent] = []
        var taken = 0
        var waiter: CheckedContinuation<TransportEvent, Never>?
    }

    private let state = NIOLockedValueBox(State())

    func push(_ event: TransportEvent) {
        let waiter = self.state.withLockedValue { state -> CheckedContinuation<TransportEvent, Never>? in
            defer { state.waiter = nil }
            if state.waiter == nil { state.events.append(event) }
            return state.waiter
        }
        waiter?.resume(returning: event)
    }

    /// Waits for the next event; the time limit of the test guards against one that never comes.
    func next() async -> TransportEvent {
        await withCheckedContinuation { continuation in
            let event = self.state.withLockedValue { state -> TransportEvent? in
                guard state.taken < state.events.count else {
                    state.waiter = continuation
                    return nil
                }
                let event = state.events[state.taken]
                state.taken += 1
                if state.taken == state.events.count {
                    state.events.removeAll()
                    state.taken = 0
                }
                return event
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    /// Events that nobody has taken yet.
    var pending: [TransportEvent] {
        self.state.withLockedValue { Array($0.events[$0.taken...]) }
    }
}

/// One transport on a thread of its own, with its events.
struct TestPeer: Sendable {
    let transport: TCPTransport
    let events = EventQueue()
    private let thread = TransportThread()

    init(limits: TransportLimits = TransportLimits()) {
        self.transport = TCPTransport(events: { [events] in events.push($0) }, limits: limits, thread: self.thread)
    }

    func next() async -> TransportEvent {
        await self.events.next()
    }

    /// The next event that is not about sent bytes.
    func nextExceptSent() async -> TransportEvent {
        while true {
            let event = await self.next()
            if case .sent = event { continue }
            return event
        }
    }

    func listen() async throws -> PeerAddress {
        try await self.transport.listen(on: PeerAddress(host: "127.0.0.1", port: 0))
    }

    func stop() async {
        await self.transport.shutdown()
        await self.thread.stop()
    }

    /// Takes events until so many bytes have come, acknowledging them; returns them.
    func receive(_ byteCount: Int, on id: TransportID) async throws -> [UInt8] {
        var received: [UInt8] = []
        while received.count < byteCount {
            switch await self.nextExceptSent() {
            case .received(id, let bytes):
                received += bytes
                self.transport.resumeReading(id, byteCount: bytes.count)
            case let other:
                throw Unexpected(event: other)
            }
        }
        return received
    }
}

/// An event that the test did not foresee.
struct Unexpected: Error {
    let event: TransportEvent
}

/// Two transports with one connection between them.
struct TestPair: Sendable {
    let dialler: TestPeer
    let listener: TestPeer
    let dialled = TransportID(rawValue: 1)
    let accepted: TransportID

    init(diallerLimits: TransportLimits = .init(), listenerLimits: TransportLimits = .init()) async throws {
        self.dialler = TestPeer(limits: diallerLimits)
        self.listener = TestPeer(limits: listenerLimits)
        let address = try await self.listener.listen()
        self.dialler.transport.dial(self.dialled, address, timeout: .seconds(30))
        let connected = await self.dialler.next()
        guard connected == .connected(self.dialled) else { throw Unexpected(event: connected) }
        let accepted = await self.listener.next()
        guard case .accepted(let id, let from) = accepted, from.host == "127.0.0.1" else {
            throw Unexpected(event: accepted)
        }
        self.accepted = id
    }

    func stop() async {
        await self.dialler.stop()
        await self.listener.stop()
    }
}

/// Bytes that show at each place whether something is missing, doubled or swapped.
func pattern(_ byteCount: Int, seed: UInt64) -> [UInt8] {
    var state = seed &* 2 &+ 1
    return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
        for index in 0..<byteCount {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            buffer[index] = UInt8(truncatingIfNeeded: state >> 33)
        }
        count = byteCount
    }
}
