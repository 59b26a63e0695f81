internal import NIOCore

/// Bytes that wait for the kernel, in order.
///
/// What was sent in small pieces leaves it in large ones.
struct OutboundQueue {
    private var pieces = CircularBuffer<[UInt8]>()
    /// How far the first piece has been taken.
    private var offset = 0
    private(set) var byteCount = 0

    var isEmpty: Bool {
        self.byteCount == 0
    }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        self.pieces.append(bytes)
        self.byteCount += bytes.count
    }

    /// Takes up to `maximum` bytes.
    ///
    /// They are copied only now, right before the kernel reads them, so that a long queue costs its own size and not
    /// twice that.
    mutating func next(maximum: Int, into makeBuffer: (_ byteCount: Int) -> ByteBuffer) -> ByteBuffer? {
        guard !self.isEmpty else { return nil }
        let size = min(self.byteCount, maximum)
        var buffer = makeBuffer(size)
        var wanted = size
        while wanted > 0, let piece = self.pieces.first {
            let taken = min(wanted, piece.count - self.offset)
            buffer.writeBytes(piece[self.offset..<(self.offset + taken)])
            wanted -= taken
            self.offset += taken
            if self.offset == piece.count {
                self.pieces.removeFirst()
                self.offset = 0
            }
        }
        self.byteCount -= size
        return buffer
    }

    mutating func removeAll() {
        self.pieces.removeAll()
        self.offset = 0
        self.byteCount = 0
    }
}
