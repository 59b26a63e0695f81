package import CRDTCore
internal import Glibc

/// A regular file that is open: the one way in which files of a data directory are opened.
///
/// Whatever lies under a name, opening it waits for nobody, follows no link that a directory holds, and has no effect
/// on a device. What is no regular file is not opened at all. Databases are never opened here (`DatabaseBytes` says
/// why), but they are looked at first by the same rule.
package struct RegularFile: ~Copyable, Sendable {
    package let descriptor: Int32
    /// The length in bytes when it was opened.
    package let byteCount: Int

    /// What a file is opened for.
    package enum Purpose {
        case reading
        /// To read a file whose time of the last access stays as it is, if the system allows that.
        case readingUnnoticed
        /// To read and write a file that exists.
        case updating
        /// The same, of a file that is made if there is none, for its owner only.
        case making
    }

    /// Why a file was not opened.
    package enum Failure: Error, Hashable, Sendable {
        case absent
        /// What it is instead, in words.
        case notRegular(String)
        /// It has another name, under which another program may use it.
        case hasOtherNames
        /// It has more bytes than are taken.
        case tooLong
        /// The number of the error of a system call.
        case system(Int32)
    }

    /// The flag `O_NOATIME`, which Linux hides from C programs that do not ask for it.
    private static let withoutAccessTime: Int32 = 0o1_000_000
    private static let mode: mode_t = 0o600

    /// Opens a file.
    ///
    /// `followsLinks`: for a path that the user named, and never for one within a data directory.
    package init(_ path: String, for purpose: Purpose = .reading, followsLinks: Bool = false) throws(Failure) {
        // Opening a device can have effects, so the name is asked first, and the open file is asked again.
        if try Self.byteCount(of: path, followsLinks: followsLinks) == nil, purpose != .making { throw .absent }
        let common = O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
        var descriptor: Int32
        switch purpose {
        case .reading: descriptor = Glibc.open(path, O_RDONLY | common)
        case .readingUnnoticed:
            descriptor = Glibc.open(path, O_RDONLY | common | Self.withoutAccessTime)
            // Only its owner may ask for that.
            if descriptor < 0, errno == EPERM { descriptor = Glibc.open(path, O_RDONLY | common) }
        case .updating: descriptor = Glibc.open(path, O_RDWR | common)
        case .making: descriptor = Glibc.open(path, O_RDWR | O_CREAT | common, Self.mode)
        }
        guard descriptor >= 0 else { throw Self.failure(errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notRegular(Self.words(status.st_mode))
        }
        self.descriptor = descriptor
        self.byteCount = Int(status.st_size)
    }

    deinit { close(self.descriptor) }

    /// Reads all of a small file.
    ///
    /// Fails if it has more than `byteCountMax` bytes.
    package static func content(of path: String, atMost byteCountMax: Int) throws(Failure) -> [UInt8] {
        let file = try RegularFile(path)
        guard file.byteCount <= byteCountMax else { throw .tooLong }
        var bytes = [UInt8](repeating: 0, count: file.byteCount)
        let count = bytes.withUnsafeMutableBytes { OpenFile.read(file.descriptor, at: 0, into: $0) }
        guard count >= 0 else { throw .system(errno) }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// The length of a file in bytes, which is not opened; nil if there is nothing under that name.
    ///
    /// Fails if there is something else than a regular file.
    ///
    /// `mayHaveOtherNames`: false for a database, its logs and a lock. SQLite finds a log by the name of its database,
    /// so a database with two names has two logs, and each user of one writes over what the other has written.
    package static func byteCount(
        of path: String,
        followsLinks: Bool = false,
        mayHaveOtherNames: Bool = true
    ) throws(Failure) -> Int? {
        var status = stat()
        guard (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else {
            let failure = Self.failure(errno)
            if failure == .absent { return nil }
            throw failure
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(Self.words(status.st_mode)) }
        // What another process removes at this moment has no name left.
        guard status.st_nlink > 0 else { return nil }
        guard mayHaveOtherNames || status.st_nlink == 1 else { throw .hasOtherNames }
        return Int(status.st_size)
    }

    private static func failure(_ code: Int32) -> Failure {
        switch code {
        case ENOENT, ENOTDIR: .absent
        case ELOOP: .notRegular("a symbolic link")
        case EISDIR: .notRegular("a folder")
        case ENXIO: .notRegular("a pipe, a socket or a device")
        default: .system(code)
        }
    }

    /// What a file is by its mode.
    private static func words(_ mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFIFO: "a named pipe"
        case S_IFDIR: "a folder"
        case S_IFLNK: "a symbolic link"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }
}

extension RegularFile.Failure {
    /// Says of which file it is, as a sentence.
    package func sentence(_ path: String) -> String {
        switch self {
        case .absent: "There is no file \(path)."
        case .notRegular(let what): "\(path) is not a regular file, but \(what)."
        case .hasOtherNames:
            "\(path) has another name (a hard link), so two directories would write to one file, and one would lose "
                + "what it holds."
        case .tooLong: "\(path) is longer than such a file can be."
        case .system(let code): "\(path) cannot be opened: \(SystemError.text(code))."
        }
    }
}

extension StoreError {
    /// Says why a file was not opened.
    package init(_ failure: RegularFile.Failure, _ path: String) {
        switch failure {
        case .system(ENOSPC), .system(EDQUOT): self = .diskFull
        case .system(EIO): self = .inputOutput(failure.sentence(path))
        default: self = .unavailable(failure.sentence(path))
        }
    }
}
