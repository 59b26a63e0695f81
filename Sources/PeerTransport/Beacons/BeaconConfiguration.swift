/// Where beacons are sent and heard.
package struct BeaconConfiguration: Sendable {
    /// Which interfaces take part.
    package enum Interfaces: Sendable, Equatable {
        /// All that can multicast, and loopback, so that processes on a machine without network find each other.
        case all
        case named(Set<String>)
    }

    /// In the administratively scoped block (RFC 2365), which routers do not forward by themselves.
    package static let groupIPv4 = "239.255.112.101"
    /// Link-local scope: never leaves the link.
    ///
    /// The last bytes spell "peerd".
    package static let groupIPv6 = "ff02::70:6565:7264"
    package static let defaultPort: UInt16 = 27365

    /// Fits into one packet on every link, headers included.
    package static let maximumPayload = 1200
    /// More beacons than a full network sends; what exceeds it is dropped before anyone looks into it.
    package static let defaultPacketsPerSecond = 200
    /// Addresses that are served at most; a machine with more has virtual ones in plenty.
    package static let maximumInterfaceAddresses = 64

    package var port = Self.defaultPort
    package var interfaces = Interfaces.all
    package var packetsPerSecond = Self.defaultPacketsPerSecond

    package init() {}
}

/// What a beacon transport has done; for tests, status pages and metrics.
package struct BeaconCounters: Sendable, Equatable {
    package var received: UInt64 = 0
    /// Dropped because more than the permitted number arrived in a second.
    package var droppedByRate: UInt64 = 0
    /// Dropped because they were empty or longer than any beacon.
    package var droppedBySize: UInt64 = 0
    package var sent: UInt64 = 0
    package var sendFailures: UInt64 = 0
    /// Interfaces on which beacons are heard now, by name, sorted.
    package var listeningOn: [String] = []

    package init() {}
}

/// Why a beacon was not sent.
package enum BeaconError: Error, Equatable, CustomStringConvertible {
    case payloadTooLarge(Int)

    package var description: String {
        switch self {
        case .payloadTooLarge(let size):
            "A beacon of \(size) bytes is longer than \(BeaconConfiguration.maximumPayload) bytes."
        }
    }
}
