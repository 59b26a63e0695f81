import PeerTransport
import Testing

@Suite struct PeerAddressTests {
    @Test(
        arguments: [
            ("192.0.2.7:7365", "192.0.2.7", 7365),
            ("[2001:DB8::0:7]:1", "2001:db8::7", 1),
            ("[::1]:65535", "::1", 65535),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1", 80),
            ("my-host.example_net:0", "my-host.example_net", 0),
            ("*:7365", "*", 7365),
        ] as [(String, String, UInt16)]
    )
    func `an address is read and spelled in one way`(text: String, host: String, port: UInt16) throws {
        let address = try PeerAddress.parse(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(try PeerAddress.parse(address.description) == address)
    }

    @Test(
        arguments: [
            ("", PeerAddressError.missingPort(text: "")),
            ("host", .missingPort(text: "host")),
            ("[::1]", .missingPort(text: "[::1]")),
            ("[::1]7", .missingPort(text: "[::1]7")),
            ("host:", .badPort(text: "host:", port: "")),
            ("host:+7", .badPort(text: "host:+7", port: "+7")),
            ("host:65536", .badPort(text: "host:65536", port: "65536")),
            ("host:99999999999999999999", .badPort(text: "host:99999999999999999999", port: "99999999999999999999")),
            (":7", .badHost(text: ":7")),
            ("a b:7", .badHost(text: "a b:7")),
            ("http://a:7", .bracketsNeeded(text: "http://a:7")),
            ("[::1", .badHost(text: "[::1")),
            ("[host]:7", .badHost(text: "[host]:7")),
            ("[]:7", .badHost(text: "[]:7")),
            ("[:::]:7", .badHost(text: "[:::]:7")),
            ("::1:7", .bracketsNeeded(text: "::1:7")),
        ] as [(String, PeerAddressError)]
    )
    func `what is not an address is refused with the reason`(text: String, expected: PeerAddressError) {
        #expect(throws: expected) { try PeerAddress.parse(text) }
        #expect(expected.description.hasSuffix("."))
    }

    @Test func `a very long host is refused`() {
        let text = String(repeating: "a", count: PeerAddress.maximumHostLength + 1) + ":7"
        #expect(throws: PeerAddressError.badHost(text: text)) { try PeerAddress.parse(text) }
    }

    @Test func `loopback addresses come last and no address names an interface`() throws {
        let hosts = try LocalInterfaces.addresses()
        let isLoopback = hosts.map { $0.hasPrefix("127.") || $0 == "::1" }
        #expect(isLoopback == isLoopback.sorted { !$0 && $1 })
        #expect(!hosts.contains { $0.contains("%") })
    }
}
