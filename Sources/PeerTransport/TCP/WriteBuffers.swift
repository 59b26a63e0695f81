internal import NIOCore

/// Large buffers that have been written and wait to be filled again.
///
/// Given back to the allocator, they would go back to the system as well, and each write would begin with page faults.
struct WriteBuffers {
    /// One connection at full speed needs its write window; more are not kept.
    private let capacity: Int
    private var free: [ByteBuffer] = []

    /// Smaller buffers are not worth keeping.
    private static let smallestKept = 64 << 10

    init(writeWindow: Int) {
        self.capacity = writeWindow / TransportLimits.largestWrite
    }

    mutating func take(_ byteCount: Int, allocator: ByteBufferAllocator) -> ByteBuffer {
        guard byteCount >= Self.smallestKept else { return allocator.buffer(capacity: byteCount) }
        guard var buffer = self.free.popLast() else { return allocator.buffer(capacity: TransportLimits.largestWrite) }
        buffer.clear()
        return buffer
    }

    mutating func giveBack(_ buffer: ByteBuffer) {
        guard buffer.capacity >= TransportLimits.largestWrite, self.free.count < self.capacity else { return }
        self.free.append(buffer)
    }
}
