internal import Synchronization

/// Lets some do a thing at the same time, and has the others wait for their turn, in order.
package final class Turns: Sendable {
    private struct State {
        var freeCount: Int
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastNumber: UInt64 = 0

        /// Takes a turn; returns false if there is none.
        mutating func take() -> Bool {
            if self.freeCount == 0 { return false }
            self.freeCount -= 1
            return true
        }
    }

    private let state: Mutex<State>

    /// `count`: how many have a turn at the same time.
    package init(_ count: Int) { self.state = Mutex(State(freeCount: count)) }

    /// Waits for a turn.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, which then has no turn.
    package func begin() async throws {
        let number: UInt64? = self.state.withLock { state in
            if state.take() { return nil }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A turn may have ended since the number was given out.
                let answer: Bool? = self.state.withLock { state in
                    if Task.isCancelled { return false }
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
        if !isMine { throw CancellationError() }
    }

    /// Ends a turn that has begun.
    package func end() {
        let next: CheckedContinuation<Bool, Never>? = self.state.withLock { state in
            if state.waiting.isEmpty {
                state.freeCount += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
