import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

/// Who has no right to be here gets no answer, no name and no key, and changes nothing (DESIGN §7).
@Suite struct StrangerTests {
    /// Expects that bytes lead to no answer and to no event but an end.
    private func expectSilence(_ answerer: Endpoint, _ bytes: [UInt8], _ comment: Comment? = nil) {
        #expect(answerer.receive(bytes).isEmpty, comment)
        #expect(!answerer.isOpen && !answerer.isEstablished && answerer.messages.isEmpty, comment)
        #expect(answerer.events.count <= 1, comment)
    }

    @Test func `an unknown dialler is dropped after one message without an answer`() throws {
        let (_, first) = try Endpoint.dialling(9)
        let answerer = try Endpoint.answering()
        self.expectSilence(answerer, first)
        #expect(answerer.wasRefused)
    }

    @Test func `a dialler who does not know the key gets no answer`() throws {
        let (_, first) = try Endpoint.dialling(1, to: 3)
        let answerer = try Endpoint.answering(2)
        self.expectSilence(answerer, first)
        #expect(answerer.wasRefused)
    }

    @Test func `a wrong invite gets no answer, however many are open`() throws {
        for invites in [[5], [5, 6, 7]] as [[UInt8]] {
            let (_, first) = try Endpoint.dialling(invite: 8)
            let answerer = try Endpoint.answering(invites: invites)
            self.expectSilence(answerer, first)
            #expect(answerer.wasRefused)
        }
    }

    @Test func `with no open invite nobody can pair, not even a known peer`() throws {
        let (_, first) = try Endpoint.dialling(invite: 5)
        let answerer = try Endpoint.answering(invites: [])
        self.expectSilence(answerer, first)
        #expect(answerer.wasRefused)
    }

    @Test func `a greeting that is none of ours ends the connection at its first wrong byte`() throws {
        let greeting = HandshakeFraming.Greeting.known.bytes
        for position in greeting.indices {
            for replacement in UInt8.min...UInt8.max where replacement != greeting[position] {
                let answerer = try Endpoint.answering()
                self.expectSilence(answerer, Array(greeting.prefix(position)) + [replacement])
                #expect(answerer.wasRefused, "byte \(position): \(replacement)")
            }
        }
        for garbage in ["GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH", "\u{16}\u{3}\u{1}", "peerd/2k"] {
            let answerer = try Endpoint.answering()
            self.expectSilence(answerer, Array(garbage.utf8))
            #expect(answerer.wasRefused)
        }
    }

    @Test func `a handshake message of a length that none has is refused before its bytes are awaited`() throws {
        for length in [[0, 0], [0x10, 0x01], [0xff, 0xff]] as [[UInt8]] {
            let answerer = try Endpoint.answering()
            self.expectSilence(answerer, HandshakeFraming.Greeting.known.bytes + length)
            #expect(answerer.wasRefused)
        }
    }

    @Test func `a handshake cut at any byte is awaited and has no effect`() throws {
        for invite in [nil, 5] as [UInt8?] {
            let (_, first) = try Endpoint.dialling(invite: invite)
            for count in first.indices {
                let answerer = try Endpoint.answering(invites: [5])
                self.expectSilence(answerer, Array(first.prefix(count)))
                #expect(answerer.end == nil)
            }
            let answer = try Endpoint.answering(invites: [5]).receive(first)
            for count in answer.indices {
                let (dialler, _) = try Endpoint.dialling(invite: invite)
                self.expectSilence(dialler, Array(answer.prefix(count)))
            }
        }
    }

    @Test func `a pairing that is cut before its last byte tells nothing and pairs nobody`() throws {
        let (dialler, first) = try Endpoint.dialling(invite: 5)
        let last = dialler.receive(try Endpoint.answering(invites: [5]).receive(first))
        #expect(!last.isEmpty)
        for count in last.indices {
            let answerer = try Endpoint.answering(invites: [5])
            answerer.receive(first)
            self.expectSilence(answerer, Array(last.prefix(count)))
        }
    }

