internal import Glibc

/// The names in a folder, one after the other, in the order of the file system.
struct FolderNames: ~Copyable {
    private let stream: OpaquePointer

    /// Reads from the first name on, whatever else reads the same folder.
    init(_ folder: OwnedDescriptor) throws(FileTreeError) {
        // Its own description of the open folder: the place of a duplicate would be shared.
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let number = try OwnedDescriptor.number { openat(folder.number, ".", flags) }
        guard let stream = fdopendir(number) else {
            let failure = FileTreeError()
            close(number)
            throw failure
        }
        self.stream = stream
    }

    deinit { closedir(self.stream) }

    struct Entry {
        var name: [UInt8]
        /// `DT_UNKNOWN` where the file system does not tell.
        var type: Int32
    }

    /// The next entry but `.` and `..`; nil at the end.
    mutating func next() throws(FileTreeError) -> Entry? {
        while true {
            errno = 0
            guard let entry = readdir(self.stream) else {
                if errno != 0 { throw FileTreeError() }
                return nil
            }
            // The name ends at its zero; the rest of the structure may not be there at all, so it is not copied.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
            let text = UnsafeRawPointer(entry) + offset
            let count = strlen(text.assumingMemoryBound(to: CChar.self))
            let name = Array(UnsafeRawBufferPointer(start: text, count: count))
            if name == Array(".".utf8) || name == Array("..".utf8) { continue }
            return Entry(name: name, type: Int32(entry.pointee.d_type))
        }
    }
}

/// What uploads of a process left behind that was killed.
enum LeftoverUploads {
    /// Removes them in all folders; what cannot be read or removed is left for the next time.
    static func remove(below folder: OwnedDescriptor, depth: Int = 0) {
        // No path leads deeper.
        guard depth <= FilePath.depthMax else { return }
        do {
            var names = try FolderNames(folder)
            while let entry = try names.next() {
                let name = String(decoding: entry.name, as: UTF8.self)
                if name.utf8.starts(with: FilePath.uploadPrefix.utf8) {
                    if let status = try folder.status(of: name), status.isRegular { unlinkat(folder.number, name, 0) }
                } else if entry.type == Int32(DT_DIR) || entry.type == Int32(DT_UNKNOWN) {
                    if let inner = try? folder.folder(name) { self.remove(below: inner, depth: depth + 1) }
                }
            }
        } catch {
            return
        }
    }
}
