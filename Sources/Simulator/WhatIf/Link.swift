/// What a link between two devices carries.
struct Link: Hashable, Sendable {
    /// From one to the other.
    var latency: VirtualTime
    var bytesPerSecond: UInt64
    var name: String

    /// Links as they are in everyday life, by the slower direction.
    static let usual: [Link] = [
        Link(latency: .microseconds(500), bytesPerSecond: 50_000_000, name: "lan"),
        Link(latency: .milliseconds(4), bytesPerSecond: 5_000_000, name: "wifi"),
        Link(latency: .milliseconds(50), bytesPerSecond: 500_000, name: "mobile"),
        Link(latency: .milliseconds(300), bytesPerSecond: 250_000, name: "satellite"),
    ]

    /// How long it takes to put bytes on the link.
    func transmission(of byteCount: Int) -> VirtualTime {
        .microseconds(UInt64(byteCount) * 1_000_000 / max(1, self.bytesPerSecond))
    }

    /// The link in words.
    var text: String {
        let rate = self.bytesPerSecond * 8
        let shown = rate >= 10_000_000 ? "\(rate / 1_000_000) Mbit/s" : "\(rate / 1_000) kbit/s"
        return "\(self.name), \(shown), \(self.latency.seconds * 1_000) ms each way"
    }
}
