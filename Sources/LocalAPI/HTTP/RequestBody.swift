internal import NIOCore
internal import NIOHTTP1

/// The body of a request: its pieces in order, each read when it is asked for.
package struct RequestBody: Sendable {
    private let read: @Sendable () async throws -> [UInt8]?

    package static let empty = RequestBody { nil }

    /// A body that is there already.
    package init(_ bytes: [UInt8]) {
        let pieces = BodyPieces(pauseChanged: { _ in })
        pieces.append(bytes)
        pieces.finish(nil)
        self.init(pieces: pieces)
    }

    init(pieces: BodyPieces?) { self.init { try await pieces?.next() } }

    /// A body whose pieces a function returns, one after the other; nil ends it.
    init(reading read: @escaping @Sendable () async throws -> [UInt8]?) { self.read = read }

    /// Returns the next piece; nil at the end.
    package func next() async throws -> [UInt8]? { try await self.read() }

    /// Reads all of it.
    ///
    /// - Throws: ``Problem`` if it has more than `limit` bytes.
    package func collect(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await self.next() {
            guard bytes.count + piece.count <= limit else {
                throw Problem.tooLarge(byteCountMax: limit)
            }
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
        }
        return bytes
    }
}

/// A queue between the connection that receives a body and the handler that reads it.
///
/// It holds little: the connection stops to read when there is enough.
final class BodyPieces: Sendable {
    private struct State {
        var pieces: [[UInt8]] = []
        var byteCount = 0
        var isPaused = false
        var ending: Result<Void, any Error>?
    }

    private let state = Awaited(State())
    /// Told when the connection should read on, or pause: whichever ``isPaused`` says once the connection looks.
    private let pauseChanged: @Sendable (BodyPieces) -> Void

    /// The connection pauses when so many bytes wait.
    private static let waitingByteCountMax = 256 << 10

    /// Whether pieces that wait are given out together.
    private let joins: Bool

    init(joins: Bool = true, pauseChanged: @escaping @Sendable (BodyPieces) -> Void) {
        self.joins = joins
        self.pauseChanged = pauseChanged
    }

    /// A queue that a connection fills, which reads no more while the queue is paused.
    convenience init(of channel: any Channel, joins: Bool = true) {
        self.init(joins: joins) { pieces in
            // Several threads may have changed it; what counts is what is so when the connection takes note.
            let takeNote: @Sendable () -> Void = {
                let isPaused = pieces.isPaused
                channel.setOption(.autoRead, value: !isPaused).whenSuccess { if !isPaused { channel.read() } }
            }
            if channel.eventLoop.inEventLoop { takeNote() } else { channel.eventLoop.execute(takeNote) }
        }
    }

    /// Whether the connection should not read on.
    var isPaused: Bool { self.state.current.isPaused }

    func append(_ bytes: [UInt8]) {
        let isFull = self.state.change { state in
            state.pieces.append(bytes)
            state.byteCount += bytes.count
            let isFull = !state.isPaused && state.byteCount >= Self.waitingByteCountMax
            if isFull { state.isPaused = true }
            return isFull
        }
        if isFull { self.pauseChanged(self) }
    }

    /// Ends the body, in order or with an error; only the first call counts.
    func finish(_ error: (any Error)?) {
        self.state.change { state in
            if state.ending == nil { state.ending = error.map { .failure($0) } ?? .success(()) }
        }
    }

    func next() async throws -> [UInt8]? {
        let next = await self.state.wait { state -> Result<(piece: [UInt8]?, wasPaused: Bool), any Error>? in
            guard !state.pieces.isEmpty else { return state.ending?.map { (nil, false) } }
            let taken = self.joins ? state.pieces.count : 1
            let piece = taken == 1 ? state.pieces[0] : Array(state.pieces.joined())
            state.pieces.removeFirst(taken)
            state.byteCount -= piece.count
            defer { if state.pieces.isEmpty { state.isPaused = false } }
            return .success((piece, wasPaused: state.isPaused && state.pieces.isEmpty))
        }
        let (piece, wasPaused) = try next.get()
        if wasPaused { self.pauseChanged(self) }
        return piece
    }
}
