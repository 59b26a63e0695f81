import Synchronization

/// Lets some do a thing at the same time, and has the others wait for their turn, in order.
package final class Turns: Sendable {
    /// Nobody gets a turn any more.
    package struct Closed: Error {}

    private struct State {
        var freeCount: Int
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastNumber: UInt64 = 0
        var isClosed = false
        /// Those who wait until nobody has a turn.
        var closing: [CheckedContinuation<Void, Never>] = []

        /// Takes a turn; returns false if there is none.
        mutating func take() -> Bool {
            if self.freeCount == 0 || self.isClosed { return false }
            self.freeCount -= 1
            return true
        }
    }

    private let count: Int
    private let state: Mutex<State>

    /// `count`: how many have a turn at the same time.
    package init(_ count: Int) {
        self.count = count
        self.state = Mutex(State(freeCount: count))
    }

    /// Waits for a turn.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, which then has no turn; ``Closed``.
    package func begin() async throws {
        let number: UInt64? = try self.state.withLock { state in
            if state.isClosed { throw Closed() }
            if state.take() { return nil }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A turn may have ended since the number was given out.
                let answer: Bool? = self.state.withLock { state in
                    if Task.isCancelled || state.isClosed { return false }
                    if state.take() { return true }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
        if !isMine { throw Task.isCancelled ? CancellationError() : Closed() as any Error }
    }

    /// Takes a turn if one is free; returns false if not.
    func beginAtOnce() -> Bool { self.state.withLock { $0.take() } }

    /// Ends a turn that has begun.
    package func end() {
        let (next, closers) = self.state.withLock { state in
            let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst().continuation
            if next == nil { state.freeCount += 1 }
            return (next, self.closersToTell(&state))
        }
        next?.resume(returning: true)
        for closer in closers { closer.resume() }
    }

    /// Refuses those who wait, and who come later; returns when nobody has a turn.
    func close() async {
        let refused = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in refused { waiter.continuation.resume(returning: false) }
        await withCheckedContinuation { closer in
            let closers = self.state.withLock { state in
                state.closing.append(closer)
                return self.closersToTell(&state)
            }
            for closer in closers { closer.resume() }
        }
    }

    private func closersToTell(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard state.freeCount == self.count else { return [] }
        defer { state.closing = [] }
        return state.closing
    }
}
