/// What a transport reports.
///
/// For each connection the events come in the order in which things happened, and its last one is exactly one of
/// `dialFailed` and `closed`.
package enum TransportEvent: Sendable, Equatable {
    /// A peer connected to us.
    case accepted(TransportID, from: PeerAddress)
    /// A dial succeeded.
    case connected(TransportID)
    /// A dial came to nothing; the connection never existed.
    case dialFailed(TransportID, DialFailure)
    /// Bytes arrived, and count against the budget until `resumeReading` acknowledges them.
    case received(TransportID, [UInt8])
    /// So many more bytes of what was sent are in the kernel.
    case sent(TransportID, byteCount: Int)
    /// The connection is gone; bytes that were not reported as sent may not have been.
    case closed(TransportID, CloseReason)
}

/// Why a connection ended.
package enum CloseReason: Sendable, Equatable, CustomStringConvertible {
    /// `close` or `shutdown` was called here.
    case requested
    /// The peer ended its stream.
    case closedByPeer
    /// `close` after a flush was called here, and the peer did not take the rest in time.
    case flushTimedOut
    /// The network or the peer broke the connection.
    case failed(String)

    package var description: String {
        switch self {
        case .requested: "closed by this side"
        case .closedByPeer: "closed by the peer"
        case .flushTimedOut: "closed by this side; the peer did not take the last bytes in time"
        case .failed(let reason): "broken: \(reason)"
        }
    }
}

/// Why a dial came to nothing.
package enum DialFailure: Sendable, Equatable, CustomStringConvertible {
    case cancelled
    case timedOut
    case refused
    case unreachable
    /// The host name has no address.
    case unknownHost
    case tooManyConnections
    case failed(String)

    package var description: String {
        switch self {
        case .cancelled: "the dial was cancelled"
        case .timedOut: "the host did not answer in time"
        case .refused: "nothing listens there (connection refused)"
        case .unreachable: "there is no route to the host"
        case .unknownHost: "the host name has no address"
        case .tooManyConnections: "too many connections are open"
        case .failed(let reason): reason
        }
    }
}

/// Why the transport cannot listen; the description is a sentence for people.
package struct ListenError: Error, Equatable, CustomStringConvertible {
    package let address: PeerAddress
    package let reason: String

    package var description: String {
        "Cannot listen on \(self.address): \(self.reason)."
    }
}
