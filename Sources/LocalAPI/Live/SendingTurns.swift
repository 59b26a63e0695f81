internal import PeerdKit
internal import Synchronization

/// The turns of a connection's subscriptions: one reads and sends at a time, however slowly the client takes it.
final class SendingTurns: ReadingTurns {
    private struct State {
        var isTaken = false
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    func begin() async throws {
        let number: UInt64? = self.state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The turn may have ended since the number was given out.
                let answer: Bool? = self.state.withLock { state in
                    if Task.isCancelled { return false }
                    if !state.isTaken {
                        state.isTaken = true
                        return true
                    }
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

    func end() {
        let next = self.state.withLock { state in
            if state.waiting.isEmpty {
                state.isTaken = false
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
