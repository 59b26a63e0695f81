internal import Foundation
internal import PeerCrypto
internal import PeerdKit
internal import Persistence

/// A data directory that is read without a trace: no file in it is made, changed or opened for writing.
///
/// No connection of SQLite reads there, since it would write an index of the log. The lock of a running `peerd` is
/// respected, and a shared lock is held, so that no program begins to write between the database and its log.
struct SourceDirectory: ~Copyable {
    let paths: DirectoryPaths
    private let lock: RegularFile?
    /// The text of the lock file; empty if the last process that had the directory ended in order.
    let lockContent: [UInt8]

    private static let lockByteCountMax = 64
    /// The text that stands for a lock file that is missing.
    private static let unknownHolder = Array("unknown\n".utf8)

    init(_ directory: URL) throws {
        let paths = DirectoryPaths(directory)
        try paths.requireRegularFiles()
        guard access(paths.keys, F_OK) == 0 else { throw paths.absence(errno) }
        guard access(paths.lock, F_OK) == 0 || errno != ENOENT else {
            self.init(paths, lock: nil, Self.unknownHolder)
            return
        }
        let lock = try RegularFile.open(paths.lock)
        let content = try Self.content(of: lock, paths)
        self.init(paths, lock: consume lock, content)
    }

    private init(_ paths: DirectoryPaths, lock: consuming RegularFile?, _ lockContent: [UInt8]) {
        self.paths = paths
        self.lock = lock
        self.lockContent = lockContent
    }

    /// What the lock file says; locks it.
    private static func content(of lock: borrowing RegularFile, _ paths: DirectoryPaths) throws -> [UInt8] {
        var content = [UInt8](repeating: 0, count: self.lockByteCountMax)
        let count = pread(lock.descriptor, &content, content.count, 0)
        content.removeLast(content.count - max(0, count))
        if flock(lock.descriptor, LOCK_SH | LOCK_NB) != 0 {
            let name = String(decoding: content.filter { $0 >= 0x20 }, as: UTF8.self)
            throw PeerdError(
                .alreadyOpen,
                "\(paths.directory) is in use by \(name.isEmpty ? "another process" : name).",
                advice: "Stop it, and try again."
            )
        }
        return content
    }

    /// Reads the keys into memory that is zeroed afterwards.
    func keys() throws -> SecretBytes {
        try KeyFile.read(RegularFile.open(self.paths.keys, for: .readingUnnoticed), self.paths.keys)
    }

    /// Copies the database and its write-ahead log as they are on the disk.
    func copyDatabase(to copy: DatabaseCopy) throws {
        guard self.paths.hasDatabase else { throw self.paths.databaseMissing }
        // A large copy of what nobody can read would be in vain.
        do throws(StoreError) {
            try SQLiteStore.examine(source: self.paths.database)
        } catch {
            throw PeerdError(error)
        }
        let names = ["", "-wal"].map { self.paths.database + $0 }
        let before = names.map { FileState(of: $0) }
        try FileCopy.copyDatabase(names[0], to: copy.databasePath)
        if before[1] != nil { try FileCopy.copy(names[1], to: copy.databasePath + "-wal") }
        // A program that only reads holds no lock, and moves the log into the database when it ends.
        guard names.map({ FileState(of: $0) }) == before else {
            throw PeerdError(
                .alreadyOpen,
                "\(self.paths.database) was written to while it was read.",
                advice: "Stop the program that uses it, and try again."
            )
        }
        do throws(StoreError) {
            if let damage = try LogDamage.find(in: copy.databasePath) { throw damage.refusal }
        } catch {
            throw PeerdError(error)
        }
        try FileCopy.write(self.lockContent, to: copy.paths.lock)
    }
}
