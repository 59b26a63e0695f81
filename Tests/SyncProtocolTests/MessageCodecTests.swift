import CRDTCore
import Testing

@testable import SyncProtocol

@Suite struct MessageCodecTests {
    @Test func `every kind comes back from its bytes as it was`() throws {
        let messages = try SampleMessages.all()
        #expect(Set(messages.map(\.kind)) == Set(MessageKind.allCases))
        for message in messages { #expect(try SampleMessages.read(message.encoded()) == [message]) }
    }

    @Test func `a body that ends too soon is refused at every length`() throws {
        for message in try SampleMessages.all() {
            let body = try SampleMessages.body(of: message)
            for count in body.indices {
                #expect(throws: WireError.self, "\(message.kind) with \(count) bytes") {
                    try SampleMessages.read(SampleMessages.framed(message.kind, Array(body.prefix(count))))
                }
            }
        }
    }

    @Test func `a message that has not all arrived is awaited at every length`() throws {
        for message in try SampleMessages.all() {
            let bytes = message.encoded()
            for count in bytes.indices {
                #expect(try SampleMessages.read(Array(bytes.prefix(count))) == [], "\(message.kind)")
            }
        }
    }

    @Test func `a changed byte is refused or makes another message of one encoding`() throws {
        var otherCount = 0
        for message in try SampleMessages.all() {
            let body = try SampleMessages.body(of: message)
            // Of sums, which are thousands of bytes, some.
            for position in stride(from: 0, to: body.count, by: 1 + body.count / 2048 * 16) {
                for bit in 0..<8 {
                    var changed = body
                    changed[position] ^= 1 << UInt8(bit)
                    let bytes = SampleMessages.framed(message.kind, changed)
                    guard let read = try? SampleMessages.read(bytes), let other = read.first else { continue }
                    let isRun = message.kind == .run
                    #expect(isRun || other != message, "\(message.kind), byte \(position)")
                    #expect(try SampleMessages.read(other.encoded()) == [other])
                    otherCount += 1
                }
            }
        }
        // Each bit of a hash makes another message, and there are several with hashes.
        #expect(otherCount > 8 * Bytes32.byteCount)
    }

    @Test func `lists at their limits are taken`() throws {
        let stored = (1...MessageLimits.storedEntryCountMax).map { SampleMessages.entry($0) }
        let entries = (1...MessageLimits.rangeEntryCountMax).map { SampleMessages.entry($0) }
        let ranges = (1...MessageLimits.rangeCountMax).map {
            FrontierRange(end: SampleMessages.replica($0), claim: .fingerprint(SampleMessages.hash))
        }
        let messages: [Message] = [
            .stored(stored), .ranges([FrontierRange(end: nil, claim: .entries(entries))]), .ranges(ranges),
            SampleMessages.probe(pointCount: MessageLimits.probePointCountMax),
            SampleMessages.wanted(changeCount: MessageLimits.wantedChangeCountMax),
            .welcome(try SampleMessages.welcome(certificateCount: Limits.certificateCountMax)),
        ]
        for message in messages { #expect(try SampleMessages.read(message.encoded()) == [message]) }
    }

    @Test func `a later version of the greeting may say more`() throws {
        let hello = SampleMessages.hello(version: Hello.currentVersion + 1)
        let body = try SampleMessages.body(of: .hello(hello)) + [1, 2, 3]
        #expect(try SampleMessages.read(SampleMessages.framed(.hello, body)) == [.hello(hello)])
    }

    @Test func `ranges must ascend and hold their own entries`() {
        func refused(_ ranges: [FrontierRange]) {
            #expect(throws: WireError.notCanonical) { try SampleMessages.read(Message.ranges(ranges).encoded()) }
        }
        let two = SampleMessages.replica(2)
        refused([FrontierRange(end: two, claim: .skip), FrontierRange(end: two, claim: .skip)])
        refused([FrontierRange(end: two, claim: .skip), FrontierRange(end: SampleMessages.replica(1), claim: .skip)])
        refused([FrontierRange(end: nil, claim: .skip), FrontierRange(end: two, claim: .skip)])
        refused([FrontierRange(end: two, claim: .entries([SampleMessages.entry(2)]))])
        refused([
            FrontierRange(end: two, claim: .skip), FrontierRange(end: nil, claim: .answer([SampleMessages.entry(1)])),
        ])
        refused([FrontierRange(end: nil, claim: .entries([SampleMessages.entry(2), SampleMessages.entry(2)]))])
        refused([FrontierRange(end: nil, claim: .entries([SampleMessages.entry(2), SampleMessages.entry(1)]))])
        let branch = SampleMessages.branch(2, sequence: 1)
        refused([FrontierRange(end: nil, claim: .entries([SampleMessages.entry(2), branch]))])
    }

    @Test func `the points of a probe ascend, and there is one`() {
        let point = ChainPoint(sequence: 4, hash: .zero)
        let twice = Message.probe(ChainProbe(replica: SampleMessages.replica, points: [point, point]))
        #expect(throws: WireError.notCanonical) { try SampleMessages.read(twice.encoded()) }
        #expect(throws: WireError.truncated) {
            try SampleMessages.read(SampleMessages.probe(pointCount: 0).encoded())
        }
    }

    @Test func `a request to join comes back from its bytes, and nothing else is one`() throws {
        let request = Message.join(SampleMessages.joinRequest(name: "Schreibtisch"))
        #expect(try SampleMessages.read(request.encoded()) == [request])
        let long = String(repeating: "x", count: Limits.nameByteCountMax + 1)
        #expect(throws: WireError.overLimit) {
            try SampleMessages.read(Message.join(SampleMessages.joinRequest(name: long)).encoded())
        }
    }
}
