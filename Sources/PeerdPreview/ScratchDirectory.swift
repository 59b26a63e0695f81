internal import CRDTCore
internal import Foundation
internal import PeerdKit
internal import Persistence
internal import Synchronization

/// A temporary directory that only the user can enter, with the databases that a preview works on.
final class ScratchDirectory: Sendable {
    private let path: String
    /// A file that is locked as long as the directory is in use: so others can tell what a process that was killed has
    /// left, and that it is one of these directories at all.
    private let lock: Int32
    private let entryCount = Atomic<Int>(0)

    static let isFull = PeerdError(
        .diskFull,
        "There is no room for copies of the databases in \(FileManager.default.temporaryDirectory.path).",
        advice: "Make room there, or set TMPDIR to another place."
    )

    private static let prefix = "peerd-preview-"
    /// Until its lock is held, a directory has another name, or it would be taken for an abandoned one.
    private static let newPrefix = "peerd-new-preview-"
    private static let lockName = "lock-of-a-preview"

    private init() throws {
        Self.removeAbandoned()
        let template = FileManager.default.temporaryDirectory.appendingPathComponent("\(Self.newPrefix)XXXXXX").path
        var characters = Array(template.utf8CString)
        guard mkdtemp(&characters) != nil else { throw FileCopy.failure(template) }
        let new = String(decoding: characters.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let name = Self.prefix + new.suffix(6)
        self.path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        self.lock = open("\(new)/\(Self.lockName)", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PrivateFile.fileMode)
        guard self.lock >= 0, flock(self.lock, LOCK_EX | LOCK_NB) == 0, rename(new, self.path) == 0 else {
            let failure = FileCopy.failure(new)
            try? FileManager.default.removeItem(atPath: new)
            throw failure
        }
    }

    deinit { close(self.lock) }

    /// Removes what previews of this user have left that were killed; nothing that has no lock of a preview in it.
    ///
    /// Where others can make directories too, one of theirs, or a link, could lead to what is none of a preview's.
    private static func removeAbandoned() {
        let folder = FileManager.default.temporaryDirectory
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.hasPrefix(self.prefix) {
            let path = folder.appendingPathComponent(name).path
            guard let lock = try? RegularFile("\(path)/\(self.lockName)", for: .updating) else { continue }
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
                status.st_mode & 0o077 == 0, flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// Makes a directory for the time of a call, and removes it with everything in it, also after an error.
    static func with<Result>(_ body: (ScratchDirectory) throws -> Result) throws -> Result {
        let directory = try ScratchDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        return try body(directory)
    }

    /// Makes an empty directory with a name of its own.
    fileprivate func makeEntry() throws -> String {
        let number = self.entryCount.wrappingAdd(1, ordering: .relaxed).newValue
        let path = "\(self.path)/\(number)"
        guard mkdir(path, PrivateFile.directoryMode) == 0 else { throw FileCopy.failure(path) }
        return path
    }
}

/// The database of one device at one moment of a preview, removed when nobody needs it any more.
///
/// Nobody opens it while another thread does, or while it is copied.
final class DatabaseCopy: Sendable {
    let paths: DirectoryPaths
    private let scratch: ScratchDirectory

    var databasePath: String { self.paths.database }

    /// Makes room for a copy.
    init(in scratch: ScratchDirectory) throws {
        self.scratch = scratch
        self.paths = DirectoryPaths(directory: try scratch.makeEntry())
    }

    deinit { try? FileManager.default.removeItem(atPath: self.paths.directory) }

    /// Makes an equal database that can be changed without changing this one.
    func duplicate() throws -> DatabaseCopy {
        let copy = try DatabaseCopy(in: self.scratch)
        // A database that was closed in order has no log, unless the disk refused to take it in.
        for suffix in ["", "-wal"] where access(self.databasePath + suffix, F_OK) == 0 {
            try FileCopy.copy(self.databasePath + suffix, to: copy.databasePath + suffix)
        }
        return copy
    }

    /// Opens the database by the code that opens real ones.
    ///
    /// Commits do not wait for the disk, since nobody needs the copy after a power cut.
    func open(origin: Hash256) throws(StoreError) -> SQLiteStore {
        var configuration = StoreConfiguration()
        configuration.waitsForDisk = false
        return try SQLiteStore(directory: self.paths.directory, origin: origin, configuration: configuration)
    }

    /// Reads the database, which nobody has open.
    func read<Result>(
        origin: Hash256,
        _ body: (inout SQLiteStore.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var store = try self.open(origin: origin)
        return try store.read(body)
    }
}
