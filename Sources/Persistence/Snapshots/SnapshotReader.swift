import CRDTCore
import Dispatch
import GRDB

/// A connection that reads one consistent state after the other, beside whoever writes.
///
/// What it is given runs on a thread of its own, so that a long or sleeping reader keeps nobody from running.
actor SnapshotReader {
    private let executor = QueueExecutor(label: "peerd.reader")
    private let queue: DatabaseQueue
    private let statements: StatementCache
    private let transaction: SQLiteTransaction
    /// SQLite's count of others' commits at the last look.
    private var dataVersion: Int64?
    private var isOpen = true

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    init(path: String, configuration: StoreConfiguration) throws(StoreError) {
        let connection = try DatabaseFile.openForReading(path, configuration)
        self.queue = connection.queue
        self.statements = connection.statements
        do throws(StoreError) {
            self.transaction = try SQLiteTransaction(statements: connection.statements)
        } catch {
            connection.statements.finalizeAll()
            try? connection.queue.close()
            throw error
        }
    }

    /// Reads the last state that was committed when it begins.
    func read<Result: Sendable>(
        _ body: @Sendable (inout SQLiteTransaction) throws -> Result
    ) throws -> Result {
        guard self.isOpen else { throw SnapshotPool.closed }
        try self.statements[.begin].run()
        defer { self.end() }
        try self.refresh()
        var transaction = self.transaction
        return try body(&transaction)
    }

    /// Takes note of what others have committed.
    private func refresh() throws(StoreError) {
        let statement = try self.statements[.dataVersion]
        defer { statement.reset() }
        let version = try statement.step() ? statement.int64(0) : 0
        guard version != self.dataVersion else { return }
        self.dataVersion = nil
        try self.transaction.reload()
        self.dataVersion = version
    }

    private func end() {
        self.statements.resetAll()
        if self.statements.isInTransaction { try? self.statements[.rollback].run() }
        self.transaction.didRollback()
    }

    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        self.statements.finalizeAll()
        try? self.queue.close()
    }
}

/// Runs an actor's jobs one after the other on a dispatch queue.
private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = self.asUnownedSerialExecutor()
        self.queue.async { job.runSynchronously(on: executor) }
    }
}
