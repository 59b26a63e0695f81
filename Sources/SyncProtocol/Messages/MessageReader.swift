package import CRDTCore

/// Takes messages out of a stream of bytes that comes in pieces of any size.
///
/// At most one incomplete message is kept, and never more than its kind allows: the limit is checked before the bytes
/// are awaited.
package struct MessageReader: Sendable {
    private var pending: [UInt8] = []
    private var offset = 0

    package init() {}

    /// A message with the number of bytes it took.
    package struct Received: Hashable, Sendable {
        package var message: Message
        package var byteCount: Int
    }

    /// Takes what has arrived.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if self.offset == self.pending.count {
            self.pending.removeAll(keepingCapacity: self.pending.capacity <= MessageReader.keptCapacityMax)
            self.offset = 0
        } else if self.offset > MessageReader.keptCapacityMax {
            self.pending.removeFirst(self.offset)
            self.offset = 0
        }
        self.pending.append(contentsOf: bytes)
    }

    /// The next whole message; nil until there is one.
    ///
    /// An error is final: the session must end.
    ///
    /// - Complexity: O(*n*) in the bytes of the message, amortised.
    package mutating func next() throws(WireError) -> Received? {
        guard self.offset < self.pending.count else { return nil }
        guard let kind = MessageKind(rawValue: self.pending[self.offset]) else { throw .unknownKind }
        guard let length = try self.length(of: kind) else { return nil }
        let start = self.offset + 1 + length.byteCount
        guard self.pending.count - start >= length.value else { return nil }
        let body = Array(self.pending[start..<start + length.value])
        let byteCount = start + length.value - self.offset
        self.offset = start + length.value
        return Received(message: try Message(kind: kind, body: body), byteCount: byteCount)
    }

    /// The buffer is given back beyond this many bytes.
    private static let keptCapacityMax = 256 << 10

    private func length(of kind: MessageKind) throws(WireError) -> (value: Int, byteCount: Int)? {
        // A length within any limit takes at most four bytes.
        let digits = Array(self.pending[(self.offset + 1)...].prefix(5))
        var reader = ByteReader(digits)
        guard digits.count == 5 || digits.contains(where: { $0 < 0x80 }) else { return nil }
        let value: Int
        do throws(WireError) {
            value = try reader.count(atMost: MessageLimits.byteCountMax(of: kind))
        } catch {
            throw error == .truncated ? .overLimit : error
        }
        return (value, reader.offset)
    }
}
