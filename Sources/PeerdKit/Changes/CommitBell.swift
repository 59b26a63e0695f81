internal import NIOConcurrencyHelpers

/// Wakes those who wait for a commit that changes objects.
package final class CommitBell: Sendable {
    private struct State {
        var last: Int64 = 0
        /// How often there may have been a commit that nobody was told, since nobody waited.
        var silentCount: UInt64 = 0
        var isClosed = false
        var nextNumber: UInt64 = 0
        var waiting: [UInt64: (commit: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    /// How often the bell was not rung; whoever is about to read, and to wait behind what was read, asks before.
    var silentCount: UInt64 { self.state.withLockedValue { $0.silentCount } }

    /// Tells whether somebody waits to be told of a commit; notes that there may have been one if nobody does.
    package func isAwaited() -> Bool {
        self.state.withLockedValue { state in
            if state.waiting.isEmpty { state.silentCount += 1 }
            return !state.waiting.isEmpty
        }
    }

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
    ///
    /// `silentCount`: that of the time before the commit was read. If the bell was not rung since, there may have been
    /// another one, so that it returns at once.
    func wait(beyond commit: Int64, since silentCount: UInt64) async {
        let number = self.state.withLockedValue { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = self.state.withLockedValue { state in
                    guard !state.isClosed, state.last <= commit, state.silentCount == silentCount, !Task.isCancelled
                    else { return false }
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
