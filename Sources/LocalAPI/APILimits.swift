/// The limits of the local API, so that no client can keep the others from being served.
package enum APILimits {
    /// Bytes of a body of JSON.
    package static let bodyByteCountMax = 8 << 20
    /// Bytes of an import.
    package static let importByteCountMax = 1 << 30
    /// Bytes of a message on a WebSocket.
    package static let messageByteCountMax = 4 << 20
    /// Frames of a message on a WebSocket.
    package static let messageFrameCountMax = 1 << 10
    /// Bytes of one header field, and of all.
    package static let headerByteCountMax = 32 << 10
    /// Open connections of loopback TCP; beyond it, one makes room.
    package static let connectionCountMax = 256
    /// Subscriptions of a WebSocket.
    package static let subscriptionCountMax = 256
    /// The most messages for which a client can give credit.
    package static let creditMax = 1 << 16
    /// Seconds in which the head of a request must be there, counted from its first byte or the connection's begin.
    package static let headSeconds: Int64 = 10
    /// Seconds in which a client must send or take something, while it is its turn.
    package static let stallSeconds: Int64 = 30
    /// Seconds for which a connection may lie idle between two requests.
    package static let idleSeconds: Int64 = 120
    /// Seconds for which a client that is still sending can read the answer that ends the connection.
    package static let lingerSeconds: Int64 = 5
    /// Seconds between two pings on a WebSocket; a client that answers neither of two is gone.
    package static let pingSeconds: Int64 = 20
    /// Elements of a page, at most, and where the client does not say.
    package static let pageCountMax = 1_000
    package static let pageCount = 100
    /// Edits of a transaction.
    package static let editCountMax = 10_000
    /// Seconds for which a request may wait for changes.
    package static let waitSecondsMax = 60
    /// Bytes of the id of a write, which is stored.
    package static let idempotencyKeyByteCountMax = 256
}
