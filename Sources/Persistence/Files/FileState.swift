internal import Glibc

/// The state of a file that every write changes.
package struct FileState: Equatable, Sendable {
    package let device: UInt64
    private let inode: UInt64
    private let byteCount: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Looks at a file; nil if it cannot be looked at, with the reason in `errno`.
    package init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.byteCount = Int64(status.st_size)
        self.seconds = status.st_mtim.tv_sec
        self.nanoseconds = status.st_mtim.tv_nsec
    }

    /// Names the file, or the folder, among all that a machine has.
    package var name: String { "\(self.device):\(self.inode)" }

    /// Whether both are names of one file, whatever was written to it in between.
    package func isSameFile(as other: FileState?) -> Bool {
        self.device == other?.device && self.inode == other?.inode
    }
}
