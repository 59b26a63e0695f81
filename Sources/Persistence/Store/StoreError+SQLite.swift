import CRDTCore
import CSQLite
import Glibc

extension StoreError {
    /// What a result code of SQLite means to those who use a store.
    ///
    /// The connection is where it came from.
    init(resultCode: Int32, connection: OpaquePointer?) {
        let message = sqlite3_errmsg(connection).map { String(cString: $0) } ?? "no message"
        let systemError = connection == nil ? 0 : sqlite3_system_errno(connection)
        self.init(resultCode: resultCode, message: message, systemError: systemError)
    }

    private init(resultCode: Int32, message: String, systemError: Int32) {
        let detail = "SQLite error \(resultCode): \(message)"
        switch resultCode & 0xff {
        case SQLITE_FULL:
            self = .diskFull
        case SQLITE_IOERR where [ENOSPC, EDQUOT].contains(systemError):
            // Growing the index of the write-ahead log reports a full disk this way.
            self = .diskFull
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT:
            self = .damaged("The database file is damaged (\(detail)).")
        case SQLITE_ERROR where message.hasPrefix("no such "):
            // Every table and column was there when the database was opened, or its schema could not be what it says.
            self = .damaged("The database lacks what it should have (\(detail)).")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self = .locked("Another program holds the write lock of the database (\(detail)); peerd waits for it.")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            self = .unavailable("The database cannot be used now (\(detail)).")
        default:
            self = .inputOutput("The database could not be read or written (\(detail)).")
        }
    }
}
