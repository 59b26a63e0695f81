internal import CRDTCore
package import Engine
internal import Glibc

/// The files of a blob store in a folder on a disk.
///
/// The folder is opened once, and everything below it by name from there, without following a link. A content is
/// readable and not writable, so that what opens it by mistake changes nothing. One thread uses it, of one process.
package final class FolderBlobDisk: BlobDisk {
    private let root: Descriptor
    private var folders: [BlobFile.Folder: Descriptor] = [:]
    /// Files that are open, the one that was used last at the end.
    private var open: [(file: BlobFile, descriptor: Descriptor, isWritable: Bool)] = []

    private static let folderMode: mode_t = 0o700
    private static let writtenMode: mode_t = 0o600
    private static let contentMode: mode_t = 0o400
    private static let openFileCountMax = 32

    /// Opens a folder, and makes it if there is none; it may not be a link.
    package init(path: String) throws(BlobDiskFailure) {
        if mkdir(path, Self.folderMode) != 0, errno != EEXIST { throw .ofErrno("\(path) cannot be made") }
        let number = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw .ofErrno("\(path) cannot be opened") }
        self.root = Descriptor(owning: number)
    }

    package func byteCount(of file: BlobFile) throws(BlobDiskFailure) -> UInt64? {
        guard let folder = try self.folder(file.folder, isMade: false) else { return nil }
        var status = stat()
        guard fstatat(folder.number, file.name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw .ofErrno("\(file.path) cannot be looked at")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .failed("\(file.path) is not a regular file") }
        return UInt64(status.st_size)
    }

    package func read(_ file: BlobFile, at offset: UInt64, count: Int) throws(BlobDiskFailure) -> [UInt8] {
        let descriptor = try self.descriptor(file, isWritable: false)
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let read = OpenFile.read(descriptor, at: Int(offset), into: UnsafeMutableRawBufferPointer(buffer))
            failed = read < 0
            initialized = max(0, read)
        }
        if failed { throw .ofErrno("\(file.path) cannot be read") }
        return bytes
    }

    package func write(_ bytes: [UInt8], to file: BlobFile, at offset: UInt64) throws(BlobDiskFailure) {
        let descriptor = try self.descriptor(file, isWritable: true)
        guard bytes.withUnsafeBytes({ OpenFile.write($0, to: descriptor, at: Int(offset)) }) else {
            throw .ofErrno("\(file.path) cannot be written")
        }
    }

    package func sync(_ file: BlobFile) throws(BlobDiskFailure) {
        let descriptor = try self.descriptor(file, isWritable: true)
        guard fsync(descriptor) == 0 else { throw .ofErrno("\(file.path) cannot be written") }
    }

    package func syncFolder(_ folder: BlobFile.Folder) throws(BlobDiskFailure) {
        guard let descriptor = try self.folder(folder, isMade: false) else { return }
        guard descriptor.sync(), self.root.sync() else { throw .ofErrno("\(folder.name) cannot be written") }
    }

    package func rename(_ file: BlobFile, to new: BlobFile) throws(BlobDiskFailure) {
        guard let from = try self.folder(file.folder, isMade: false), let to = try self.folder(new.folder, isMade: true)
        else { throw .absent }
        if case .content = new, fchmodat(from.number, file.name, Self.contentMode, 0) != 0 {
            throw .ofErrno("\(file.path) cannot be changed")
        }
        guard renameat(from.number, file.name, to.number, new.name) == 0 else {
            throw .ofErrno("\(file.path) cannot be renamed")
        }
        self.close(file)
        self.close(new)
    }

    package func remove(_ file: BlobFile) throws(BlobDiskFailure) {
        self.close(file)
        guard let folder = try self.folder(file.folder, isMade: false) else { return }
        guard unlinkat(folder.number, file.name, 0) == 0 || errno == ENOENT else {
            throw .ofErrno("\(file.path) cannot be removed")
        }
    }

    package func files(in folder: BlobFile.Folder) throws(BlobDiskFailure) -> [BlobFile] {
        guard try self.folder(folder, isMade: false) != nil else { return [] }
        let number = openat(self.root.number, folder.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0, let stream = fdopendir(number) else {
            if number >= 0 { Glibc.close(number) }
            throw .ofErrno("\(folder.name) cannot be read")
        }
        defer { closedir(stream) }
        var files: [BlobFile] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw .ofErrno("\(folder.name) cannot be read") }
                return files
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let file = BlobFile(name: name, in: folder) { files.append(file) }
        }
    }

    // MARK: - Descriptors

    private func folder(_ folder: BlobFile.Folder, isMade: Bool) throws(BlobDiskFailure) -> Descriptor? {
        if let known = self.folders[folder] { return known }
        if isMade, mkdirat(self.root.number, folder.name, Self.folderMode) != 0, errno != EEXIST {
            throw .ofErrno("\(folder.name) cannot be made")
        }
        let number = openat(self.root.number, folder.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .ofErrno("\(folder.name) cannot be opened")
        }
        let descriptor = Descriptor(owning: number)
        self.folders[folder] = descriptor
        return descriptor
    }

    private func descriptor(_ file: BlobFile, isWritable: Bool) throws(BlobDiskFailure) -> Int32 {
        if let index = self.open.firstIndex(where: { $0.file == file && ($0.isWritable || !isWritable) }) {
            let used = self.open.remove(at: index)
            self.open.append(used)
            return used.descriptor.number
        }
        self.close(file)
        guard let folder = try self.folder(file.folder, isMade: isWritable) else { throw .absent }
        let common = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let flags = isWritable ? O_RDWR | O_CREAT | common : O_RDONLY | common
        let number = openat(folder.number, file.name, flags, Self.writtenMode)
        guard number >= 0 else { throw errno == ENOENT ? .absent : .ofErrno("\(file.path) cannot be opened") }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .failed("\(file.path) is not a regular file")
        }
        if self.open.count == Self.openFileCountMax { self.open.removeFirst() }
        self.open.append((file, descriptor, isWritable))
        return number
    }

    private func close(_ file: BlobFile) { self.open.removeAll { $0.file == file } }
}

/// A descriptor that is closed with this object.
private final class Descriptor {
    let number: Int32

    init(owning number: Int32) { self.number = number }

    deinit { close(self.number) }

    /// Waits until the names in the folder are on the disk, where a file system knows such a wait.
    func sync() -> Bool { fsync(self.number) == 0 || [EINVAL, ENOSYS, ENOTSUP].contains(errno) }
}

extension BlobDiskFailure {
    fileprivate static func ofErrno(_ what: String) -> BlobDiskFailure {
        switch errno {
        case ENOENT: .absent
        case ENOSPC, EDQUOT: .full
        default: .failed("\(what): \(SystemError.text(errno))")
        }
    }
}
