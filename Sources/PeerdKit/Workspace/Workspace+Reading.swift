internal import Persistence

extension Workspace {
    /// Reads one state of the workspace, beside concurrent writes.
    ///
    /// Everything that the closure reads belongs to the last state that was committed when it began. It runs on a
    /// thread of its own, may take long, and delays neither writes nor the sync. Up to four closures run at the same
    /// time; more wait. While one runs, SQLite's write-ahead log cannot be emptied and may grow.
    ///
    /// - Parameter body: reads from the transaction, which cannot leave it.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure; ``PeerdError`` with `closed`, or if the disk fails. `CancellationError` if
    ///   the task is cancelled while it waits for its turn.
    public func read<Result: Sendable>(
        _ body: @Sendable (inout ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await self.reading { transaction in
            var transaction = ReadTransaction(WorkspaceState(.present, of: transaction))
            return try body(&transaction)
        }
    }

    /// Returns an object with its properties; nil if it does not exist or is deleted.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: As ``ReadTransaction/object(_:)``.
    @concurrent
    public func object(_ id: ObjectID) async throws -> Object? {
        try await self.readingBriefly { transaction in
            try ReadTransaction(WorkspaceState(.present, of: transaction)).object(id)
        }
    }

    /// Returns one page of the objects of a query.
    ///
    /// Each page reads the state of its own moment. Read several pages inside one ``read(_:)`` if they must belong
    /// together.
    ///
    /// - Parameters:
    ///   - query: the objects to read, and their order.
    ///   - cursor: ``Page/next`` of the page before; nil for the first page.
    ///   - limit: the most objects to return, from 1 to 10,000.
    /// - Returns: the objects, and the cursor for the next page.
    /// - Throws: ``PeerdError`` with `invalidArgument` for a limit out of range or the cursor of another query,
    ///   `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: As ``ReadTransaction/page(_:after:limit:)``.
    public func page(_ query: Query, after cursor: Cursor? = nil, limit: Int = 100) async throws -> Page {
        try await self.read { try $0.page(query, after: cursor, limit: limit) }
    }

    /// Returns the number of objects of a query.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n*) in the objects that the query looks at, before its filters.
    public func count(_ query: Query) async throws -> Int {
        try await self.read { try $0.count(query) }
    }
}
