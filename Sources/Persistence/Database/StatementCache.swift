import CRDTCore
import GRDBSQLite

/// The prepared statements of one connection: each is compiled when it is first used and kept until the end.
final class StatementCache {
    let connection: OpaquePointer
    private var handles: [OpaquePointer?]
    /// Whether a transaction is to begin as soon as a statement is used.
    var beginsWhenUsed = false

    /// - Parameter connection: GRDB's own connection to the database.
    init(connection: OpaquePointer) {
        self.connection = connection
        // GRDB has SQLite tell it what statements read and when they commit, for observers called on its queue. There
        // are none, the queue is not used any more, and being told took longer than compiling a statement.
        sqlite3_set_authorizer(connection, nil, nil)
        sqlite3_commit_hook(connection, nil, nil)
        sqlite3_rollback_hook(connection, nil, nil)
        self.handles = Array(repeating: nil, count: StoreQuery.allCases.count)
    }

    subscript(_ query: StoreQuery) -> Statement {
        get throws(StoreError) {
            if self.beginsWhenUsed {
                self.beginsWhenUsed = false
                try self[.begin].run()
            }
            if let handle = self.handles[query.rawValue] { return Statement(handle: handle) }
            var handle: OpaquePointer?
            let code = sqlite3_prepare_v3(
                self.connection,
                query.sql,
                -1,
                UInt32(SQLITE_PREPARE_PERSISTENT),
                &handle,
                nil
            )
            guard code == SQLITE_OK, let handle else {
                throw StoreError(resultCode: code, connection: self.connection)
            }
            self.handles[query.rawValue] = handle
            return Statement(handle: handle)
        }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(self.connection) == 0 }

    /// Whether a statement is in the middle of its rows.
    var isAnyBusy: Bool { self.handles.contains { $0.map { sqlite3_stmt_busy($0) != 0 } ?? false } }

    /// Makes every statement ready for the next use, whatever was thrown while it was stepped.
    func resetAll() {
        for handle in self.handles { sqlite3_reset(handle) }
    }

    /// Frees the statements; the connection cannot be closed before.
    func finalizeAll() {
        for position in self.handles.indices {
            sqlite3_finalize(self.handles[position])
            self.handles[position] = nil
        }
    }
}
