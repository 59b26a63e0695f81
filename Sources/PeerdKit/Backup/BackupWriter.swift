internal import Foundation
internal import PeerCrypto
internal import Persistence

/// A file that a backup needs while it is written, under a temporary name beside that of the backup.
///
/// The name is gone with this object. A process that ends meanwhile leaves the file, and the next backup of the same
/// name removes it.
final class UnfinishedFile: Sendable {
    let path: String
    let descriptor: Int32

    init(for backup: String) throws {
        self.path = AbandonedBackup.makeName(for: backup)
        self.descriptor = open(self.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PrivateFile.fileMode)
        // Whoever looks for abandoned files sees that this one is in use.
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) == 0,
            fchmod(self.descriptor, PrivateFile.fileMode) == 0
        else { throw BackupFailure.ofErrno(backup, "cannot be made") }
    }

    deinit {
        guard self.descriptor >= 0 else { return }
        unlink(self.path)
        close(self.descriptor)
    }
}

/// A backup that is being written.
struct BackupWriter {
    private let path: String
    private let file: UnfinishedFile
    private var hasher = BackupFormat.fileHasher()
    private var entryCount: UInt64 = 0

    init(_ path: String) throws {
        self.path = path
        self.file = try UnfinishedFile(for: path)
        try self.write(BackupFormat.firstLine)
        self.hasher.update(BackupFormat.firstLine)
    }

    /// Adds an entry that is in memory.
    mutating func add(_ kind: BackupFormat.Kind, _ content: UnsafeRawBufferPointer) throws {
        let head = BackupFormat.head(kind, UInt64(content.count))
        var entry = BackupFormat.entryHasher(head)
        entry.update(content)
        try self.write(head)
        try self.write(content)
        try self.end(head, BackupFormat.bytes(of: entry.finalize()))
    }

    /// Adds an entry with the content of an open file.
    ///
    /// `progress` is called with the bytes so far; it ends the backup by throwing.
    mutating func add(_ kind: BackupFormat.Kind, from file: Int32, progress: (Int) throws -> Void) throws {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw BackupFailure.ofErrno(self.path, "cannot be written") }
        let head = BackupFormat.head(kind, UInt64(status.st_size))
        var entry = BackupFormat.entryHasher(head)
        try self.write(head)
        var piece = [UInt8](repeating: 0, count: BackupFormat.pieceByteCount)
        var offset = 0
        while offset < Int(status.st_size) {
            let count = pread(file, &piece, min(piece.count, Int(status.st_size) - offset), off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BackupFailure.ofErrno(self.path, "cannot be written") }
            try piece.withUnsafeBytes { bytes in
                let read = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                entry.update(read)
                try self.write(read)
            }
            offset += count
            try progress(offset)
        }
        try self.end(head, BackupFormat.bytes(of: entry.finalize()))
    }

    /// Ends the file, waits for the disk, and gives the file its name; returns its length, and what is uncertain of it.
    mutating func finish(replaces: Bool) throws -> (byteCount: Int, warning: String?) {
        let head = BackupFormat.head(.end, self.entryCount)
        self.hasher.update(head)
        let hasher = self.hasher
        try self.write(head)
        try self.write(BackupFormat.bytes(of: hasher.finalize()))
        var status = stat()
        guard fsync(self.file.descriptor) == 0, fstat(self.file.descriptor, &status) == 0 else {
            throw BackupFailure.ofErrno(self.path, "cannot be written")
        }
        try AbandonedBackup.requireFree(self.path, replaces: replaces)
        guard rename(self.file.path, self.path) == 0 else {
            throw BackupFailure.ofErrno(self.path, "cannot be written")
        }
        // The backup is there. Whoever called this a failure would soon make another one, and so on.
        let (folder, byteCount) = (BackupFailure.folder(of: self.path), Int(status.st_size))
        let code = OpenFile.syncFolder(folder)
        guard code != 0 else { return (byteCount, nil) }
        return (byteCount, "its name may be lost if the power fails now: \(folder): \(SystemText.ofErrno(code))")
    }

    private mutating func end(_ head: [UInt8], _ digest: [UInt8]) throws {
        try self.write(digest)
        self.hasher.update(head)
        self.hasher.update(digest)
        self.entryCount += 1
    }

    private func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try self.write($0) } }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard OpenFile.write(bytes, to: self.file.descriptor) else {
            throw BackupFailure.ofErrno(self.path, "cannot be written")
        }
    }
}

