/// Names one connection for as long as the process runs; an id is never used twice.
///
/// Whoever creates a connection allots its id: the driver those that it dials, the transport those that it accepts.
/// The two ranges are disjoint, so neither side has to ask the other.
package struct TransportID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    /// Set in the ids of accepted connections, clear in those of dialled ones.
    package static let acceptedBit: UInt64 = 1 << 63

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Whether the other side opened this connection.
    package var isAccepted: Bool {
        self.rawValue & Self.acceptedBit != 0
    }

    package var description: String {
        "\(self.isAccepted ? "accepted" : "dialled") connection \(self.rawValue & ~Self.acceptedBit)"
    }
}
