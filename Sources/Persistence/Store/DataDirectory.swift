package import CRDTCore
import Glibc

/// The directory that holds a workspace, kept from every other process as long as this object lives.
///
/// The lock file holds the number of the process while it runs and is emptied when it ends in order, so that what is
/// found there on opening tells of an unclean end.
final class DataDirectory {
    let path: String
    /// Whether the last process that had the directory did not end in order.
    let endedUncleanly: Bool
    private let lock: RegularFile
    private let waitsForDisk: Bool

    static let lockFileName = "lock"
    private static let directoryMode: mode_t = 0o700
    private static let fileMode: mode_t = 0o600

    /// Creates the directory if there is none, and locks it.
    ///
    /// `waitsForDisk`: false for a copy that nobody needs after a power cut.
    init(path: String, waitsForDisk: Bool) throws(StoreError) {
        try DataDirectory.create(path)
        let lockPath = path + "/" + DataDirectory.lockFileName
        try DataDirectory.requireRegular(lockPath)
        let lock = try DataDirectory.open(lockPath)
        if flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0 {
            let holder = DataDirectory.content(of: lock)
            let process = holder.isEmpty ? "another process" : "another process (\(holder))"
            throw .locked("The directory \(path) is in use by \(process). Only one process can use it at a time.")
        }
        self.path = path
        self.waitsForDisk = waitsForDisk
        self.endedUncleanly = !DataDirectory.content(of: lock).isEmpty
        self.lock = lock
    }

    // To close it is not enough: a process that is just being started from this one has a copy of the descriptor.
    deinit { flock(self.lock.descriptor, LOCK_UN) }

    /// Notes that this process has the directory.
    ///
    /// Until `release`, an end is unclean.
    func markInUse() throws(StoreError) {
        let text = Array("process \(getpid())\n".utf8)
        guard ftruncate(self.lock.descriptor, 0) == 0,
            pwrite(self.lock.descriptor, text, text.count, 0) == text.count,
            !self.waitsForDisk || fsync(self.lock.descriptor) == 0
        else { throw DataDirectory.failure("\(self.path) cannot be written") }
        if self.waitsForDisk { try DataDirectory.sync(directory: self.path) }
    }

    /// Notes that everything was closed in order, and leaves the directory to others.
    func release() {
        ftruncate(self.lock.descriptor, 0)
        flock(self.lock.descriptor, LOCK_UN)
    }

    /// Makes sure that a file exists and that only its owner may use it, whatever the umask.
    ///
    /// The file may be a database in use, so no descriptor of it is opened and closed.
    func prepareFile(_ name: String) throws(StoreError) -> String {
        let path = self.path + "/" + name
        try Self.requireRegular(path)
        guard mknod(path, S_IFREG | Self.fileMode, 0) == 0 || errno == EEXIST else {
            throw Self.failure("\(path) cannot be made")
        }
        guard chmod(path, Self.fileMode) == 0 else { throw Self.failure("\(path) cannot be kept from others") }
        guard access(path, R_OK | W_OK) == 0 else { throw Self.failure("\(path) cannot be opened") }
        if self.waitsForDisk { try DataDirectory.sync(directory: self.path) }
        return path
    }

    /// Cuts off all that is in a file.
    func empty(_ name: String) throws(StoreError) {
        let path = self.path + "/" + name
        try Self.requireRegular(path)
        guard truncate(path, 0) == 0 else { throw Self.failure("\(path) cannot be written") }
    }

    /// The length of a file; nil if there is no such file.
    ///
    /// The file is not opened.
    static func byteCount(of path: String) throws(StoreError) -> Int? {
        guard let byteCount = try self.requireRegular(path) else { return nil }
        guard access(path, R_OK) == 0 else { throw self.failure("\(path) cannot be read") }
        return byteCount
    }

    /// Stops what would have SQLite open a database while it, its log, or what else SQLite opens with it, is no regular
    /// file, or has another name.
    static func requireRegularDatabase(_ path: String) throws(StoreError) {
        for suffix in SQLiteStore.databaseSuffixes { try self.requireRegular(path + suffix) }
    }

    /// Stops what would open something that is no regular file, or has another name; returns the length, nil if there
    /// is nothing.
    @discardableResult
    static func requireRegular(_ path: String) throws(StoreError) -> Int? {
        do throws(RegularFile.Failure) {
            return try RegularFile.byteCount(of: path, mayHaveOtherNames: false)
        } catch {
            throw StoreError(error, path)
        }
    }

    private static func create(_ path: String) throws(StoreError) {
        if mkdir(path, self.directoryMode) == 0 {
            chmod(path, self.directoryMode)
            return
        }
        switch errno {
        case EEXIST:
            return
        case ENOENT:
            guard let slash = path.dropLast().lastIndex(of: "/"), slash > path.startIndex else { fallthrough }
            try self.create(String(path[..<slash]))
            guard mkdir(path, self.directoryMode) == 0 || errno == EEXIST else { fallthrough }
            chmod(path, self.directoryMode)
        default:
            throw self.failure("\(path) cannot be made")
        }
    }

    private static func open(_ path: String) throws(StoreError) -> RegularFile {
        do throws(RegularFile.Failure) {
            let file = try RegularFile(path, for: .making)
            guard fchmod(file.descriptor, self.fileMode) == 0 else { throw .system(errno) }
            return file
        } catch {
            throw StoreError(error, path)
        }
    }

    private static func content(of lock: borrowing RegularFile) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(lock.descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)).filter { $0 >= 0x20 }, as: UTF8.self)
    }

    static func sync(directory path: String) throws(StoreError) {
        let code = OpenFile.syncFolder(path)
        guard code == 0 else { throw self.failure("\(path) cannot be written", code) }
    }

    static func failure(_ sentence: String, _ code: Int32 = errno) -> StoreError {
        switch code {
        case ENOSPC, EDQUOT: return .diskFull
        case EIO: return .inputOutput("\(sentence): \(SystemError.text(code)).")
        default: return .unavailable("\(sentence): \(SystemError.text(code)).")
        }
    }
}

extension SQLiteStore {
    /// Throws if the log of a directory's database is damaged, which only whoever opens the store can deal with.
    ///
    /// While a process has the store, that has looked, and the log changes.
    package static func requireWholeLog(directory: String) throws(StoreError) {
        try DataDirectory.unlessInUse(directory) { () throws(StoreError) in
            if let damage = try LogDamage.find(in: "\(directory)/\(self.fileName)") { throw damage.refusal }
        }
    }
}

extension DataDirectory {
    /// Does something while no process has the directory; nothing if one has it.
    fileprivate static func unlessInUse(_ path: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        guard let lock = try? RegularFile("\(path)/\(self.lockFileName)") else { return try body() }
        guard flock(lock.descriptor, LOCK_SH | LOCK_NB) == 0 else { return }
        defer { flock(lock.descriptor, LOCK_UN) }
        try body()
    }
}

/// The operating system's words for its errors.
enum SystemError {
    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
