internal import NIOCore

/// How many connections of strangers are let in, from one network and from all.
///
/// Each costs work until it has shown that it is a member's, or has failed to. So each takes a place, which becomes
/// free again with time, or at once if it is a member's. Times are nanoseconds of any clock that does not go back.
package struct StrangerPace: Sendable {
    /// So many places, of which one becomes free again in each interval.
    package struct Limit: Sendable {
        package var count: UInt64
        /// In nanoseconds.
        package var interval: UInt64

        package init(count: UInt64, aSecond rate: UInt64) {
            (self.count, self.interval) = (count, 1_000_000_000 / rate)
        }
    }

    private struct Places: Sendable {
        /// When all will be free.
        var free: UInt64 = 0

        func hasRoom(_ limit: Limit, at now: UInt64) -> Bool {
            max(self.free, now) - now + limit.interval <= limit.count * limit.interval
        }

        mutating func take(_ limit: Limit, at now: UInt64) { self.free = max(self.free, now) + limit.interval }

        mutating func giveBack(_ limit: Limit) { self.free -= min(self.free, limit.interval) }
    }

    private let limit: Limit
    private let limitByNetwork: Limit
    private var all = Places()
    private var networks: [PeerNetwork: Places] = [:]
    /// The networks that members came from last, and when.
    private var members: [PeerNetwork: UInt64] = [:]

    package init(_ limits: TransportLimits) {
        self.limit = limits.strangers
        self.limitByNetwork = limits.strangersByNetwork
    }

    /// Whether one more is let in; takes a place for it if so.
    ///
    /// Strangers elsewhere do not keep out who comes from where a member has come from.
    package mutating func admits(_ network: PeerNetwork, at now: UInt64) -> Bool {
        if self.networks.count >= TransportLimits.strangerNetworks {
            self.networks = self.networks.filter { $0.value.free > now }
            guard self.networks.count < TransportLimits.strangerNetworks || self.networks[network] != nil else {
                return false
            }
        }
        let isMembers = self.members[network] != nil
        var places = self.networks[network] ?? Places()
        guard places.hasRoom(self.limitByNetwork, at: now), isMembers || self.all.hasRoom(self.limit, at: now) else {
            return false
        }
        places.take(self.limitByNetwork, at: now)
        self.networks[network] = places
        if !isMembers { self.all.take(self.limit, at: now) }
        return true
    }

    /// One that was let in is a member's: its place is free again.
    package mutating func noteMember(_ network: PeerNetwork, at now: UInt64) {
        self.networks[network]?.giveBack(self.limitByNetwork)
        if self.members[network] == nil {
            self.all.giveBack(self.limit)
            let oldest = self.members.min { $0.value < $1.value }
            if let oldest, self.members.count >= TransportLimits.memberNetworks { self.members[oldest.key] = nil }
        }
        self.members[network] = now
    }
}

/// Whose connections count as one stranger's: an IPv4 host alone, or the 64 bits of an IPv6 address behind which one
/// has as many addresses as one likes.
package enum PeerNetwork: Hashable, Sendable {
    case host(UInt32)
    case network(UInt64)

    /// Nil for what is no IP address.
    package init?(_ address: PeerAddress) {
        guard let address = try? SocketAddress(ipAddress: address.host, port: 0) else { return nil }
        self.init(address)
    }

    /// Nil for what is no IP address.
    init?(_ address: SocketAddress) {
        guard var bytes = address.packedAddress else { return nil }
        if bytes.count == 16, bytes.starts(with: Self.mappedPrefix) { bytes.removeFirst(Self.mappedPrefix.count) }
        let number = bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        self = bytes.count == 16 ? .network(number) : .host(UInt32(truncatingIfNeeded: number))
    }

    /// How a listener on `[::]` sees an IPv4 address.
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}

extension SocketAddress {
    /// The bytes of an IP address, which stand in the order of the network, at the same place in every system.
    fileprivate var packedAddress: [UInt8]? {
        let place: Range<Int>
        switch self {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        case .unixDomainSocket: return nil
        }
        return self.withSockAddr { address, size in Array(UnsafeRawBufferPointer(start: address, count: size)[place]) }
    }
}
