package import CRDTCore
import Synchronization

/// Connections that read a database beside the one that writes it, in this process or another.
///
/// Neither waits for the other: SQLite keeps in its log what readers still look at. A reader that stays long keeps the
/// log from being emptied, and nothing else.
package final class ReadPool: Sendable {
    private let path: String
    private let committed: CommittedSegments?
    private let configuration: StoreConfiguration
    private let turns = Turns(ReadPool.readerCountMax)
    /// Connections that nobody reads with just now.
    private let idle = Mutex<[PoolReader]>([])

    /// As many read at the same time; further ones wait for one of them.
    package static let readerCountMax = 4

    static let closed = StoreError.unavailable("The database has been closed.")

    /// Opens nothing yet: that is done as readers are needed.
    ///
    /// `committed`: of the store that writes in this process, if there is one.
    package init(
        directory: String,
        beside committed: CommittedSegments? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) {
        self.committed = committed
        self.path = directory + "/" + SQLiteStore.fileName
        self.configuration = configuration
    }

    /// Throws ``StoreError/moved(_:)`` if the database of the store in this process is not in its place any more.
    package func requirePlace() throws(StoreError) { try self.committed?.place?.require() }

    /// Reads the last state that is committed when a reader is free.
    ///
    /// What `body` changes is forgotten. It may take its time, and runs on no thread that others need.
    /// - Throws: what `body` throws, a `StoreError`, or `CancellationError` if the task is cancelled while it waits.
    package func read<Content: Sendable>(
        _ body: @Sendable (inout SQLiteTransaction) throws -> Content
    ) async throws -> Content {
        let reader = try await self.take()
        defer { self.giveBack(reader) }
        return try await reader.readOnOwnThread(body)
    }

    /// Like ``read(_:)``, for a body that takes microseconds: it runs at once on the thread of the caller's task.
    ///
    /// Two changes of threads cost several times as much as to look up one object.
    package func readBriefly<Content>(
        _ body: (inout SQLiteTransaction) throws -> Content
    ) async throws -> Content {
        let reader = try await self.take()
        defer { self.giveBack(reader) }
        return try reader.read(body)
    }

    /// Like ``readBriefly(_:)``, for callers that cannot wait: nil if no reader is free and open.
    ///
    /// `mark`: that of an earlier answer. If nothing has been committed since, `body` is not called.
    package func readAtOnce<Content>(
        unlessUnchangedSince mark: ReadMark? = nil,
        _ body: (inout SQLiteTransaction) throws -> Content
    ) throws -> ReadAnswer<Content>? {
        guard self.turns.beginAtOnce() else { return nil }
        guard let reader = self.idle.withLock({ $0.popLast() }) else {
            self.turns.end()
            return nil
        }
        defer { self.giveBack(reader) }
        return try reader.read(unlessUnchangedSince: mark, body)
    }

    /// Waits for those that read, and closes all connections; whoever still waits for one is refused.
    package func close() async {
        await self.turns.close()
        let readers = self.idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for reader in readers { reader.close() }
    }

    private func take() async throws -> PoolReader {
        try Task.checkCancellation()
        do {
            try await self.turns.begin()
        } catch is Turns.Closed {
            throw Self.closed
        }
        do {
            if let reader = self.idle.withLock({ $0.popLast() }) { return reader }
            let reader = try PoolReader(path: self.path, self.committed, configuration: self.configuration)
            // Opened by its name, it could be another database.
            do {
                try self.requirePlace()
            } catch {
                reader.close()
                throw error
            }
            return reader
        } catch {
            self.turns.end()
            throw error
        }
    }

    private func giveBack(_ reader: PoolReader) {
        self.idle.withLock { $0.append(reader) }
        self.turns.end()
    }
}
