import CRDTCore
import CSQLite

/// The prepared statements of one connection: each is compiled when it is first used and kept until the end.
final class StatementCache {
    let connection: DatabaseConnection
    private var handles: [OpaquePointer?] = []
    /// Whether a transaction is to begin as soon as a statement is used.
    var beginsWhenUsed = false

    init(connection: DatabaseConnection) { self.connection = connection }

    deinit { self.finalizeAll() }

    subscript(_ query: StoreQuery) -> Statement {
        get throws(StoreError) {
            if self.beginsWhenUsed {
                self.beginsWhenUsed = false
                try self[.begin].run()
            }
            if query.number < self.handles.count, let handle = self.handles[query.number] {
                return Statement(handle: handle)
            }
            let handle = try self.connection.prepare(query.sql, flags: SQLITE_PREPARE_PERSISTENT)
            if query.number >= self.handles.count {
                self.handles += Array(repeating: nil, count: query.number + 1 - self.handles.count)
            }
            self.handles[query.number] = handle
            return Statement(handle: handle)
        }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { self.connection.isInTransaction }

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
