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
        let (dialler, first) = try Endpoint.dialling(invite: invite)
        let answerer = try Endpoint.answering(admits: [], invites: [5, 6, 7])
        let said = Endpoint.converse(dialler, answerer, first)
        #expect(said.count == 3)
        let expected = PeerLink.LinkEvent.invited(try Endpoint.staticKey(1), inviteIndex: Int(invite) - 5)
        #expect(answerer.events == [expected])
        #expect(dialler.events == [.established(try Endpoint.staticKey(2))])
        dialler.receive(answerer.seal(.welcome(try SampleMessages.welcome())))
        #expect(dialler.messages == [.welcome(try SampleMessages.welcome())])
        // Nothing that is private was said in the clear.
        for bytes in said {
            for name in [UInt8(1), 2] { #expect(!bytes.contains(try Endpoint.staticKey(name).bytes.array)) }
        }
    }

    @Test func `members that do not know each other meet by the membership key, and nobody else does`() throws {
        let (dialler, first) = try Endpoint.dialling(membership: 9)
        let answerer = try Endpoint.answering(admits: [], membership: 9)
        let said = Endpoint.converse(dialler, answerer, first)
        #expect(said.count == 3)
        #expect(answerer.events == [.established(try Endpoint.staticKey(1))])
        #expect(dialler.events == [.established(try Endpoint.staticKey(2))])
        #expect(dialler.handshakeHash == answerer.handshakeHash && !dialler.handshakeHash.isEmpty)
        for bytes in said {
            for name in [UInt8(1), 2] { #expect(!bytes.contains(try Endpoint.staticKey(name).bytes.array)) }
        }
        for membership in [nil, UInt8(8)] {
            let (_, first) = try Endpoint.dialling(membership: 9)
            let stranger = try Endpoint.answering(admits: [1], invites: [9], membership: membership)
            #expect(stranger.receive(first).isEmpty)
            #expect(stranger.wasRefused)
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
