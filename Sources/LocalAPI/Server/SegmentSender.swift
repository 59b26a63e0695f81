internal import FileServing
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Sends parts of files and bytes between them: while the client takes a piece, a thread of the disk reads the next.
///
/// All of it happens on the connection's event loop, so that a piece costs no change of threads but that of its read.
/// The kernel could send from its cache without a copy. But then bytes that another program overwrites within the file
/// would change on their way; bytes that were read are of the state that the answer names, or are not sent.
final class SegmentSender {
    private let channel: any Channel
    private var rest: ArraySlice<Response.Segment>
    /// How long the client may take for a piece; nil for any time.
    private let patience: TimeAmount?
    private let whole: EventLoopPromise<Void>

    /// Bytes of a file that are read at once.
    static let pieceByteCount: UInt64 = 512 << 10

    init(_ channel: any Channel, _ segments: [Response.Segment], patience: TimeAmount?) {
        self.channel = channel
        self.rest = segments[...]
        self.patience = patience
        self.whole = channel.eventLoop.makePromise()
    }

    func send() -> EventLoopFuture<Void> {
        if let first = self.next() { self.write(first) } else { self.whole.succeed() }
        return self.whole.futureResult
    }

    /// Takes the next piece, which may have to be read; nil at the end.
    private func next() -> EventLoopFuture<ByteBuffer>? {
        switch self.rest.popFirst() {
        case nil: return nil
        case .bytes(let bytes): return self.channel.eventLoop.makeSucceededFuture(bytes)
        case .file(let file, let range):
            let end = range.lowerBound + min(Self.pieceByteCount, range.upperBound - range.lowerBound)
            if end < range.upperBound {
                self.rest = ([.file(file, end..<range.upperBound)] + self.rest)[...]
            }
            return NIOThreadPool.singleton.runIfActive(eventLoop: self.channel.eventLoop) {
                try file.content(range.lowerBound..<end)
            }
        }
    }

    private func write(_ piece: EventLoopFuture<ByteBuffer>) {
        piece.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let bytes): self.write(bytes)
            // If the file was changed: the client sees that the answer ends before its length.
            case .failure(let error): self.whole.fail(error)
            }
        }
    }

    private func write(_ bytes: ByteBuffer) {
        let next = self.next()
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
    ///
    /// Throws ``FileTreeError/changed`` if the file has another state by now. Blocks on the disk.
    func content(_ range: Range<UInt64>) throws -> ByteBuffer {
        var bytes = ByteBuffer()
        try self.append(range, to: &bytes)
        return bytes
    }

    fileprivate func append(_ range: Range<UInt64>, to bytes: inout ByteBuffer) throws {
        let count = range.count
        bytes.reserveCapacity(minimumWritableBytes: count)
        let filled = try bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { buffer in
            try self.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: range.lowerBound)
        }
        guard filled == count, try self.hasSameContent() else { throw FileTreeError.changed }
    }
}

extension [Response.Segment] {
    /// The same with the first bytes in memory.
    ///
    /// Whoever opens a file reads them at once, without another change of threads. Blocks on the disk.
    func withFirstBytesRead() throws -> [Response.Segment] {
        var first = ByteBuffer()
        var rest = self[...]
        while let part = rest.first, first.readableBytes < Int(SegmentSender.pieceByteCount) {
            let room = SegmentSender.pieceByteCount - UInt64(first.readableBytes)
            guard part.byteCount > room else {
                try Self.append(part, to: &first)
                rest.removeFirst()
                continue
            }
            guard case .file(let file, let range) = part else { break }
            let end = range.lowerBound + room
            try Self.append(.file(file, range.lowerBound..<end), to: &first)
            rest[rest.startIndex] = .file(file, end..<range.upperBound)
        }
        return (first.readableBytes == 0 ? [] : [.bytes(first)]) + rest
    }

    private static func append(_ part: Response.Segment, to bytes: inout ByteBuffer) throws {
        switch part {
        case .bytes(let content): bytes.writeImmutableBuffer(content)
        case .file(let file, let range): try file.append(range, to: &bytes)
        }
    }
}