    @Test func `a handshake with any bit changed leads to nothing`() throws {
        for invite in [nil, 5] as [UInt8?] {
            let (dialler, first) = try Endpoint.dialling(invite: invite)
            let answer = try Endpoint.answering(invites: [5]).receive(first)
            let last = dialler.receive(answer)
            for (position, bit) in Self.places(first) {
                let answerer = try Endpoint.answering(invites: [5])
                self.expectSilence(answerer, Self.flip(first, position, bit), "first: \(position).\(bit)")
            }
            for (position, bit) in Self.places(answer) {
                let (dialler, _) = try Endpoint.dialling(invite: invite)
                self.expectSilence(dialler, Self.flip(answer, position, bit), "answer: \(position).\(bit)")
            }
            for (position, bit) in Self.places(last) {
                let answerer = try Endpoint.answering(invites: [5])
                answerer.receive(first)
                self.expectSilence(answerer, Self.flip(last, position, bit), "last: \(position).\(bit)")
            }
        }
    }

    /// Each byte once, with a bit that changes from byte to byte.
    private static func places(_ bytes: [UInt8]) -> [(Int, UInt8)] {
        bytes.indices.map { ($0, UInt8($0 % 8)) }
    }

    private static func flip(_ bytes: [UInt8], _ position: Int, _ bit: UInt8) -> [UInt8] {
        var changed = bytes
        changed[position] ^= 1 << bit
        return changed
    }

    @Test func `a replayed first message leads to no message, and what followed it cannot be replayed`() throws {
        let (dialler, first) = try Endpoint.dialling()
        let answerer = try Endpoint.answering()
        dialler.receive(answerer.receive(first))
        let record = dialler.seal(.ping(WallTime(milliseconds: 1)))
        answerer.receive(record)
        #expect(answerer.messages == [.ping(WallTime(milliseconds: 1))])

        // The next day: the answering side has a fresh key, as it has for each connection.
        let replayed = try Endpoint.answering(ephemeral: 0xe9)
        replayed.receive(first)
        #expect(replayed.messages.isEmpty)
        replayed.receive(record)
        #expect(replayed.messages.isEmpty && replayed.sawViolation && !replayed.isOpen)
    }

    @Test func `a replayed pairing pairs nobody`() throws {
        let (dialler, first) = try Endpoint.dialling(invite: 5)
        let answerer = try Endpoint.answering(invites: [5])
        let said = Endpoint.converse(dialler, answerer, first)
        #expect(answerer.isEstablished && said.count == 3)
        let replayed = try Endpoint.answering(invites: [5], ephemeral: 0xe9)
        replayed.receive(said[0])
        self.expectSilence(replayed, said[2])
        #expect(replayed.wasRefused)
    }

    @Test func `another device at the address of the one dialled is no peer`() throws {
        // S38: device 3 answers where device 2 was dialled, and it may even know the dialler.
        let (dialler, first) = try Endpoint.dialling(1, to: 2)
        let swapped = try Endpoint.answering(3)
        self.expectSilence(swapped, first)
        #expect(swapped.wasRefused)

        // Nor does the answer to a handshake of its own help it.
        let (_, other) = try Endpoint.dialling(1, to: 3)
        let answer = try Endpoint.answering(3).receive(other)
        #expect(!answer.isEmpty)
        self.expectSilence(dialler, answer)
        #expect(dialler.wasRefused)
    }

    @Test func `in a pairing the key of who answers is told, so that another can be refused`() throws {
        // Whoever holds the invite can answer; it is the inviter only if its key is the invite's.
        let (dialler, first) = try Endpoint.dialling(1, to: 2, invite: 5)
        let swapped = try Endpoint.answering(3, invites: [5])
        dialler.receive(swapped.receive(first))
        #expect(dialler.events == [.established(try Endpoint.staticKey(3))])
    }

    @Test func `a public key that leads to no secret is refused`() throws {
        // All zeros, and a point of order 8 (RFC 7748, section 6.1).
        for low in [Array(repeating: UInt8(0), count: 32), [1] + Array(repeating: UInt8(0), count: 31)] {
            let (_, first) = try Endpoint.dialling()
            let answerer = try Endpoint.answering()
            self.expectSilence(answerer, Array(first.prefix(10)) + low + Array(first.dropFirst(42)))
            #expect(answerer.wasRefused)
        }
    }

    @Test func `ten thousand strangers leave nothing behind`() throws {
        let (_, first) = try Endpoint.dialling(invite: 8)
        var refused = 0
        for _ in 0..<10_000 {
            let answerer = try Endpoint.answering(invites: [])
            answerer.receive(first)
            refused += answerer.wasRefused ? 1 : 0
        }
        #expect(refused == 10_000)
    }
}
