package import CRDTCore
import Glibc

extension SQLiteStore {
    /// Makes an empty store for a computation that nobody needs afterwards, with its files below a directory.
    ///
    /// The files lose their names at once. So the disk is free again when the store is gone, however the process ends,
    /// and no other process ever reads them.
    ///
    /// `reader`: as whose store it merges.
    package static func scratch(
        in directory: String,
        origin: Hash256,
        for reader: CircleReader
    ) throws(StoreError) -> SQLiteStore {
        self.removeAbandonedScratch(in: directory)
        var template = Array("\(directory)/\(self.scratchPrefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            if errno == ENOSPC || errno == EDQUOT { throw .diskFull }
            throw .unavailable("A file in \(directory) cannot be made: \(SystemError.text(errno)).")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { self.removeScratch(path) }
        var configuration = StoreConfiguration()
        configuration.waitsForDisk = false
        var store = try SQLiteStore(directory: path, origin: origin, configuration: configuration)
        try store.write { transaction throws(StoreError) in try transaction.setReader(reader) }
        return store
    }

    private static let scratchPrefix = "scratch-"
    /// How long ago the files of a scratch store were made at most, while somebody makes it.
    private static let scratchSecondsMax = 60

    private static func removeScratch(_ path: String) {
        for name in self.names(in: path) { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// Removes what processes left that ended before their files had lost their names.
    private static func removeAbandonedScratch(in directory: String) {
        for name in self.names(in: directory) where name.hasPrefix(self.scratchPrefix) {
            let path = "\(directory)/\(name)"
            // Whoever makes a store there soon has a lock on it, and none of it has a name soon after.
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
                status.st_mtim.tv_sec + self.scratchSecondsMax < time(nil)
            else { continue }
            guard let lock = try? RegularFile("\(path)/\(DataDirectory.lockFileName)", for: .updating) else {
                rmdir(path)
                continue
            }
            if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { self.removeScratch(path) }
        }
    }

    static func names(in directory: String) -> [String] {
        guard let entries = opendir(directory) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
