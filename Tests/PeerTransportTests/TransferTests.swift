import PeerTransport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TransferTests {
    @Test func `what is sent comes back from an echo`() async throws {
        let pair = try await TestPair()
        pair.dialler.transport.send(pair.dialled, Array("hello".utf8))
        let heard = try await pair.listener.receive(5, on: pair.accepted)
        pair.listener.transport.send(pair.accepted, heard)
        #expect(try await pair.dialler.receive(5, on: pair.dialled) == Array("hello".utf8))
        await pair.stop()
    }

    @Test func `large transfers go both ways at once within the budget`() async throws {
        let pair = try await TestPair()
        let size = 48 << 20
        let there = pattern(size, seed: 1)
        let back = pattern(size, seed: 2)
        pair.dialler.transport.send(pair.dialled, there)
        pair.listener.transport.send(pair.accepted, back)
        async let atListener = pair.listener.receive(size, on: pair.accepted)
        async let atDialler = pair.dialler.receive(size, on: pair.dialled)
        #expect(try await atListener == there)
        #expect(try await atDialler == back)
        for peer in [pair.dialler, pair.listener] {
            let counters = await peer.transport.counters()
            #expect(counters.peakUnacknowledgedBytes <= TransportLimits().unacknowledgedBytes)
            #expect(counters.sentBytes == UInt64(size))
            #expect(counters.receivedBytes == UInt64(size))
            #expect(counters.queuedBytes == 0)
            #expect(counters.heldBytes == 0)
        }
        await pair.stop()
    }

    @Test func `a consumer that does not acknowledge is not handed more than the budget`() async throws {
        let pair = try await TestPair()
        let limit = TransportLimits().unacknowledgedBytes
        let sent = pattern(24 << 20, seed: 3)
        pair.dialler.transport.send(pair.dialled, sent)
        var received: [UInt8] = []
        var unacknowledged = 0
        while received.count < sent.count {
            // Takes all that the transport gives without an acknowledgement, and only then acknowledges some.
            let isExhausted = unacknowledged > limit - TransportLimits.largestRead
            if isExhausted {
                #expect(await pair.listener.transport.counters().unacknowledgedBytes == unacknowledged)
                #expect(pair.listener.events.pending.isEmpty)
                let acknowledged = unacknowledged / 2 + 1
                unacknowledged -= acknowledged
                pair.listener.transport.resumeReading(pair.accepted, byteCount: acknowledged)
            }
            if unacknowledged > limit - TransportLimits.largestRead { continue }
            guard case .received(pair.accepted, let bytes) = await pair.listener.next() else { break }
            received += bytes
            unacknowledged += bytes.count
        }
        #expect(received == sent)
        #expect(await pair.listener.transport.counters().peakUnacknowledgedBytes <= limit)
        await pair.stop()
    }

    @Test func `many small sends arrive in order and are all reported as sent`() async throws {
        let pair = try await TestPair()
        var expected: [UInt8] = []
        for number in 0..<20_000 {
            let piece = pattern(number % 97, seed: UInt64(number))
            expected += piece
            pair.dialler.transport.send(pair.dialled, piece)
        }
        #expect(try await pair.listener.receive(expected.count, on: pair.accepted) == expected)
        var reported = 0
        while reported < expected.count {
            guard case .sent(pair.dialled, let byteCount) = await pair.dialler.next() else { break }
            reported += byteCount
        }
        #expect(reported == expected.count)
        await pair.stop()
    }

    @Test func `bytes that the kernel did not take are not reported as sent`() async throws {
        let peer = TestPeer()
        let deaf = try RawSocket(listeningWithBacklog: 1)
        let id = TransportID(rawValue: 7)
        peer.transport.dial(id, PeerAddress(host: "127.0.0.1", port: try deaf.port), timeout: .seconds(30))
        #expect(await peer.next() == .connected(id))
        // More than any kernel buffers for a peer that does not read.
        let total = 80 << 20
        for _ in 0..<80 { peer.transport.send(id, [UInt8](repeating: 7, count: 1 << 20)) }
        let counters = await peer.transport.counters()
        #expect(counters.sentBytes < UInt64(total))
        #expect(counters.queuedBytes + Int(counters.sentBytes) == total)
        peer.transport.close(id, afterFlush: false)
        #expect(await peer.nextExceptSent() == .closed(id, .requested))
        #expect(await peer.transport.counters().queuedBytes == 0)
        await peer.stop()
    }

    @Test func `many connections keep their bytes apart`() async throws {
        let dialler = TestPeer()
        let listener = TestPeer()
        let address = try await listener.listen()
        let count = 100
        async let echoes: Void = Self.echo(listener, connections: count)
        for number in 1...UInt64(count) {
            dialler.transport.dial(TransportID(rawValue: number), address, timeout: .seconds(60))
        }
        var received: [TransportID: [UInt8]] = [:]
        var isComplete = 0
        while isComplete < count {
            switch await dialler.nextExceptSent() {
            case .connected(let id):
                dialler.transport.send(id, pattern(10_000, seed: id.rawValue))
            case .received(let id, let bytes):
                received[id, default: []] += bytes
                dialler.transport.resumeReading(id, byteCount: bytes.count)
                if received[id]?.count == 10_000 {
                    isComplete += 1
                    dialler.transport.close(id, afterFlush: true)
                }
            case .closed(_, .requested):
                continue
            case let other:
                throw Unexpected(event: other)
            }
        }
        for (id, bytes) in received { #expect(bytes == pattern(10_000, seed: id.rawValue)) }
        await echoes
        await dialler.stop()
        await listener.stop()
    }

    /// Sends back what comes, until so many connections have ended.
    private static func echo(_ peer: TestPeer, connections: Int) async {
        var ended = 0
        while ended < connections {
            switch await peer.next() {
            case .received(let id, let bytes):
                peer.transport.send(id, bytes)
                peer.transport.resumeReading(id, byteCount: bytes.count)
            case .closed:
                ended += 1
            case .accepted, .connected, .sent, .dialFailed:
                continue
            }
        }
    }
}
