import CRDTCore
import CSQLite

/// A connection to a database: opens and closes it, and runs what is not worth a prepared statement.
///
/// One thread at a time uses it. Statements that others have prepared on it must be finalized before it is closed.
final class DatabaseConnection {
    private var database: OpaquePointer?

    /// Opens a database, or makes an empty one if there is none.
    ///
    /// Parameters: the name of a file, or a URI that begins with `file:`; and how long to wait for other programs.
    init(_ name: String, busyMilliseconds: Int) throws(StoreError) {
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var database: OpaquePointer?
        let code = sqlite3_open_v2(name, &database, flags, nil)
        guard code == SQLITE_OK, let database else {
            defer { sqlite3_close(database) }
            throw StoreError(resultCode: code, connection: database)
        }
        self.database = database
        peerd_refuse_double_quoted_strings(database)
        sqlite3_busy_timeout(database, Int32(clamping: busyMilliseconds))
    }

    deinit { self.close() }

    /// Has SQLite delete no files when the connection is closed.
    func keepLog() {
        var isKept: Int32 = 1
        sqlite3_file_control(self.database, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    }

    /// Closes the connection, for good.
    ///
    /// SQLite refuses this only as long as a statement or a copy is not finalized, which is an error of this program.
    func close() {
        let code = sqlite3_close(self.database)
        precondition(code == SQLITE_OK, "A statement outlives its connection.")
        self.database = nil
    }

    /// SQLite's own handle.
    var handle: OpaquePointer {
        guard let database = self.database else { preconditionFailure("The connection has been closed.") }
        return database
    }

    /// Runs statements one after the other, up to the first that fails; forgets the rows that they return.
    func execute(_ sql: String) throws(StoreError) {
        let code = sqlite3_exec(self.handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StoreError(resultCode: code, connection: self.handle) }
    }

    /// Runs statements in one transaction, which is rolled back if `body` throws.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try self.execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            try body()
            try self.execute("COMMIT")
        } catch {
            // SQLite has rolled back by itself after some errors.
            if self.isInTransaction { try? self.execute("ROLLBACK") }
            throw error
        }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(self.handle) == 0 }

    /// The number in the first column of the first row; nil if there is no row, or NULL in it.
    func integer(_ sql: String) throws(StoreError) -> Int64? {
        try self.rows(sql, most: 1) { $0.isNull(0) ? nil : $0.int64(0) }.first ?? nil
    }

    /// The text in the first column of each row.
    func texts(_ sql: String) throws(StoreError) -> [String] {
        try self.rows(sql, most: .max) { $0.text(0) }
    }

    private func rows<Row>(_ sql: String, most: Int, _ row: (Statement) -> Row) throws(StoreError) -> [Row] {
        let prepared = try self.prepare(sql, flags: 0)
        defer { sqlite3_finalize(prepared) }
        let statement = Statement(handle: prepared)
        var rows: [Row] = []
        while rows.count < most, try statement.step() { rows.append(row(statement)) }
        return rows
    }

    /// Text as a literal of SQL.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    /// Compiles a statement, which the caller finalizes.
    func prepare(_ sql: String, flags: Int32) throws(StoreError) -> OpaquePointer {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(self.handle, sql, -1, UInt32(flags), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw StoreError(resultCode: code, connection: self.handle) }
        return statement
    }
}
