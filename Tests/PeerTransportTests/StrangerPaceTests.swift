import PeerTransport
import Testing

@Suite struct StrangerPaceTests {
    private static let second: UInt64 = 1_000_000_000

    private var limits: TransportLimits {
        var limits = TransportLimits()
        limits.strangersByNetwork = StrangerPace.Limit(count: 3, aSecond: 1)
        limits.strangers = StrangerPace.Limit(count: 5, aSecond: 2)
        return limits
    }

    private func network(_ host: String) throws -> PeerNetwork {
        try #require(PeerNetwork(PeerAddress(host: host, port: 1)))
    }

    /// How many of ten are let in at once.
    private func admitted(_ pace: inout StrangerPace, _ network: PeerNetwork, at now: UInt64) -> Int {
        (0..<10).count { _ in pace.admits(network, at: now) }
    }

    /// Says a byte, and goes.
    private func knock(at port: UInt16) throws {
        let stranger = try RawSocket(connectingTo: port)
        try stranger.write([7])
    }

    @Test func `strangers of one network, and of all, are let in so many at once, and then as time passes`() throws {
        var pace = StrangerPace(self.limits)
        let (one, other) = (try self.network("192.0.2.1"), try self.network("192.0.2.2"))
        #expect(self.admitted(&pace, one, at: 5) == 3)
        #expect(self.admitted(&pace, other, at: 5) == 2)
        #expect(self.admitted(&pace, one, at: 5 + Self.second - 1) == 0)
        #expect(self.admitted(&pace, one, at: 5 + Self.second) == 1)
        #expect(self.admitted(&pace, other, at: 5 + Self.second) == 1)
        #expect(self.admitted(&pace, one, at: 100 * Self.second) == 3)
    }

    @Test func `a member takes no place, and strangers elsewhere keep nobody out where it came from`() throws {
        var pace = StrangerPace(self.limits)
        let home = try self.network("2001:db8::1")
        for _ in 0..<20 {
            let isAdmitted = pace.admits(home, at: 5)
            #expect(isAdmitted)
            pace.noteMember(home, at: 5)
        }
        for number in 1...9 { _ = self.admitted(&pace, try self.network("192.0.2.\(number)"), at: 5) }
        #expect(self.admitted(&pace, try self.network("192.0.2.50"), at: 5) == 0)
        #expect(self.admitted(&pace, home, at: 5) == 3)
    }

    @Test func `an IPv6 network is one stranger, and a mapped IPv4 address is that address`() throws {
        #expect(try self.network("2001:db8::1") == self.network("2001:db8:0:0:ffff::1"))
        #expect(try self.network("2001:db8::1") != self.network("2001:db8:0:1::1"))
        #expect(try self.network("::ffff:192.0.2.1") == self.network("192.0.2.1"))
        #expect(try self.network("192.0.2.1") != self.network("192.0.2.2"))
        #expect(PeerNetwork(PeerAddress(host: "example.org", port: 1)) == nil)
    }

    @Test func `what is remembered of networks is bounded`() throws {
        var limits = self.limits
        limits.strangers = StrangerPace.Limit(count: 1 << 20, aSecond: 1000)
        var pace = StrangerPace(limits)
        let networks = try (0..<1_100).map { try self.network("10.0.\($0 >> 8).\($0 & 255)") }
        for now in [5, 2 * Self.second] {
            let count = networks.count { pace.admits($0, at: now) }
            #expect(count == TransportLimits.strangerNetworks)
        }
        for network in networks { pace.noteMember(network, at: 3 * Self.second) }
        let isAdmitted = pace.admits(networks[1_099], at: 3 * Self.second)
        #expect(isAdmitted)
    }

    @Test func `a connection that is too many is closed, and nobody hears of it`() async throws {
        var limits = TransportLimits()
        limits.strangersByNetwork = StrangerPace.Limit(count: 2, aSecond: 1)
        // No place becomes free while this runs.
        limits.strangersByNetwork.interval = 1_000_000 * Self.second
        let listener = TestPeer(limits: limits)
        let port = try await listener.listen().port
        var accepted: [TransportID] = []
        let first = try RawSocket(connectingTo: port)
        guard case .accepted(let id, _) = await listener.next() else { throw Unexpected(event: await listener.next()) }
        accepted.append(id)
        listener.transport.noteMember(id)
        for _ in 0..<2 {
            try self.knock(at: port)
            guard case .accepted = await listener.next(), case .received = await listener.next(),
                case .closed = await listener.next()
            else { throw Unexpected(event: await listener.next()) }
        }
        for _ in 0..<3 {
            let stranger = try RawSocket(connectingTo: port)
            #expect(try stranger.readToEnd().isEmpty)
        }
        #expect(listener.events.pending.isEmpty)
        #expect(await listener.transport.counters().refusedAccepts == 3)
        try first.write([8])
        #expect(await listener.next() == .received(accepted[0], [8]))
        await listener.stop()
    }
}
