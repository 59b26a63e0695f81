import CRDTCore
import PeerCrypto
import Testing

@testable import SyncProtocol

/// The violations of the protocol that DESIGN §7 names, as far as a connection can tell: each is its end, and changes
/// nothing.
@Suite struct ProtocolViolationTests {
    /// Sends sealed bytes behind a good message; only that message may have an effect.
    private func expectViolation(_ bytes: [UInt8], _ comment: Comment? = nil) throws {
        let (dialler, answerer) = try Endpoint.connected()
        answerer.receive(dialler.seal(.ping(WallTime(milliseconds: 1))))
        let answer = answerer.receive(dialler.seal(encoded: bytes))
        #expect(answer.isEmpty && answerer.sawViolation && !answerer.isOpen, comment)
        #expect(answerer.messages == [.ping(WallTime(milliseconds: 1))], comment)
        answerer.receive(dialler.seal(.ping(WallTime(milliseconds: 2))))
        #expect(answerer.messages == [.ping(WallTime(milliseconds: 1))], comment)
        #expect(answerer.events.count == 3, comment)
    }

    @Test func `an overlong varint ends the session`() throws {
        try self.expectViolation([MessageKind.credit.rawValue, 2, 0x80, 0])
        try self.expectViolation([MessageKind.ping.rawValue, 0x81, 0, 5])
        try self.expectViolation(SampleMessages.framed(.pong, Array(repeating: 0xff, count: 10)))
        try self.expectViolation(SampleMessages.framed(.stored, [0x81, 0] + Array(repeating: 1, count: 49)))
    }

    @Test func `an unknown kind of message ends the session`() throws {
        for kind in [UInt8(0), 13, 127, 255] { try self.expectViolation([kind, 0], "kind \(kind)") }
        try self.expectViolation(SampleMessages.framed(.run, Compression.compress([2])), "a run of another format")
        try self.expectViolation(SampleMessages.framed(.ranges, [1, 0, 5]), "a claim of another kind")
        try self.expectViolation(SampleMessages.framed(.eagerness, [2]))
    }

    @Test func `a length beyond the limit ends the session`() throws {
        for kind in MessageKind.allCases {
            var bytes = [kind.rawValue]
            bytes.appendVarint(UInt64(MessageLimits.byteCountMax(of: kind)) + 1)
            try self.expectViolation(bytes, "\(kind)")
        }
    }

    @Test func `a list beyond its limit ends the session`() throws {
        let stored = (0...MessageLimits.storedEntryCountMax).map { SampleMessages.entry($0) }
        try self.expectViolation(Message.stored(stored).encoded())
        try self.expectViolation(SampleMessages.probe(pointCount: MessageLimits.probePointCountMax + 1).encoded())
        let wanted = SampleMessages.wanted(changeCount: MessageLimits.wantedChangeCountMax + 1)
        try self.expectViolation(wanted.encoded())
        let scattered = OperationRanges((0...UInt32(MessageLimits.wantedRangeCountMax)).map { 2 * $0 })
        #expect(scattered.all.count == MessageLimits.wantedRangeCountMax && scattered.contains(31))
        let welcome = try SampleMessages.welcome(certificateCount: Limits.certificateCountMax + 1)
        try self.expectViolation(Message.welcome(welcome).encoded())
        let ranges = (0...MessageLimits.rangeCountMax).map {
            FrontierRange(end: SampleMessages.replica($0 + 1), claim: .skip)
        }
        try self.expectViolation(Message.ranges(ranges).encoded())
        let half = (1...MessageLimits.rangeEntryCountMax / 2 + 1).map { SampleMessages.entry($0) }
        let more = half.map { SampleMessages.entry(Int($0.sequence) + half.count) }
        let end = SampleMessages.replica(half.count + 1)
        let split = [FrontierRange(end: end, claim: .entries(half)), FrontierRange(end: nil, claim: .entries(more))]
        try self.expectViolation(Message.ranges(split).encoded(), "entries are counted over all ranges")
    }

