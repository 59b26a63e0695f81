internal import Persistence

extension Workspace {
    /// Reads one moment of the workspace, beside whoever writes.
    ///
    /// All that the closure reads belongs to the last state that was committed when it began. It runs on a thread of
    /// its own, may take its time, and delays neither writes nor the sync. Up to four read at the same time; further
    /// ones wait.
    ///
    /// - Throws: what the closure throws; ``PeerdError``; `CancellationError` if the task is cancelled while it waits
    ///   for its turn.
    public func read<Result: Sendable>(
        _ body: @Sendable (inout Snapshot) throws -> Result
    ) async throws -> Result {
        try await self.reading { transaction in
            var snapshot = Snapshot(transaction)
            return try body(&snapshot)
        }
    }

    /// An object; nil if there is none, or it is deleted.
    public func object(_ id: ObjectID) async throws -> Object? {
        try await self.read { try $0.object(id) }
    }

    /// So many objects of a query, behind a cursor.
    ///
    /// - Parameters:
    ///   - query: which objects, in which order.
    ///   - cursor: the end of the page before; nil for the first.
    ///   - limit: how many at most, from 1 to 10,000.
    /// - Returns: the objects, and where the next page begins.
    /// - Throws: ``PeerdError`` with `invalidArgument` for a limit, or the cursor of another query.
    public func page(_ query: Query, after cursor: Cursor? = nil, limit: Int = 100) async throws -> Page {
        try await self.read { try $0.page(query, after: cursor, limit: limit) }
    }

    /// How many objects a query has.
    ///
    /// - Complexity: O(*n*) in the objects that it looks at.
    public func count(_ query: Query) async throws -> Int {
        try await self.read { try $0.count(query) }
    }
}
