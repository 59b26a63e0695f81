internal import NIOConcurrencyHelpers

/// Wakes those who wait for a commit that changes objects.
package final class CommitBell: Sendable {
    private struct State {
        var last: Int64 = 0
        var isClosed = false
        var nextNumber: UInt64 = 0
        var waiting: [UInt64: (commit: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    /// Whether somebody waits.
    package var isAwaited: Bool { self.state.withLockedValue { !$0.waiting.isEmpty } }

    /// Tells which commit was the last.
    package func ring(_ commit: Int64) {
        let awakened = self.state.withLockedValue { state in
            state.last = max(state.last, commit)
            let awakened = state.waiting.filter { $0.value.commit < state.last }
            for number in awakened.keys { state.waiting[number] = nil }
            return awakened.values.map(\.continuation)
        }
        for continuation in awakened { continuation.resume() }
    }

    /// Nobody waits any more.
    package func close() {
        let awakened = self.state.withLockedValue { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.continuation)
        }
        for continuation in awakened { continuation.resume() }
    }

    /// Returns once there was a commit behind one, the task is cancelled, or the bell is closed.
    func wait(beyond commit: Int64) async {
        let number = self.state.withLockedValue { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = self.state.withLockedValue { state in
                    guard !state.isClosed, state.last <= commit, !Task.isCancelled else { return false }
                    state.waiting[number] = (commit, continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            self.state.withLockedValue { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
        }
    }
}