    @Test func `contents are asked for in one way, and each change once`() throws {
        let change = SampleMessages.branch(1, sequence: 5)
        let content = WantedContent(change: change, places: OperationRanges([0]))
        try self.expectViolation(Message.wanted([content, content]).encoded(), "a change twice")
        func wanted(_ ranges: [UInt8]) -> [UInt8] {
            var body: [UInt8] = [1]
            change.encode(to: &body)
            return SampleMessages.framed(.wanted, body + ranges)
        }
        #expect(try SampleMessages.read(wanted([1, 0, 0])) == [.wanted([content])])
        try self.expectViolation(wanted([0]), "no place")
        try self.expectViolation(wanted([2, 0, 0, 0, 0]), "the same range twice")
        try self.expectViolation(wanted([2, 0, 0, 1, 0]), "ranges that touch")
        try self.expectViolation(wanted([1, 0xff, 0xff, 3, 1]), "a place that no change has")
    }

    @Test func `trailing bytes end the session`() throws {
        for message in try SampleMessages.all() where message.kind != .run {
            let body = try SampleMessages.body(of: message) + [0]
            try self.expectViolation(SampleMessages.framed(message.kind, body), "\(message.kind)")
        }
        let run = try SampleMessages.run().encoded() + [0]
        try self.expectViolation(SampleMessages.framed(.run, Compression.compress(run)))
    }

    @Test func `a bad tag ends the connection, wherever a record was changed`() throws {
        let byteCount = try Endpoint.connected().dialler.seal(.ping(WallTime(milliseconds: 1))).count
        for position in 0..<byteCount {
            for bit in 0..<8 {
                let (dialler, answerer) = try Endpoint.connected()
                var record = dialler.seal(.ping(WallTime(milliseconds: 1)))
                record[position] ^= 1 << UInt8(bit)
                let next = dialler.seal(.ping(WallTime(milliseconds: 2)))
                #expect(answerer.receive(record + next).isEmpty)
                #expect(answerer.messages.isEmpty)
                // A length that was made greater may have the channel wait for bytes that never come.
                #expect(answerer.sawViolation || position < 2, "byte \(position), bit \(bit)")
            }
        }
    }

    @Test func `a record repeated, left out, or out of order ends the connection`() throws {
        func expectBadTag(_ arrange: ([[UInt8]]) -> [[UInt8]], messages: [Message]) throws {
            let (dialler, answerer) = try Endpoint.connected()
            let records = (1...3).map { dialler.seal(.ping(WallTime(milliseconds: $0))) }
            for record in arrange(records) { answerer.receive(record) }
            #expect(answerer.sawViolation)
            #expect(answerer.messages == messages)
        }
        try expectBadTag({ [$0[0], $0[0], $0[1]] }, messages: [.ping(WallTime(milliseconds: 1))])
        try expectBadTag({ [$0[0], $0[2], $0[1]] }, messages: [.ping(WallTime(milliseconds: 1))])
        try expectBadTag({ [$0[1], $0[0]] }, messages: [])
    }

    @Test func `a record sent back to its sender ends the connection`() throws {
        let (dialler, _) = try Endpoint.connected()
        dialler.receive(dialler.seal(.ping(WallTime(milliseconds: 1))))
        #expect(dialler.sawViolation && dialler.messages.isEmpty)
    }

    @Test func `anything after the close record is a violation`() throws {
        let (dialler, answerer) = try Endpoint.connected()
        let ping = dialler.seal(.ping(WallTime(milliseconds: 1)))
        answerer.receive(dialler.close() + ping)
        #expect(answerer.messages.isEmpty && answerer.sawViolation)
    }

    @Test func `operations of an unknown kind are carried byte-identical`() throws {
        let run = try SampleMessages.run()
        let (dialler, answerer) = try Endpoint.connected()
        answerer.receive(dialler.seal(.run(run)))
        guard case .run(let received)? = answerer.messages.first else {
            Issue.record("no run arrived")
            return
        }
        #expect(received == run && received.encoded() == run.encoded())
        let cryptography = SodiumCryptography()
        #expect(
            ChainHash.hashes(of: received, previous: .zero, cryptography)
                == ChainHash.hashes(of: run, previous: .zero, cryptography)
        )
        #expect(try received.edit(received.operations[1]) == .unknown(kind: 231, body: [1, 2, 3]))
    }
}
