/// Takes a handshake's messages out of a stream of bytes that comes in pieces of any size.
///
/// Append what arrives and ask for items until more is needed. At most one incomplete message is then kept. What
/// follows the last handshake message belongs to the sealed channel: take it with ``takeRemainder()``.
package struct HandshakeReader: Sendable {
    private var received: [UInt8] = []
    private var awaitsGreeting: Bool
    private var violation: HandshakeFraming.Violation?

    /// Begins to read; only the side that was dialled awaits a greeting.
    package init(awaitsGreeting: Bool) {
        self.awaitsGreeting = awaitsGreeting
    }
}

extension HandshakeReader {
    /// Takes what has arrived.
    package mutating func append(_ bytes: [UInt8]) {
        if self.violation == nil { self.received += bytes }
    }

    /// The next item.
    package mutating func next() -> HandshakeFraming.Item {
        if let violation = self.violation { return .violation(violation) }
        return self.awaitsGreeting ? self.nextGreeting() : self.nextMessage()
    }

    /// All bytes that belong to no item so far; none are left here.
    package mutating func takeRemainder() -> [UInt8] {
        var remainder: [UInt8] = []
        swap(&remainder, &self.received)
        return remainder
    }

    private mutating func nextGreeting() -> HandshakeFraming.Item {
        let beginning = self.received.prefix(HandshakeFraming.greetingByteCount)
        let greeting = HandshakeFraming.Greeting.allCases.first { $0.bytes.starts(with: beginning) }
        guard let greeting else { return self.fail(.unknownGreeting) }
        guard beginning.count == HandshakeFraming.greetingByteCount else { return .needsMore }
        self.received.removeFirst(HandshakeFraming.greetingByteCount)
        self.awaitsGreeting = false
        return .greeting(greeting)
    }

    private mutating func nextMessage() -> HandshakeFraming.Item {
        guard self.received.count >= HandshakeFraming.lengthByteCount else { return .needsMore }
        let byteCount = Int(self.received[0]) << 8 + Int(self.received[1])
        guard (1...HandshakeFraming.messageByteCountMax).contains(byteCount) else { return self.fail(.messageLength) }
        let end = HandshakeFraming.lengthByteCount + byteCount
        guard self.received.count >= end else { return .needsMore }
        let message = Array(self.received[HandshakeFraming.lengthByteCount..<end])
        self.received.removeFirst(end)
        return .message(message)
    }

    private mutating func fail(_ violation: HandshakeFraming.Violation) -> HandshakeFraming.Item {
        self.violation = violation
        self.received.removeAll()
        return .violation(violation)
    }
}
