import PeerTransport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DiallingTests {
    private let id = TransportID(rawValue: 1)

    @Test func `a dial to a port where nothing listens is refused`() async throws {
        let peer = TestPeer()
        let port: UInt16
        do {
            let raw = try RawSocket(listeningWithBacklog: 1)
            port = try raw.port
        }
        peer.transport.dial(self.id, PeerAddress(host: "127.0.0.1", port: port), timeout: .seconds(30))
        #expect(await peer.next() == .dialFailed(self.id, .refused))
        await peer.stop()
    }

    @Test func `a dial through the resolver is refused just so`() async throws {
        let peer = TestPeer()
        let port: UInt16
        do {
            let raw = try RawSocket(listeningWithBacklog: 1)
            port = try raw.port
        }
        peer.transport.dial(self.id, PeerAddress(host: "localhost", port: port), timeout: .seconds(30))
        #expect(await peer.next() == .dialFailed(self.id, .refused))
        await peer.stop()
    }

    @Test func `a name that cannot be is unknown`() async throws {
        let peer = TestPeer()
        peer.transport.dial(self.id, PeerAddress(host: "no..such..host", port: 1), timeout: .seconds(30))
        #expect(await peer.next() == .dialFailed(self.id, .unknownHost))
        await peer.stop()
    }

    @Test func `a dial that is not answered times out, and a dial can be cancelled`() async throws {
        let silent = try SilentHost()
        let peer = TestPeer()
        peer.transport.dial(self.id, try silent.address, timeout: .milliseconds(50))
        #expect(await peer.next() == .dialFailed(self.id, .timedOut))
        let other = TransportID(rawValue: 2)
        peer.transport.dial(other, try silent.address, timeout: .seconds(1000))
        peer.transport.close(other, afterFlush: true)
        #expect(await peer.next() == .dialFailed(other, .cancelled))
        let third = TransportID(rawValue: 3)
        peer.transport.dial(third, try silent.address, timeout: .seconds(1000))
        await peer.transport.shutdown()
        #expect(await peer.next() == .dialFailed(third, .cancelled))
        #expect(await peer.transport.counters().pendingDials == 0)
        await peer.stop()
        #expect(peer.events.pending.isEmpty)
    }

    @Test func `no more connections are accepted or dialled than the limit allows`() async throws {
        var limits = TransportLimits()
        limits.connections = 2
        let listener = TestPeer(limits: limits)
        let address = try await listener.listen()
        let dialler = TestPeer()
        var accepted: [TransportID] = []
        for number in 1...2 as ClosedRange<UInt64> {
            let id = TransportID(rawValue: number)
            dialler.transport.dial(id, address, timeout: .seconds(30))
            #expect(await dialler.next() == .connected(id))
            guard case .accepted(let id, _) = await listener.next() else {
                Issue.record("nothing was accepted")
                return
            }
            accepted.append(id)
        }
        #expect(Set(accepted).count == 2)
        #expect(accepted.allSatisfy { $0.isAccepted })
        let third = TransportID(rawValue: 3)
        dialler.transport.dial(third, address, timeout: .seconds(30))
        let outcome = await dialler.next()
        if outcome == .connected(third) {
            guard case .closed(third, _) = await dialler.next() else {
                Issue.record("the third was not closed")
                return
            }
        }
        #expect(await listener.transport.counters().refusedAccepts == 1)
        listener.transport.dial(self.id, address, timeout: .seconds(30))
        #expect(await listener.next() == .dialFailed(self.id, .tooManyConnections))
        listener.transport.close(accepted[0], afterFlush: false)
        #expect(await listener.next() == .closed(accepted[0], .requested))
        dialler.transport.dial(TransportID(rawValue: 4), address, timeout: .seconds(30))
        guard case .accepted = await listener.next() else {
            Issue.record("a free place was not given to the next connection")
            return
        }
        await dialler.stop()
        await listener.stop()
    }

    @Test func `a peer on the wildcard address sees plain IPv4 addresses`() async throws {
        let listener = TestPeer()
        let bound = try await listener.transport.listen(on: PeerAddress(host: PeerAddress.anyHost, port: 0))
        let dialler = TestPeer()
        dialler.transport.dial(self.id, PeerAddress(host: "127.0.0.1", port: bound.port), timeout: .seconds(30))
        #expect(await dialler.next() == .connected(self.id))
        guard case .accepted(_, let from) = await listener.next() else {
            Issue.record("nothing was accepted")
            return
        }
        #expect(from.host == "127.0.0.1")
        await dialler.stop()
        await listener.stop()
    }

    @Test func `a port in use is an error in one sentence`() async throws {
        let first = TestPeer()
        let address = try await first.listen()
        let second = TestPeer()
        do {
            _ = try await second.transport.listen(on: address)
            Issue.record("two listeners share one port")
        } catch {
            #expect(error.description == "Cannot listen on \(address): the port is in use already.")
        }
        await first.stop()
        await second.stop()
    }
}

/// A listener whose queue is full, so that the kernel answers no more connections: a dial to it hangs.
private struct SilentHost: ~Copyable {
    private let listener: RawSocket
    private let first: RawSocket
    private let second: RawSocket
    private let third: RawSocket

    init() throws {
        let listener = try RawSocket(listeningWithBacklog: 0)
        let port = try listener.port
        let first = try RawSocket(connectingTo: port)
        let second = try RawSocket(connectingTo: port, blocking: false)
        let third = try RawSocket(connectingTo: port, blocking: false)
        self.listener = listener
        self.first = first
        self.second = second
        self.third = third
    }

    var address: PeerAddress {
        get throws { PeerAddress(host: "127.0.0.1", port: try self.listener.port) }
    }
}
