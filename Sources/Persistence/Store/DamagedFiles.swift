package import CRDTCore
import Glibc

/// Copies of a database and its write-ahead log as they were when the log was found damaged.
///
/// Any SQLite client can open them. Nothing of the program reads or removes them.
package enum DamagedFiles {
    private static let prefix = SQLiteStore.fileName + ".damaged-"
    private static let unfinishedSuffix = ".unfinished"
    private static let pieceByteCount = 1 << 20
    private static let fileMode: mode_t = 0o600

    /// Copies the files of a directory that this process holds, and waits for the disk.
    ///
    /// SQLite must not have opened the database since its log was written.
    ///
    /// - Returns: the path of the copy of the database; that of the log ends with “-wal”.
    package static func keep(in directory: String) throws(StoreError) -> String {
        let copy = "\(directory)/\(self.prefix)\(self.timeText())"
        // It has its name when all is whole.
        let (unfinished, log) = (copy + self.unfinishedSuffix, copy + "-wal")
        do throws(StoreError) {
            let database = try DatabaseBytes("\(directory)/\(SQLiteStore.fileName)")
            try self.write(to: unfinished) { offset throws(StoreError) in
                try database.read(self.pieceByteCount, at: Int64(offset))
            }
            try self.write(to: log) { offset throws(StoreError) in
                try self.piece(of: "\(directory)/\(SQLiteStore.fileName)-wal", at: offset)
            }
            guard rename(unfinished, copy) == 0 else { throw DataDirectory.failure("\(copy) cannot be made") }
            try DataDirectory.sync(directory: directory)
        } catch {
            unlink(unfinished)
            unlink(log)
            throw error
        }
        return copy
    }

    /// The paths of the databases that were kept in a directory, the oldest first.
    package static func kept(in directory: String) -> [String] {
        SQLiteStore.names(in: directory).filter { name in
            name.hasPrefix(self.prefix) && !name.hasSuffix("-wal") && !name.hasSuffix(self.unfinishedSuffix)
        }.sorted().map { "\(directory)/\($0)" }
    }

    private static func write(to path: String, _ next: (Int) throws(StoreError) -> [UInt8]) throws(StoreError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, self.fileMode)
        guard descriptor >= 0 else { throw self.failure(path) }
        defer { close(descriptor) }
        guard fchmod(descriptor, self.fileMode) == 0 else { throw self.failure(path) }
        var offset = 0
        while case let piece = try next(offset), !piece.isEmpty {
            guard piece.withUnsafeBytes({ OpenFile.write($0, to: descriptor) }) else { throw self.failure(path) }
            offset += piece.count
        }
        guard fsync(descriptor) == 0 else { throw self.failure(path) }
    }

    private static func piece(of log: String, at offset: Int) throws(StoreError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            let file = try RegularFile(log)
            var bytes = [UInt8](repeating: 0, count: self.pieceByteCount)
            let count = bytes.withUnsafeMutableBytes { OpenFile.read(file.descriptor, at: offset, into: $0) }
            guard count >= 0 else { throw .system(errno) }
            return Array(bytes.prefix(count))
        } catch {
            throw StoreError(error, log)
        }
    }

    /// The time in UTC, as a name can hold it.
    private static func timeText() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func padded(_ number: Int32, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let day = padded(parts.tm_year + 1900, 4) + padded(parts.tm_mon + 1) + padded(parts.tm_mday)
        return day + "T" + padded(parts.tm_hour) + padded(parts.tm_min) + padded(parts.tm_sec) + "Z"
    }

    private static func failure(_ path: String) -> StoreError {
        let code = errno
        guard code == ENOSPC || code == EDQUOT else { return DataDirectory.failure("\(path) cannot be written") }
        return .unavailable(
            "The write-ahead log of the database is damaged, and there is no room for \(path), a copy of the files as "
                + "they are; nothing was changed."
        )
    }
}
