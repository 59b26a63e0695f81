import CRDTCore
import Testing

@testable import Engine

@Suite struct InviteTests {
    private func invite(_ addresses: [String]) throws -> Invite {
        let key = try #require(Bytes32(Array(0..<32)))
        let secret = try #require(Bytes32(Array(repeating: 7, count: 32)))
        return Invite(staticKey: StaticKey(bytes: key), secret: secret, port: 7400, addresses: addresses)
    }

    @Test(arguments: [[], ["10.0.0.1"], ["192.168.1.17", "fe80::1%eth0", "host.example.org"]])
    func `an invite is read as it was written, also with white space around it`(addresses: [String]) throws {
        let invite = try self.invite(addresses)
        #expect(Invite(text: invite.text) == invite)
        #expect(Invite(text: "\n  \(invite.text) \t") == invite)
    }

    @Test func `an invite that was cut anywhere is refused`() throws {
        let text = try self.invite(["10.0.0.1", "192.168.100.200"]).text
        for count in 0..<text.count { #expect(Invite(text: String(text.prefix(count))) == nil, "\(count)") }
    }

    @Test func `an invite with one wrong character is refused`() throws {
        let text = Array(try self.invite(["10.0.0.1"]).text.utf8)
        for position in text.indices {
            var wrong = text
            wrong[position] = wrong[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Invite(text: String(decoding: wrong, as: UTF8.self)) == nil, "\(position)")
        }
    }
}
