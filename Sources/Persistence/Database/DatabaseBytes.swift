package import CRDTCore
import CSQLite
import Glibc

/// The bytes of a database file as they are, read through SQLite.
///
/// POSIX drops all locks that a process has on a file as soon as the process closes *any* descriptor of that file. So
/// one `open` and `close` of ours on a database, or on the index of its log (`-shm`), takes away the locks of all
/// connections in this process. The next program that closes its connection then takes itself for the last one. It
/// removes the log, while this process goes on writing to it: acknowledged writes are lost with the process. SQLite
/// keeps count of its descriptors, and closes none through which another connection has locks.
///
/// So nothing opens a file that may be a database in use, except SQLite's connections and this type. `stat` and
/// `access` need no descriptor. The log itself has no locks, so it may be opened. `OpenedFileRules` in RepositoryTests
/// keeps the list of the files of source code that open files at all.
package struct DatabaseBytes: ~Copyable {
    package let byteCount: Int64
    private let path: String
    private let connection: OpaquePointer
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// Opens a file, which need not be a database; changes and locks nothing.
    package init(_ path: String) throws(StoreError) {
        try DataDirectory.requireRegular(path)
        var connection: OpaquePointer?
        let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let connection else {
            let error = connection.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close(connection)
            throw Self.failure(path, error)
        }
        var file: UnsafeMutablePointer<sqlite3_file>?
        var byteCount: sqlite3_int64 = 0
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods?.pointee,
            methods.xFileSize(file, &byteCount) == SQLITE_OK
        else {
            let error = sqlite3_system_errno(connection)
            sqlite3_close(connection)
            throw Self.failure(path, error)
        }
        self.path = path
        self.connection = connection
        self.file = file
        self.methods = methods
        self.byteCount = byteCount
    }

    deinit { sqlite3_close(self.connection) }

    /// Reads so many bytes, or those that there are; none at the end.
    package func read(_ count: Int, at offset: Int64) throws(StoreError) -> [UInt8] {
        let count = min(count, Int(max(0, self.byteCount - offset)))
        var bytes = [UInt8](repeating: 0, count: count)
        guard count > 0 else { return bytes }
        let code = self.methods.xRead(self.file, &bytes, Int32(count), offset)
        guard code == SQLITE_OK else { throw Self.failure(self.path, sqlite3_system_errno(self.connection)) }
        return bytes
    }

    private static func failure(_ path: String, _ code: Int32) -> StoreError {
        let reason = code == 0 ? "SQLite does not say why" : SystemError.text(code)
        let sentence = "\(path) cannot be read: \(reason)."
        return code == EIO ? .inputOutput(sentence) : .unavailable(sentence)
    }
}
