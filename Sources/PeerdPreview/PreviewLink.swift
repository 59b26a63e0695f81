internal import PeerdKit

extension Preview {
    /// A connection between two devices, by its latency and its bandwidth.
    public struct Link: Hashable, Sendable, Codable {
        /// The name of the kind of link.
        public var name: String
        /// The time that a byte takes from one device to the other.
        public var latency: Duration
        /// The number of bytes that one direction carries in a second.
        public var bytesPerSecond: UInt64

        /// Describes a link.
        public init(name: String, latency: Duration, bytesPerSecond: UInt64) {
            self.name = name
            self.latency = latency
            self.bytesPerSecond = bytesPerSecond
        }

        /// A local network with cables.
        public static let lan = Link(name: "lan", latency: .microseconds(500), bytesPerSecond: 50_000_000)
        /// A wireless local network.
        public static let wifi = Link(name: "wifi", latency: .milliseconds(4), bytesPerSecond: 5_000_000)
        /// A mobile network, by its slower direction.
        public static let mobile = Link(name: "mobile", latency: .milliseconds(50), bytesPerSecond: 500_000)
        /// A satellite link, by its slower direction.
        public static let satellite = Link(name: "satellite", latency: .milliseconds(300), bytesPerSecond: 250_000)

        /// The links of everyday life.
        public static let usual: [Link] = [.lan, .wifi, .mobile, .satellite]
    }
}

/// Virtual time, in microseconds.
extension Preview.Link {
    private static let latencyMax = Duration.seconds(3_600)

    /// The latency; a negative one is none, and one of more than an hour is an hour.
    var latencyMicroseconds: UInt64 {
        UInt64(min(max(.zero, self.latency), Self.latencyMax) / .microseconds(1))
    }

    /// Returns the time until the last of some bytes has left.
    func transmissionMicroseconds(of byteCount: Int) -> UInt64 {
        UInt64(byteCount) * 1_000_000 / max(1, self.bytesPerSecond)
    }
}