/// The errors of files that hold backups.
enum BackupFailure {
    /// The failure of the last system call.
    static func ofErrno(_ path: String, _ what: String) -> PeerdError {
        guard [ENOSPC, EDQUOT].contains(errno) else { return PrivateFile.failure(path, what) }
        return self.noRoom(path)
    }

    static func noRoom(_ path: String) -> PeerdError {
        PeerdError(
            .diskFull,
            "There is no room for the backup in \(self.folder(of: path)); nothing was written.",
            advice: "Make room there for twice the size of the database, or choose another folder."
        )
    }

    static func damaged(_ path: String, _ what: String) -> PeerdError {
        PeerdError(.damaged, "\(path) is damaged: \(what).", advice: "Use another backup.")
    }

    static func folder(of path: String) -> String {
        let folder = (path as NSString).deletingLastPathComponent
        return folder.isEmpty ? "." : folder
    }
}

/// What backups leave whose process has ended, and where the next one may be.
enum AbandonedBackup {
    private static let mark = ".unfinished-"

    /// Removes what earlier backups of this name left, and returns an unused name beside it.
    static func makeName(for path: String) -> String {
        let folder = BackupFailure.folder(of: path)
        let beginning = ".\((path as NSString).lastPathComponent)\(self.mark)"
        self.remove(in: folder) { $0.hasPrefix(beginning) }
        return "\(folder)/\(beginning)\(UUID().uuidString)"
    }

    /// Removes unfinished files of ended processes in a folder.
    static func remove(in folder: String, where isMeant: (String) -> Bool) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.contains(self.mark) && isMeant(name) {
            let path = "\(folder)/\(name)"
            guard let file = try? RegularFile(path, for: .updating) else { continue }
            if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
        }
    }

    /// Throws if a path is in the data directory, or is another name of the database.
    ///
    /// The database must not even be opened (`DatabaseBytes` says why).
    static func requireOutside(_ paths: DirectoryPaths, _ path: String) throws {
        func resolved(_ path: String) -> String? {
            guard let text = realpath(path, nil) else { return nil }
            defer { free(text) }
            return String(cString: text) + "/"
        }
        let folder = resolved(BackupFailure.folder(of: path))
        let isInside = folder.flatMap { folder in resolved(paths.directory).map { folder.hasPrefix($0) } } ?? false
        guard isInside || FileState(of: path)?.isSameFile(as: FileState(of: paths.database)) == true
        else { return }
        throw PeerdError(
            .invalidArgument,
            "\(path) is in the data directory, which the backup is of; nothing was written.",
            advice: "Choose another folder, best on another disk."
        )
    }

    /// Throws if no file can be made in a folder.
    static func requireUsable(_ folder: String) throws {
        guard access(folder, W_OK | X_OK) != 0 else { return }
        throw PeerdError(
            .invalidArgument,
            "\(folder) cannot be used for backups: \(SystemText.ofErrno()).",
            advice: "Name a folder that exists and that you can write to."
        )
    }

    /// Throws if there is a file, which would be lost.
    ///
    /// `replaces`: whether a backup may be lost.
    static func requireFree(_ path: String, replaces: Bool) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT != S_IFLNK else {
            throw PeerdError(
                .invalidArgument,
                "\(path) is a symbolic link; it was not replaced.",
                advice: "Name the file that it leads to, or another one."
            )
        }
        guard replaces else {
            throw PeerdError(
                .invalidArgument,
                "\(path) exists; it was not replaced.",
                advice: "Name another file, or replace a backup with “--replace”."
            )
        }
        var bytes = [UInt8](repeating: 0, count: BackupFormat.name.count)
        let file = try RegularFile.open(path)
        pread(file.descriptor, &bytes, bytes.count, 0)
        guard bytes == BackupFormat.name else {
            throw PeerdError(
                .invalidArgument,
                "\(path) exists and is no backup; it was not replaced.",
                advice: "Name another file."
            )
        }
    }
}
