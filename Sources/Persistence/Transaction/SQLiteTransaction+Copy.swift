import CRDTCore
import CSQLite

/// Copies of the whole database.
extension SQLiteTransaction {
    /// Pages that are copied between two looks at whether anybody still wants the copy.
    private static let copiedPageCount: Int32 = 1024

    /// Writes the database, as this transaction sees it, to a file that must be empty.
    ///
    /// Writers do not wait: the transaction reads one state of the write-ahead log, which grows meanwhile. The copy is
    /// a database of its own, without a log. It is not on the disk when this returns.
    ///
    /// `progress` is called with the part that is done, from 0 to 1; it ends the copy by throwing.
    package func copyDatabase(to path: String, progress: (Double) throws -> Void) throws {
        // Without a look at the database the transaction has no state yet, and each step of the copy would take one.
        _ = try self.fact("origin")
        let target = try CopyTarget(path)
        let source = self.statements.connection.handle
        guard let copy = sqlite3_backup_init(target.connection, "main", source, "main") else {
            throw target.failure(sqlite3_errcode(target.connection))
        }
        var isFinished = false
        defer { if !isFinished { sqlite3_backup_finish(copy) } }
        while true {
            let code = sqlite3_backup_step(copy, Self.copiedPageCount)
            let (total, rest) = (sqlite3_backup_pagecount(copy), sqlite3_backup_remaining(copy))
            guard code == SQLITE_OK || code == SQLITE_DONE else { throw target.failure(code) }
            try progress(total > 0 ? Double(total - rest) / Double(total) : 0)
            if code == SQLITE_DONE { break }
        }
        isFinished = true
        let code = sqlite3_backup_finish(copy)
        guard code == SQLITE_OK else { throw target.failure(code) }
    }
}

/// The connection that writes a copy.
private final class CopyTarget {
    let connection: OpaquePointer

    init(_ path: String) throws(StoreError) {
        var connection: OpaquePointer?
        // Nobody else has the file, and not every file system of a backup has locks.
        let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none")
        guard code == SQLITE_OK, let connection else {
            defer { sqlite3_close(connection) }
            throw StoreError(resultCode: code, connection: connection)
        }
        self.connection = connection
        // If it fails, nobody needs what there is of the file; and no other program looks at it.
        let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
        let setCode = sqlite3_exec(connection, settings, nil, nil, nil)
        guard setCode == SQLITE_OK else { throw self.failure(setCode) }
    }

    deinit { sqlite3_close(self.connection) }

    func failure(_ code: Int32) -> StoreError { StoreError(resultCode: code, connection: self.connection) }
}
