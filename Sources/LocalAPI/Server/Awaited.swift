internal import Synchronization

/// A state that tasks wait for: whatever changes it wakes all that wait, and they look again.
final class Awaited<State: Sendable>: Sendable {
    private struct Content {
        var state: State
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let content: Mutex<Content>

    init(_ state: State) { self.content = Mutex(Content(state: state)) }

    var current: State { self.content.withLock { $0.state } }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, waiters) = self.content.withLock { content in
            defer { content.waiters = [] }
            return (body(&content.state), content.waiters)
        }
        for waiter in waiters { waiter.resume() }
        return result
    }

    /// Waits until `take` returns something, and only then may have changed the state.
    func wait<Result: Sendable>(_ take: (inout State) -> Result?) async -> Result {
        while true {
            var result: Result?
            await withCheckedContinuation { continuation in
                let waiters = self.content.withLock { content in
                    content.waiters.append(continuation)
                    result = take(&content.state)
                    guard result != nil else { return [CheckedContinuation<Void, Never>]() }
                    defer { content.waiters = [] }
                    return content.waiters
                }
                for waiter in waiters { waiter.resume() }
            }
            if let result { return result }
        }
    }
}
