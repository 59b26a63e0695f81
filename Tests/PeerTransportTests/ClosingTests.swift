import PeerTransport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ClosingTests {
    @Test func `close after flush delivers everything, even against incoming bytes`() async throws {
        let pair = try await TestPair()
        let sent = pattern(24 << 20, seed: 4)
        // What the listener sends is never read; a careless close would answer it with a reset that loses the rest.
        pair.listener.transport.send(pair.accepted, pattern(4 << 20, seed: 5))
        pair.dialler.transport.send(pair.dialled, sent)
        pair.dialler.transport.close(pair.dialled, afterFlush: true)
        #expect(try await pair.listener.receive(sent.count, on: pair.accepted) == sent)
        #expect(await pair.listener.nextExceptSent() == .closed(pair.accepted, .closedByPeer))
        var last = await pair.dialler.nextExceptSent()
        while case .received = last { last = await pair.dialler.nextExceptSent() }
        #expect(last == .closed(pair.dialled, .requested))
        #expect(await pair.dialler.transport.counters().sentBytes == UInt64(sent.count))
        await pair.stop()
        #expect(pair.dialler.events.pending.isEmpty)
        #expect(pair.listener.events.pending.isEmpty)
    }

    @Test func `both sides may close after a flush at once`() async throws {
        let pair = try await TestPair()
        let size = 8 << 20
        for (peer, id) in [(pair.dialler, pair.dialled), (pair.listener, pair.accepted)] {
            peer.transport.send(id, pattern(size, seed: 6))
            peer.transport.close(id, afterFlush: true)
        }
        for (peer, id) in [(pair.dialler, pair.dialled), (pair.listener, pair.accepted)] {
            var last = await peer.nextExceptSent()
            while case .received = last { last = await peer.nextExceptSent() }
            #expect(last == .closed(id, .requested))
            #expect(await peer.transport.counters().sentBytes == UInt64(size))
        }
        await pair.stop()
    }

    @Test func `the end of a stream waits for bytes that the consumer has no room for`() async throws {
        var limits = TransportLimits()
        limits.unacknowledgedBytes = TransportLimits.largestRead
        let pair = try await TestPair(listenerLimits: limits)
        pair.dialler.transport.send(pair.dialled, [1])
        #expect(await pair.listener.next() == .received(pair.accepted, [1]))
        // One unacknowledged byte leaves no room for a whole read.
        let rest = pattern(10_000, seed: 7)
        pair.dialler.transport.send(pair.dialled, rest)
        pair.dialler.transport.close(pair.dialled, afterFlush: true)
        while await pair.listener.transport.counters().heldBytes < rest.count { await Task.yield() }
        #expect(pair.listener.events.pending.isEmpty)
        pair.listener.transport.resumeReading(pair.accepted, byteCount: 1)
        #expect(try await pair.listener.receive(rest.count, on: pair.accepted) == rest)
        #expect(await pair.listener.next() == .closed(pair.accepted, .closedByPeer))
        #expect(await pair.listener.transport.counters().heldBytes == 0)
        await pair.stop()
    }

    @Test func `a connection with bytes held back can still be closed`() async throws {
        var limits = TransportLimits()
        limits.unacknowledgedBytes = TransportLimits.largestRead
        let pair = try await TestPair(listenerLimits: limits)
        pair.dialler.transport.send(pair.dialled, [1])
        #expect(await pair.listener.next() == .received(pair.accepted, [1]))
        pair.dialler.transport.send(pair.dialled, [2, 3])
        pair.dialler.transport.close(pair.dialled, afterFlush: true)
        while await pair.listener.transport.counters().heldBytes < 2 { await Task.yield() }
        pair.listener.transport.close(pair.accepted, afterFlush: true)
        #expect(await pair.listener.next() == .closed(pair.accepted, .requested))
        let counters = await pair.listener.transport.counters()
        #expect(counters.heldBytes == 0)
        #expect(counters.unacknowledgedBytes == 0)
        #expect(counters.openConnections == 0)
        await pair.stop()
    }

    @Test func `a reset is reported as a failure`() async throws {
        let peer = TestPeer()
        let address = try await peer.listen()
        let raw = try RawSocket(connectingTo: address.port)
        guard case .accepted(let id, _) = await peer.next() else {
            Issue.record("nothing was accepted")
            return
        }
        raw.reset()
        guard case .closed(id, .failed(let reason)) = await peer.next() else {
            Issue.record("a reset did not end the connection with a failure")
            return
        }
        #expect(reason == "the peer reset the connection")
        await peer.stop()
    }

    @Test func `a peer that ends its stream is taken to have closed`() async throws {
        let peer = TestPeer()
        let address = try await peer.listen()
        let raw = try RawSocket(connectingTo: address.port)
        guard case .accepted(let id, _) = await peer.next() else {
            Issue.record("nothing was accepted")
            return
        }
        try raw.write([1, 2, 3])
        raw.endStream()
        #expect(await peer.next() == .received(id, [1, 2, 3]))
        #expect(await peer.next() == .closed(id, .closedByPeer))
        #expect(try raw.readToEnd() == [])
        await peer.stop()
    }

    @Test func `a peer that never reads cannot hold up a close for ever`() async throws {
        var limits = TransportLimits()
        limits.closeGraceSeconds = 1
        let peer = TestPeer(limits: limits)
        let deaf = try RawSocket(listeningWithBacklog: 1)
        let id = TransportID(rawValue: 1)
        peer.transport.dial(id, PeerAddress(host: "127.0.0.1", port: try deaf.port), timeout: .seconds(30))
        #expect(await peer.next() == .connected(id))
        peer.transport.send(id, [UInt8](repeating: 1, count: 80 << 20))
        peer.transport.close(id, afterFlush: true)
        #expect(await peer.nextExceptSent() == .closed(id, .flushTimedOut))
        await peer.stop()
    }

    @Test func `commands for a connection that is gone do nothing`() async throws {
        let pair = try await TestPair()
        pair.dialler.transport.close(pair.dialled, afterFlush: false)
        #expect(await pair.dialler.next() == .closed(pair.dialled, .requested))
        pair.dialler.transport.send(pair.dialled, [1])
        pair.dialler.transport.resumeReading(pair.dialled, byteCount: 5)
        pair.dialler.transport.close(pair.dialled, afterFlush: true)
        #expect(await pair.listener.next() == .closed(pair.accepted, .closedByPeer))
        await pair.stop()
        #expect(pair.dialler.events.pending.isEmpty)
        #expect(pair.listener.events.pending.isEmpty)
    }

    @Test func `shutdown ends each connection once and refuses what comes after`() async throws {
        let pair = try await TestPair()
        await pair.listener.transport.shutdown()
        #expect(pair.listener.events.pending == [.closed(pair.accepted, .requested)])
        #expect(await pair.dialler.next() == .closed(pair.dialled, .closedByPeer))
        let late = TransportID(rawValue: 9)
        pair.listener.transport.dial(late, PeerAddress(host: "127.0.0.1", port: 9), timeout: .seconds(1))
        _ = await pair.listener.next()
        #expect(await pair.listener.next() == .dialFailed(late, .cancelled))
        await #expect(throws: ListenError.self) { try await pair.listener.listen() }
        await pair.stop()
    }

    @Test func `the budget never goes below zero or above its limit`() {
        var budget = InboundBudget(limit: TransportLimits.largestRead + 10)
        budget.handOut(10)
        #expect(budget.hasRoom)
        budget.handOut(1)
        #expect(!budget.hasRoom)
        let none = budget.acknowledge(-5)
        let all = budget.acknowledge(.max)
        #expect((none, all) == (0, 11))
        #expect(budget.unacknowledged == 0)
        #expect(budget.peak == 11)
    }
}
