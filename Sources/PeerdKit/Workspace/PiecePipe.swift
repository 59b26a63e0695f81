internal import Foundation

/// A pipe from a thread that may wait to a task that must not.
///
/// It holds one piece, so the thread is never far ahead of whoever takes the pieces.
final class PiecePipe: @unchecked Sendable {
    // Everything below is used under the condition's lock only.
    private let condition = NSCondition()
    private var piece: [UInt8]?
    private var isFinished = false
    private var isCancelled = false
    private var taker: CheckedContinuation<Void, Never>?

    /// Waits until the piece before was taken, and puts one in.
    func put(_ piece: [UInt8]) throws {
        self.condition.lock()
        while self.piece != nil, !self.isCancelled { self.condition.wait() }
        guard !self.isCancelled else {
            self.condition.unlock()
            throw CancellationError()
        }
        self.piece = piece
        let taker = self.taker.take()
        self.condition.unlock()
        taker?.resume()
    }

    /// Tells that there is no more.
    func finish() {
        self.condition.lock()
        self.isFinished = true
        let taker = self.taker.take()
        self.condition.unlock()
        taker?.resume()
    }

    /// Tells the thread that nobody takes anything any more.
    func cancel() {
        self.condition.lock()
        self.isCancelled = true
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// The next piece; nil behind the last.
    func next() async -> [UInt8]? {
        while true {
            if let taken = self.take() { return taken.piece }
            await withCheckedContinuation { continuation in
                if self.wait(continuation) { continuation.resume() }
            }
        }
    }

    /// A piece, or nil within for the end; nil if neither is there.
    private func take() -> (piece: [UInt8]?, Void)? {
        self.condition.lock()
        defer { self.condition.unlock() }
        if let piece = self.piece.take() {
            self.condition.signal()
            return (piece, ())
        }
        return self.isFinished ? (nil, ()) : nil
    }

    /// Notes who waits; returns true if there is something already.
    private func wait(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        self.condition.lock()
        defer { self.condition.unlock() }
        if self.piece != nil || self.isFinished { return true }
        self.taker = continuation
        return false
    }
}
