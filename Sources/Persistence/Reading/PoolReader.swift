import CRDTCore

/// A connection that reads one consistent state after the other, beside whoever writes.
///
/// It is `Sendable` since the pool lends it to one task at a time: ``ReadPool`` takes it out of its list under a
/// lock before it is used, and puts it back under the same lock afterwards.
final class PoolReader: @unchecked Sendable {
    private let thread = OwnThread(label: "peerd.reader")
    private let connection: DatabaseConnection
    private let statements: StatementCache
    private let transaction: SQLiteTransaction
    /// Of the store in this process, if there is one.
    private let committed: CommittedSegments?
    /// SQLite's count of others' commits at the last look.
    private var dataVersion: Int64?

    init(path: String, _ committed: CommittedSegments?, configuration: StoreConfiguration) throws(StoreError) {
        self.committed = committed
        self.connection = try DatabaseFile.openForReading(path, configuration)
        self.statements = StatementCache(connection: self.connection)
        self.transaction = try SQLiteTransaction(statements: self.statements)
    }

    /// Reads on a thread that nobody else needs.
    func readOnOwnThread<Content: Sendable>(
        _ body: @Sendable (inout SQLiteTransaction) throws -> Content
    ) async throws -> Content {
        try await self.thread.run { try self.read(body) }
    }

    /// Reads the last state that was committed when it begins.
    func read<Content>(_ body: (inout SQLiteTransaction) throws -> Content) throws -> Content {
        defer { self.end() }
        try self.begin()
        var transaction = self.transaction
        return try body(&transaction)
    }

    /// Reads the last state that was committed, unless it is the one of a mark.
    func read<Content>(
        unlessUnchangedSince mark: ReadMark?,
        _ body: (inout SQLiteTransaction) throws -> Content
    ) throws -> ReadAnswer<Content> {
        let reader = ObjectIdentifier(self)
        if let mark, mark.reader == reader, mark.dataVersion == (try self.currentDataVersion()) { return .unchanged }
        let content = try self.read(body)
        return .content(content, self.dataVersion.map { ReadMark(reader: reader, dataVersion: $0) })
    }

    private func currentDataVersion() throws(StoreError) -> Int64 {
        try self.statements[.dataVersion].first { $0.int64(0) } ?? 0
    }

    /// Begins to look at the last state, and takes note of what others have committed.
    private func begin() throws(StoreError) {
        var version: Int64 = 0
        let look = { () throws(StoreError) in
            try self.statements[.begin].run()
            version = try self.currentDataVersion()
        }
        var segments: SegmentTable?
        if let committed = self.committed { segments = try committed.table(at: look) } else { try look() }
        guard version != self.dataVersion else { return }
        self.dataVersion = nil
        try self.transaction.reload(segments)
        self.dataVersion = version
    }

    private func end() {
        self.statements.resetAll()
        if self.statements.isInTransaction { try? self.statements[.rollback].run() }
        self.transaction.didRead()
    }

    func close() {
        self.statements.finalizeAll()
        self.connection.close()
    }
}
