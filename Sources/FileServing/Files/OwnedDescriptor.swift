internal import Glibc

/// A file descriptor that is closed with this object.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(owning number: Int32) {
        self.number = number
    }

    deinit { close(self.number) }

    func status() throws(FileTreeError) -> stat {
        var status = stat()
        guard fstat(self.number, &status) == 0 else { throw FileTreeError() }
        return status
    }

    /// Waits until the file or folder is on the disk.
    func synchronize() throws(FileTreeError) {
        while fsync(self.number) != 0 {
            switch errno {
            case EINTR: continue
            // Some file systems cannot do this for folders.
            case EINVAL: return
            default: throw FileTreeError()
            }
        }
    }

    /// Opens what has a name in this folder, if it is a folder and no link to one.
    func folder(_ name: String) throws(FileTreeError) -> OwnedDescriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        return OwnedDescriptor(owning: try Self.number { openat(self.number, name, flags) })
    }

    /// The state of what has a name in this folder, links not followed; nil if there is nothing.
    func status(of name: String) throws(FileTreeError) -> stat? {
        var status = stat()
        if fstatat(self.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT else { throw FileTreeError() }
        return nil
    }

    /// Repeats a call that a signal interrupts.
    static func number(_ open: () -> Int32) throws(FileTreeError) -> Int32 {
        while true {
            let number = open()
            if number >= 0 { return number }
            guard errno == EINTR else { throw FileTreeError() }
        }
    }
}

extension stat {
    var isRegular: Bool { self.st_mode & S_IFMT == S_IFREG }
    var isFolder: Bool { self.st_mode & S_IFMT == S_IFDIR }
}
