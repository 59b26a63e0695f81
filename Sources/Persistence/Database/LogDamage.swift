package import CRDTCore

/// A write-ahead log that ends too early for SQLite: whole commits lie behind a frame that is not what was written.
///
/// SQLite takes the first bad frame for the end of its log, as it is after a power cut in a commit. What lies behind
/// would be overwritten, and its sequence numbers be given again. But each commit is waited for before anything is
/// written behind it (`synchronous = FULL`). So where a frame continues a commit, all up to that commit was on the
/// disk, and a bad frame before it was damaged later. The rule does not hold for a store that does not wait.
///
/// Of what a power cut, a `kill -9` or a disk that failed can leave, nothing looks like this:
/// - a torn commit is the last, so nothing continues it;
/// - a log that began anew has other salts than the old frames behind its end;
/// - of a commit that failed, frames may lie behind the commit that took its place; none of them continues that one,
///   and their own commit is the last of its transaction.
package struct LogDamage: Hashable, Sendable {
    /// The frame at which SQLite stops, from 1; 0 for the header of the log.
    package let frame: Int
    /// The last frame that continues a commit behind it.
    package let lastFrame: Int
    /// Whether a checkpoint has written all that lies behind the frame into the database, which needs no log then.
    package let isInDatabase: Bool

    /// Looks at the log of a database that no process writes to; nil if it is whole, torn at its end, or not there.
    ///
    /// Reads the log once, or twice if it is damaged. SQLite must not have opened the database since it was written.
    /// - Complexity: O(*n*) in the bytes of the log; memory for one frame, and only if it is damaged a few bytes for
    ///   each.
    package static func find(in database: String) throws(StoreError) -> LogDamage? {
        // SQLite itself drops the log of a database that has no page.
        guard let byteCount = try DataDirectory.byteCount(of: database), byteCount > 0 else { return nil }
        guard let logByteCount = try DataDirectory.byteCount(of: database + "-wal"), logByteCount > 0 else {
            return nil
        }
        let bytes = try DatabaseBytes(database)
        var log = try LogFrames(database + "-wal", pageByteCount: self.pageByteCount(bytes))
        guard let (frame, lastFrame) = try log.damage() else { return nil }
        let isInDatabase = try self.holdsAll(bytes, behind: frame, through: lastFrame, of: &log)
        return LogDamage(frame: frame, lastFrame: lastFrame, isInDatabase: isInDatabase)
    }

    /// What whoever cannot keep the files says, before anything is changed.
    package var refusal: StoreError {
        .unavailable(
            "The write-ahead log of the database is damaged at frame \(self.frame); nothing was changed. Whoever opens "
                + "the workspace for writing keeps a copy of the files first, and goes on."
        )
    }

    private static let pageByteCountOffset: Int64 = 16

    private static func pageByteCount(_ database: borrowing DatabaseBytes) throws(StoreError) -> Int {
        let bytes = try database.read(2, at: self.pageByteCountOffset)
        guard bytes.count == 2 else { return 0 }
        let count = Int(bytes[0]) << 8 | Int(bytes[1])
        // 65536 does not fit.
        return count == 1 ? 1 << 16 : count
    }

    /// Whether the database has, of each page that is whole behind the bad frame, its last version.
    private static func holdsAll(
        _ database: borrowing DatabaseBytes,
        behind frame: Int,
        through lastFrame: Int,
        of log: inout LogFrames
    ) throws(StoreError) -> Bool {
        var isAnyCompared = false
        for (page, last) in try log.lastFrames(through: lastFrame) where last > frame {
            guard try log.readLinked(last) else { continue }
            let offset = Int64(page - 1) * Int64(log.pageByteCount)
            guard try database.read(log.pageByteCount, at: offset).elementsEqual(log.page) else { return false }
            isAnyCompared = true
        }
        return isAnyCompared
    }
}
