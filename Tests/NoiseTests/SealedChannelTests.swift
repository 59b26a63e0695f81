import PeerCrypto
import SyncProtocol
import Testing

struct SealedChannelTests {
    @Test(arguments: [1, 2, 100, 65517, 65518, 65519, 131_036, 131_037, 300_000])
    func `what one side seals the other opens, both ways`(_ count: Int) throws {
        var pair = try ChannelPair()
        let message = pattern(count)
        let there = pair.left.seal(message, now: 0)
        #expect(records(in: there).allSatisfy { $0.count <= 2 + 65535 })
        #expect(records(in: there).count == (count + 65517) / 65518)
        let opened = pair.right.open(there, now: 0)
        #expect(Array(opened.stream) == message)
        #expect(opened.end == nil)
        let back = pair.right.seal(message, now: 0)
        #expect(back != there)
        #expect(Array(pair.left.open(back, now: 0).stream) == message)
    }

    @Test func `nothing to seal makes no record`() throws {
        var pair = try ChannelPair()
        #expect(pair.left.seal([], now: 0).isEmpty)
        let opened = pair.right.open([], now: 0)
        #expect(opened.stream.isEmpty)
        #expect(opened.end == nil)
    }

    @Test(arguments: [1, 2, 3, 7, 18, 19, 20, 64, 1000, 65535, 65536, 65537, 65538])
    func `records may arrive in pieces of any size`(_ pieceByteCount: Int) throws {
        var pair = try ChannelPair(sendingLimits: .records(3), receivingLimits: .records(4))
        var sent: [UInt8] = []
        var sealed: [UInt8] = []
        for count in [1, 5, 200, 3, pieceByteCount < 64 ? 500 : 140_000, 1, 9] {
            sent += pattern(count)
            sealed += pair.left.seal(pattern(count), now: 0)
        }
        sealed += pair.left.close(now: 0)
        var received: [UInt8] = []
        var offset = 0
        while offset < sealed.count {
            let end = min(offset + pieceByteCount, sealed.count)
            let opened = pair.right.open(Array(sealed[offset..<end]), now: 0)
            received += opened.stream
            #expect(opened.end == (end == sealed.count ? .closed : nil))
            offset = end
        }
        #expect(received == sent)
    }

    @Test func `a changed bit in any byte ends the connection for good`() throws {
        let first = pattern(40)
        let second = pattern(50)
        var reference = try ChannelPair()
        let sealed = [reference.left.seal(first, now: 0), reference.left.seal(second, now: 0)]
        for offset in sealed[1].indices.dropFirst(2) {
            var pair = try ChannelPair()
            var changed = sealed[1]
            changed[offset] ^= 1 << (offset % 8)
            let opened = pair.right.open(sealed[0] + changed, now: 0)
            #expect(Array(opened.stream) == first, "what was sound before stays")
            #expect(opened.end == .violation(.badTag), "byte \(offset)")
            let after = pair.right.open(sealed[1], now: 0)
            #expect(after.stream.isEmpty)
            #expect(after.end == .violation(.badTag))
        }
    }

    @Test func `a changed length never lets a changed stream through`() throws {
        var reference = try ChannelPair()
        let sealed = reference.left.seal(pattern(40), now: 0) + reference.left.seal(pattern(50), now: 0)
        for bit in 0..<16 {
            var pair = try ChannelPair()
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            let opened = pair.right.open(changed, now: 0)
            #expect(opened.stream.isEmpty)
        }
    }

    @Test func `records repeated, swapped or left out end the connection`() throws {
        for order in [[0, 0], [1], [1, 0], [0, 2], [0, 1, 0], [0, 1, 1]] {
            var pair = try ChannelPair()
            let sealed = (0..<3).map { _ in pair.left.seal(pattern(10), now: 0) }
            let opened = pair.right.open(order.flatMap { sealed[$0] }, now: 0)
            #expect(opened.end == .violation(.badTag), "\(order)")
        }
    }

    @Test func `one's own records sent back end the connection`() throws {
        var pair = try ChannelPair()
        let sealed = pair.left.seal(pattern(10), now: 0)
        #expect(pair.left.open(sealed, now: 0).end == .violation(.badTag))
    }

    @Test(arguments: 0..<17)
    func `a record too short to be one ends the connection as soon as its length is there`(_ count: Int) throws {
        var pair = try ChannelPair()
        let length: [UInt8] = [0, UInt8(count)]
        #expect(pair.right.open([length[0]], now: 0).end == nil)
        #expect(pair.right.open([length[1]], now: 0).end == .violation(.shortRecord))
        var other = try ChannelPair()
        let whole = length + [UInt8](repeating: 0, count: count)
        #expect(other.right.open(whole, now: 0).end == .violation(.shortRecord))
    }

    @Test func `a close record shows that nothing was cut off`() throws {
        var pair = try ChannelPair()
        let sealed = pair.left.seal(pattern(10), now: 0) + pair.left.close(now: 0)
        let canSeal = pair.left.canSeal
        #expect(!canSeal)
        #expect(pair.left.seal([1], now: 0).isEmpty)
        #expect(pair.left.close(now: 0).isEmpty)

        let opened = pair.right.open(Array(sealed.dropLast()), now: 0)
        #expect(opened.end == nil)
        var sawClose = pair.right.sawClose
        #expect(!sawClose)
        #expect(Array(opened.stream) == pattern(10))
        #expect(pair.right.open([sealed[sealed.count - 1]], now: 0).end == .closed)
        sawClose = pair.right.sawClose
        #expect(sawClose)
        #expect(pair.right.open([], now: 0).end == .closed)

        let back = pair.right.seal([4], now: 0)
        #expect(Array(pair.left.open(back, now: 0).stream) == [4], "the other direction goes on")
    }

    @Test func `anything after a close record is a violation`() throws {
        var pair = try ChannelPair()
        let close = pair.left.close(now: 0)
        #expect(pair.right.open(close + [0], now: 0).end == .violation(.recordAfterClose))
        var other = try ChannelPair()
        #expect(other.right.open(close, now: 0).end == .closed)
        #expect(other.right.open([0], now: 0).end == .violation(.recordAfterClose))
    }

    @Test func `authentic records that make no sense end the connection`() throws {
        let cases: [([UInt8], SealedChannel.Violation)] = [
            ([0], .shortRecord),
            ([1, 0], .malformedRecord),
            ([2, 0], .malformedRecord),
            ([3], .malformedRecord),
            ([255, 1, 2], .malformedRecord),
        ]
        for (plaintext, violation) in cases {
            var pair = try Pair(.known)
            _ = try pair.exchange(upTo: 2)
            var sessions = try pair.finish()
            var record = plaintext
            try sessions.initiator.sending.sealInPlace(&record, from: 0, authenticating: RawSpan())
            var channel = SealedChannel(sessions.responder)
            let opened = channel.open([0, UInt8(record.count)] + record, now: 0)
            #expect(opened.stream.isEmpty)
            #expect(opened.end == .violation(violation), "\(plaintext)")
        }
    }
}
