internal import Synchronization

/// A channel between two tasks that holds one piece, so the writer is never far ahead of the reader.
final class PieceChannel: Sendable {
    private struct State {
        var piece: [UInt8]?
        var ending: Result<Void, any Error>?
        var isAbandoned = false
        var writer: CheckedContinuation<Void, Never>?
        var reader: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the channel, in order or with an error.
    func finish(_ error: (any Error)?) {
        let reader = self.state.withLock { state in
            state.ending = error.map { .failure($0) } ?? .success(())
            return state.reader.take()
        }
        reader?.resume()
    }

    /// Tells the writer that nobody takes anything any more.
    func abandon() {
        let writer = self.state.withLock { state in
            state.isAbandoned = true
            return state.writer.take()
        }
        writer?.resume()
    }

    private enum Taken {
        case piece([UInt8], writer: CheckedContinuation<Void, Never>?)
        case ending(Result<Void, any Error>)
        case nothing
    }

    /// Returns the next piece; nil behind the last.
    func next() async throws -> [UInt8]? {
        while true {
            let taken: Taken = self.state.withLock { state in
                if let piece = state.piece.take() { return .piece(piece, writer: state.writer.take()) }
                return state.ending.map { .ending($0) } ?? .nothing
            }
            switch taken {
            case .piece(let piece, let writer):
                writer?.resume()
                return piece
            case .ending(let ending):
                try ending.get()
                return nil
            case .nothing:
                await withCheckedContinuation { continuation in
                    let isThere = self.state.withLock { state in
                        let isThere = state.piece != nil || state.ending != nil
                        if !isThere { state.reader = continuation }
                        return isThere
                    }
                    if isThere { continuation.resume() }
                }
            }
        }
    }
}

extension PieceChannel: BodyWriter {
    private enum Put {
        case done(reader: CheckedContinuation<Void, Never>?)
        case full
        case abandoned
    }

    func write(_ bytes: [UInt8]) async throws {
        while true {
            let put: Put = self.state.withLock { state in
                if state.isAbandoned { return .abandoned }
                guard state.piece == nil else { return .full }
                state.piece = bytes
                return .done(reader: state.reader.take())
            }
            switch put {
            case .done(let reader):
                reader?.resume()
                return
            case .abandoned: throw CancellationError()
            case .full:
                await withCheckedContinuation { continuation in
                    let hasRoom = self.state.withLock { state in
                        let hasRoom = state.piece == nil || state.isAbandoned
                        if !hasRoom { state.writer = continuation }
                        return hasRoom
                    }
                    if hasRoom { continuation.resume() }
                }
            }
        }
    }
}
