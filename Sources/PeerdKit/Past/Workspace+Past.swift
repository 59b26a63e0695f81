package import CRDTCore
package import Persistence

/// The state of a workspace now or at a moment, as the readers of this package see it.
package typealias WorkspaceState = CombinedState<SQLiteTransaction>

/// The past: the same reads, of an earlier state.
extension Workspace {
    /// Returns this moment by the changes that are applied now.
    ///
    /// The state at this moment can be read on every machine that has these changes, whatever is written later.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    public func moment() async throws -> Moment {
        try await self.reading { transaction in try Moment.now(in: &transaction) }
    }

    /// Reads one state of the past, beside concurrent writes.
    ///
    /// The state is the merge of the changes that count at the moment. What was applied later takes no part, and costs
    /// nothing; no history is traversed, except for moves and for what was deleted.
    ///
    /// - Parameters:
    ///   - moment: the moment to read.
    ///   - body: reads from the transaction, which cannot leave it.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure; ``PeerdError`` with `noSuchMoment`, `closed`, or if the disk fails.
    ///   `CancellationError` if the task is cancelled while it waits for its turn.
    /// - Complexity: For each property O(log *n*) in its writes. A list of all objects looks at all that ever
    ///   were, and the children of a parent at all that ever stood there.
    public func read<Result: Sendable>(
        at moment: Moment,
        _ body: @Sendable (inout ReadTransaction) throws -> Result
    ) async throws -> Result {
        try await self.reading { transaction in
            var transaction = ReadTransaction(CombinedState(try moment.view(in: &transaction), of: transaction))
            return try body(&transaction)
        }
    }

    /// Returns an object as it was; nil if it did not exist then.
    ///
    /// - Throws: ``PeerdError`` with `noSuchMoment`, `closed`, or if the disk fails; `CancellationError`.
    public func object(_ id: ObjectID, at moment: Moment) async throws -> Object? {
        try await self.read(at: moment) { try $0.object(id) }
    }

    /// Returns one page of the objects of a query, as they were.
    ///
    /// - Parameters:
    ///   - query: the objects to read, and their order.
    ///   - moment: the moment to read.
    ///   - cursor: ``Page/next`` of the page before; nil for the first page.
    ///   - limit: the most objects to return, from 1 to 10,000.
    /// - Returns: the objects, and the cursor for the next page.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `noSuchMoment`, `closed`, or if the disk fails;
    ///   `CancellationError`.
    public func page(
        _ query: Query,
        at moment: Moment,
        after cursor: Cursor? = nil,
        limit: Int = 100
    ) async throws -> Page {
        try await self.read(at: moment) { try $0.page(query, after: cursor, limit: limit) }
    }

    // MARK: - For the local API

    /// Throws `noSuchMoment` if there is no such moment here, or a compaction has dropped a value of it.
    package func requireKept(at moment: Moment) async throws {
        try await self.reading { transaction in try transaction.requireKept(in: moment.view(in: &transaction)) }
    }

    /// Reads the state now, or at a moment.
    package func reading<Result: Sendable>(
        at moment: Moment?,
        _ body: @Sendable (inout WorkspaceState) throws -> Result
    ) async throws -> Result {
        try await self.reading { transaction in try Self.withState(at: moment, of: &transaction, body) }
    }

    /// Reads a little of the state now, on the thread of the caller's task, or of that at a moment.
    package func readingBriefly<Result: Sendable>(
        at moment: Moment?,
        _ body: @Sendable (inout WorkspaceState) throws -> Result
    ) async throws -> Result {
        if moment != nil { return try await self.reading(at: moment, body) }
        return try await self.readingBriefly { transaction in try Self.withState(at: nil, of: &transaction, body) }
    }

    /// Reads the state now, or at a moment, and hands over what is read of it in pieces.
    package func reading(
        at moment: Moment?,
        to write: @escaping @Sendable ([UInt8]) async throws -> Void,
        _ body: @escaping @Sendable (inout WorkspaceState, ([UInt8]) throws -> Void) throws -> Void
    ) async throws {
        try await self.reading(to: write) { transaction, put in
            try Self.withState(at: moment, of: &transaction) { try body(&$0, put) }
        }
    }

    private static func withState<Result>(
        at moment: Moment?,
        of transaction: inout SQLiteTransaction,
        _ body: (inout WorkspaceState) throws -> Result
    ) throws -> Result {
        var state = WorkspaceState(try moment?.view(in: &transaction) ?? .present, of: transaction)
        return try body(&state)
    }
}
