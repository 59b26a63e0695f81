import Testing

@testable import Engine

@Suite struct NetworkAddressTests {
    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"), ("2001:db8:1:2::7", "2001:db8:1:2"),
        ("2001:db8::1", "2001:db8:0:0"), ("fe80::1%eth0", "fe80:0:0:0"), ("::1", "0:0:0:0"), ("::", "0:0:0:0"),
        ("1::2::3", "1:0:0:0"), (":", ""),
    ])
    func `addresses of one IPv6 network are one stranger's`(host: String, network: String) {
        #expect(NetworkAddress(host: host, port: 1).network == network)
    }
}
