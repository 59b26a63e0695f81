import CRDTCore
import SyncProtocol
import Testing

@Suite struct LinkConversationTests {
    @Test func `known peers learn each other's keys and exchange messages`() throws {
        let (dialler, answerer) = try Endpoint.connected()
        #expect(dialler.events == [.established(try Endpoint.staticKey(2))])
        #expect(answerer.events == [.established(try Endpoint.staticKey(1))])
        let messages = try SampleMessages.all()
        answerer.receive(messages.flatMap { dialler.seal($0) })
        dialler.receive(messages.flatMap { answerer.seal($0) })
        #expect(answerer.messages == messages)
        #expect(dialler.messages == messages)
        #expect(dialler.end == nil && answerer.end == nil)
    }

    @Test func `bytes may come one at a time`() throws {
        let (dialler, first) = try Endpoint.dialling()
        let answerer = try Endpoint.answering()
        let answer = first.flatMap { answerer.receive([$0]) }
        for byte in answer { dialler.receive([byte]) }
        #expect(dialler.isOpen && answerer.isOpen)
        for byte in dialler.seal(.ping(WallTime(milliseconds: 7))) { answerer.receive([byte]) }
        #expect(answerer.messages == [.ping(WallTime(milliseconds: 7))])
    }

    @Test func `messages right behind the last handshake message are not lost`() throws {
        let (dialler, first) = try Endpoint.dialling()
        let answerer = try Endpoint.answering()
        let answer = answerer.receive(first)
        let pings: [Message] = [.ping(WallTime(milliseconds: 1)), .ping(WallTime(milliseconds: 2))]
        dialler.receive(answer + pings.flatMap { answerer.seal($0) })
        #expect(dialler.messages == pings)
    }

    @Test(arguments: [UInt8(5), 6, 7])
    func `of several open invites the one that was used is named`(invite: UInt8) throws {
        let request = JoinRequest(device: SampleMessages.device, deviceName: "name").encoded
        let (dialler, first) = try Endpoint.dialling(invite: invite, request: request)
        let answerer = try Endpoint.answering(admits: [], invites: [5, 6, 7])
        let said = Endpoint.converse(dialler, answerer, first)
        #expect(said.count == 3)
        let expected = PeerLink.LinkEvent.paired(
            try Endpoint.staticKey(1),
            inviteIndex: Int(invite) - 5,
            request: request
        )
        #expect(answerer.events == [expected])
        #expect(dialler.events == [.established(try Endpoint.staticKey(2))])
        dialler.receive(answerer.seal(.welcome(try SampleMessages.welcome())))
        #expect(dialler.messages == [.welcome(try SampleMessages.welcome())])
        // Nothing that is private was said in the clear.
        for bytes in said {
            #expect(!bytes.contains(request.suffix(4)))
            for name in [UInt8(1), 2] { #expect(!bytes.contains(try Endpoint.staticKey(name).bytes.array)) }
        }
    }

    @Test func `a goodbye is told from a cut, and nothing can be sent after it`() throws {
        let (dialler, answerer) = try Endpoint.connected()
        answerer.receive(dialler.seal(.ping(WallTime(milliseconds: 1))) + dialler.close())
        #expect(answerer.messages == [.ping(WallTime(milliseconds: 1))])
        #expect(answerer.end == .closed)
        #expect(dialler.seal(.ping(WallTime(milliseconds: 2))).isEmpty)
        #expect(!dialler.isOpen && !answerer.isOpen)

        let (other, cut) = try Endpoint.connected()
        cut.receive(Array(other.seal(.ping(WallTime(milliseconds: 1))).dropLast()))
        #expect(cut.end == nil, "whoever sees the connection end now knows that no goodbye was said")
    }

    @Test func `after its end a link says and hears nothing`() throws {
        let (dialler, answerer) = try Endpoint.connected()
        let record = dialler.seal(.ping(WallTime(milliseconds: 1)))
        answerer.receive([0, 1, 2])
        #expect(answerer.sawViolation)
        let events = answerer.events
        #expect(answerer.receive(record).isEmpty)
        #expect(answerer.events == events)
        #expect(answerer.seal(.ping(WallTime(milliseconds: 1))).isEmpty && answerer.close().isEmpty)
    }
}
