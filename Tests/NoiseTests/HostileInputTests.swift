import PeerCrypto
import SyncProtocol
import Testing

struct HostileInputTests {
    @Test(arguments: 0..<40 as Range<UInt8>)
    func `random bytes in random pieces trap nowhere and open nothing`(_ seed: UInt8) throws {
        guard var random = EntropyStream(seed: presharedKey(seed)) else { throw KeyRefused() }
        for _ in 0..<50 {
            var channels = try ChannelPair()
            var reader = HandshakeReader(awaitsGreeting: random.nextUInt64().isMultiple(of: 2))
            for _ in 0..<20 {
                var piece = random.bytes(Int(random.nextUInt64() % 300))
                // Small lengths make whole records and messages likely.
                if let first = piece.first { piece[0] = first & 1 }
                #expect(channels.right.open(piece, now: random.nextUInt64()).stream.isEmpty, "seed \(seed)")
                reader.append(piece)
                for _ in 0..<piece.count where reader.next() != .needsMore { continue }
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt8>, HandshakeFraming.Greeting.allCases)
    func `random handshake messages trap nowhere`(_ seed: UInt8, _ greeting: HandshakeFraming.Greeting) throws {
        guard var random = EntropyStream(seed: presharedKey(seed)) else { throw KeyRefused() }
        for index in 0..<Pair.messageCount(greeting) {
            let message = random.bytes(Int(random.nextUInt64() % 200))
            let failure = try Pair.failure(greeting, message: index) { _ in message }
            #expect(failure != nil, "seed \(seed), message \(index)")
        }
    }
}
