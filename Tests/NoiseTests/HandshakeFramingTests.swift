import SyncProtocol
import Testing

struct HandshakeFramingTests {
    typealias Greeting = HandshakeFraming.Greeting

    @Test func `the greetings are those of the protocol`() {
        #expect(Greeting.pairing.bytes == Array("peerd/1p".utf8))
        #expect(Greeting.known.bytes == Array("peerd/1k".utf8))
        #expect(Greeting.pairing.pattern.protocolName == "Noise_XXpsk0+psk3_25519_ChaChaPoly_SHA512")
        #expect(Greeting.known.pattern.protocolName == "Noise_IK_25519_ChaChaPoly_SHA512")
        #expect(Greeting.allCases.allSatisfy { $0.bytes.count == HandshakeFraming.greetingByteCount })
    }

    @Test(arguments: Greeting.allCases)
    func `greeting, messages and what follows come out however they arrive`(_ greeting: Greeting) throws {
        let messages = [pattern(1), pattern(300), pattern(HandshakeFraming.messageByteCountMax)]
        let rest: [UInt8] = [0, 1, 2]
        let framed = try messages.flatMap { try #require(HandshakeFraming.framed($0)) }
        let sent = greeting.bytes + framed
        for pieceByteCount in [1, 2, 3, 8, 9, 500, sent.count] {
            var reader = HandshakeReader(awaitsGreeting: true)
            var items: [HandshakeFraming.Item] = []
            for start in stride(from: 0, to: sent.count, by: pieceByteCount) {
                reader.append(Array(sent[start..<min(start + pieceByteCount, sent.count)]))
                while true {
                    let item = reader.next()
                    guard item != .needsMore else { break }
                    items.append(item)
                }
            }
            reader.append(rest)
            #expect(items == [.greeting(greeting)] + messages.map { .message($0) })
            #expect(reader.takeRemainder() == rest)
        }
    }

    @Test func `the dialling side awaits no greeting`() {
        var reader = HandshakeReader(awaitsGreeting: false)
        reader.append([0, 1, 7])
        #expect(reader.next() == .message([7]))
    }

    @Test(arguments: 0..<8)
    func `a greeting is refused at its first wrong byte`(_ offset: Int) {
        for greeting in Greeting.allCases {
            var wrong = greeting.bytes
            wrong[offset] ^= 0x80
            var reader = HandshakeReader(awaitsGreeting: true)
            reader.append(Array(wrong[..<offset]))
            #expect(reader.next() == .needsMore)
            reader.append([wrong[offset]])
            #expect(reader.next() == .violation(.unknownGreeting))
            reader.append(greeting.bytes)
            #expect(reader.next() == .violation(.unknownGreeting))
            #expect(reader.takeRemainder().isEmpty)
        }
    }

    @Test(arguments: [0, HandshakeFraming.messageByteCountMax + 1, 65535])
    func `a message of a forbidden length is refused before it is there`(_ count: Int) {
        #expect(HandshakeFraming.framed([UInt8](repeating: 0, count: count)) == nil)
        var reader = HandshakeReader(awaitsGreeting: false)
        reader.append([UInt8(count >> 8)])
        #expect(reader.next() == .needsMore)
        reader.append([UInt8(count & 0xff)])
        #expect(reader.next() == .violation(.messageLength))
    }
}
