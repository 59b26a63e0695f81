internal import Synchronization

/// How many more messages a client wants of a subscription.
final class Credit: Sendable {
    private struct State {
        var count: Int
        var isEnded = false
        var waiter: CheckedContinuation<Void, Never>?
        /// Waits for the end.
        var watcher: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(_ count: Int) { self.state = Mutex(State(count: count)) }

    func add(_ count: Int) {
        let waiter = self.state.withLock { state in
            state.count = min(APILimits.creditMax, state.count + count)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Nothing is wanted any more.
    func end() {
        let (waiter, watcher) = self.state.withLock { state in
            state.isEnded = true
            return (state.waiter.take(), state.watcher.take())
        }
        waiter?.resume()
        watcher?.resume()
    }

    /// Waits until nothing is wanted any more, or the task is cancelled.
    func waitForEnd() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isEnded = self.state.withLock { state in
                    let isEnded = state.isEnded || Task.isCancelled
                    if !isEnded { state.watcher = continuation }
                    return isEnded
                }
                if isEnded { continuation.resume() }
            }
        } onCancel: {
            self.end()
        }
    }

    /// Waits until there is some, and uses one; false if nothing is wanted any more.
    func use() async -> Bool {
        while true {
            let answer: Bool? = self.state.withLock { state in
                if state.isEnded { return false }
                guard state.count > 0 else { return nil }
                state.count -= 1
                return true
            }
            if let answer { return answer }
            await withCheckedContinuation { continuation in
                let isThere = self.state.withLock { state in
                    let isThere = state.count > 0 || state.isEnded
                    if !isThere { state.waiter = continuation }
                    return isThere
                }
                if isThere { continuation.resume() }
            }
        }
    }
}
