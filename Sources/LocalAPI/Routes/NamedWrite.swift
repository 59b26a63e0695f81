internal import CRDTCore
internal import Synchronization

/// The writes that clients named, so that one which is sent again is acknowledged and not done twice.
///
/// A client sends a write again if the connection ended before the acknowledgement came.
final class RememberedWrites: Sendable {
    private struct State {
        var writes: [String: Task<[ObjectID], any Error>] = [:]
        /// The names in the order in which they came.
        var names: [String] = []
    }

    private let state = Mutex(State())

    /// Does a write, or waits for the one of the same name.
    func perform(_ name: String, _ write: @escaping @Sendable () async throws -> [ObjectID]) async throws -> [ObjectID]
    {
        let task = self.state.withLock { state in
            if let task = state.writes[name] { return task }
            let task = Task { try await write() }
            state.writes[name] = task
            state.names.append(name)
            if state.names.count > APILimits.rememberedWriteCountMax {
                for old in state.names.prefix(APILimits.rememberedWriteCountMax / 2) { state.writes[old] = nil }
                state.names.removeFirst(APILimits.rememberedWriteCountMax / 2)
            }
            return task
        }
        do {
            return try await task.value
        } catch {
            // What failed has written nothing, and may be tried again.
            self.state.withLock { $0.writes[name] = nil }
            throw error
        }
    }
}
