/// A channel between two tasks that holds one piece, so the writer is never far ahead of the reader.
final class PieceChannel: BodyWriter {
    private struct State {
        var piece: [UInt8]?
        var ending: Result<Void, any Error>?
        var isAbandoned = false
    }

    private let state = Awaited(State())

    /// Ends the channel, in order or with an error.
    func finish(_ error: (any Error)?) {
        self.state.change { $0.ending = error.map { .failure($0) } ?? .success(()) }
    }

    /// Tells the writer that nobody takes anything any more.
    func abandon() { self.state.change { $0.isAbandoned = true } }

    /// Returns the next piece; nil behind the last.
    func next() async throws -> [UInt8]? {
        let next = await self.state.wait { state -> Result<[UInt8]?, any Error>? in
            if let piece = state.piece.take() { return .success(piece) }
            return state.ending?.map { nil }
        }
        return try next.get()
    }

    func write(_ bytes: [UInt8]) async throws {
        let isTaken = await self.state.wait { state -> Bool? in
            if state.isAbandoned { return false }
            guard state.piece == nil else { return nil }
            state.piece = bytes
            return true
        }
        if !isTaken { throw CancellationError() }
    }
}
