internal import NIOCore
internal import NIOHTTP1

/// Sends a part of a file, piece by piece: while the client takes one, a thread of the disk reads the next.
///
/// All of it happens on the connection's event loop, so that a piece costs no change of threads but that of its read.
/// The kernel could send from its cache without a copy. But then bytes that another program overwrites within the file
/// would change on their way; bytes that were read are of the state that the answer names, or are not sent.
final class FilePieces {
    private let channel: any Channel
    private let file: OpenFile
    private var unread: Range<UInt64>
    /// How long the client may take for a piece; nil for any time.
    private let patience: TimeAmount?
    private let whole: EventLoopPromise<Void>

    private static let byteCountMax: UInt64 = 512 << 10

    init(_ channel: any Channel, _ file: OpenFile, _ range: Range<UInt64>, patience: TimeAmount?) {
        self.channel = channel
        self.file = file
        self.unread = range
        self.patience = patience
        self.whole = channel.eventLoop.makePromise()
    }

    func send() -> EventLoopFuture<Void> {
        if let first = self.read() { self.write(first) } else { self.whole.succeed() }
        return self.whole.futureResult
    }

    /// Begins to read the next piece; nil at the end.
    private func read() -> EventLoopFuture<ByteBuffer>? {
        guard let start = self.unread.first else { return nil }
        let end = start + min(Self.byteCountMax, self.unread.upperBound - start)
        self.unread = end..<self.unread.upperBound
        let file = self.file
        return DiskThread.run(for: self.channel.eventLoop) { try file.piece(start..<end) }
    }

    private func write(_ piece: EventLoopFuture<ByteBuffer>) {
        piece.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let bytes): self.write(bytes)
            case .failure(let error): self.whole.fail(error)
            }
        }
    }

    private func write(_ bytes: ByteBuffer) {
        let next = self.read()
        let channel = self.channel
        let alarm = self.patience.map { channel.eventLoop.scheduleTask(in: $0) { channel.close(promise: nil) } }
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(bytes))).assumeIsolated().whenComplete { result in
            alarm?.cancel()
            switch (result, next) {
            case (.success, let next?): self.write(next)
            case (.success, nil): self.whole.succeed()
            case (.failure(let error), _): self.whole.fail(error)
            }
        }
    }
}

extension OpenFile {
    /// Some bytes of the state in which the file was opened.
    fileprivate func piece(_ range: Range<UInt64>) throws -> ByteBuffer {
        let count = range.count
        var bytes = ByteBufferAllocator().buffer(capacity: count)
        try bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { buffer in
            try self.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: range.lowerBound)
        }
        // Somebody wrote into the file, or cut it; the client sees that the answer ends before its length.
        guard try bytes.readableBytes == count && self.hasSameContent() else { throw FileTreeError.notFound }
        return bytes
    }
}
