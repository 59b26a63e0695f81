/// A database in a virtual file system (`sqlite3_vfs`) that this process has registered with SQLite.
///
/// It is for those who bring a disk of their own.
///
/// There is no directory and no lock file: whoever brings the disk sees to it that one process at a time has it.
package struct VirtualDatabase: Hashable, Sendable {
    /// The name under which the file system is registered.
    package var fileSystem: String
    /// The path of the database in it: ASCII letters, digits, `/`, `.` and `-`.
    package var path: String
    /// Whether the last process that had the database did not end in order.
    package var endedUncleanly: Bool

    package init(fileSystem: String, path: String, endedUncleanly: Bool) {
        self.fileSystem = fileSystem
        self.path = path
        self.endedUncleanly = endedUncleanly
    }

    /// The name by which SQLite opens it.
    var uri: String { "file:\(self.path)?vfs=\(self.fileSystem)" }
}
