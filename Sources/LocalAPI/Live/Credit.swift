/// How many more messages a client wants of a subscription.
final class Credit: Sendable {
    private struct State {
        var count: Int
        var isEnded = false
    }

    private let state: Awaited<State>

    init(_ count: Int) { self.state = Awaited(State(count: count)) }

    func add(_ count: Int) { self.state.change { $0.count = min(APILimits.creditMax, $0.count + count) } }

    /// Nothing is wanted any more.
    func end() { self.state.change { $0.isEnded = true } }

    /// Waits until nothing is wanted any more, or the task is cancelled.
    func waitForEnd() async {
        await withTaskCancellationHandler {
            await self.state.wait { $0.isEnded ? () : nil }
        } onCancel: {
            self.end()
        }
    }

    /// Waits until there is some, and uses one; false if nothing is wanted any more.
    func use() async -> Bool {
        await self.state.wait { state in
            if state.isEnded { return false }
            guard state.count > 0 else { return nil }
            state.count -= 1
            return true
        }
    }
}
