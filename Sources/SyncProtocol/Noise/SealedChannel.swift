package import PeerCrypto

/// A connection after its Noise handshake: a stream of bytes each way, carried in sealed records.
///
/// Performs no I/O and reads no clock: `now` is a monotonic time in milliseconds. Keys are replaced by count of
/// records, by bytes and by time, by the sender's decision; the receiver only makes sure that it happens. An end that
/// was not announced by a close record is a truncation.
package struct SealedChannel: ~Copyable, Sendable {
    var outgoing: Outgoing
    var incoming: Incoming
    /// The hash of the handshake, which both sides share and no other session has.
    package let handshakeHash: [UInt8]
    /// The peer's static key.
    package let remoteStatic: X25519.PublicKey?

    /// Takes over a finished handshake.
    package init(
        _ session: consuming NoiseSession,
        sendingLimits: KeyLimits = .ofSender,
        receivingLimits: KeyLimits = .ofReceiver
    ) {
        self.handshakeHash = session.handshakeHash
        self.remoteStatic = session.remoteStatic
        self.outgoing = Outgoing(cipher: session.sending, limits: sendingLimits)
        self.incoming = Incoming(cipher: session.receiving, limits: receivingLimits)
    }
}

extension SealedChannel {
    /// Why what the peer sent ends the connection.
    package enum Violation: Equatable, Sendable {
        /// A record was changed, repeated, left out or made with another key.
        case badTag
        /// A record too short for a kind and a tag, or a data record without data.
        case shortRecord
        /// A record of a kind that does not exist, or with bytes where none belong.
        case malformedRecord
        /// The peer used one key longer than the receiver's limits allow.
        case overusedKey
        /// Something followed the close record.
        case recordAfterClose
    }

    /// How the receiving direction has ended.
    package enum End: Equatable, Sendable {
        /// The peer said that it sends nothing more.
        case closed
        /// The peer broke the protocol: the connection must be dropped.
        case violation(Violation)
    }

    /// What received bytes amounted to.
    package struct Opened: Sendable {
        /// The next bytes of the peer's stream; authentic even where an end follows them.
        package var stream: ArraySlice<UInt8>
        /// Whether and how the peer's stream has ended after these bytes.
        package var end: End?
    }

    /// Whether the peer has ended its stream properly.
    ///
    /// If the connection ends without that, something was cut off.
    package var sawClose: Bool { self.incoming.sawClose }

    /// Whether something can still be sent: not after ``close(now:)``.
    package var canSeal: Bool { !self.outgoing.isClosed }

    /// Seals the next bytes of our stream, in as many records as it takes.
    ///
    /// - Returns: What to send: nothing after ``close(now:)``.
    /// - Complexity: O(*n*); the bytes are copied once and sealed where they lie.
    package mutating func seal(_ bytes: [UInt8], now: UInt64) -> [UInt8] {
        self.outgoing.seal(bytes.span.bytes, now: now)
    }

    /// Ends our stream.
    ///
    /// What is returned must be sent before the connection is closed.
    package mutating func close(now: UInt64) -> [UInt8] {
        self.outgoing.close(now: now)
    }

    /// Opens what has arrived, in pieces of any size.
    ///
    /// After an end nothing more is opened, and the first violation stays the answer.
    ///
    /// - Complexity: O(*n*) amortised; at most one incomplete record is kept.
    package mutating func open(_ received: [UInt8], now: UInt64) -> Opened {
        self.incoming.open(received.span.bytes, now: now)
    }
}
