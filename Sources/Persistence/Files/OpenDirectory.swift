internal import Glibc

/// A directory that is open, and so is found under whatever name it has by now.
final class OpenDirectory: Sendable {
    private let descriptor: Int32

    /// Returns nil if it cannot be opened, with the reason in `errno`.
    init?(_ path: String) {
        self.descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if self.descriptor < 0 { return nil }
    }

    deinit { close(self.descriptor) }

    /// A path that leads to it as long as this object lives.
    ///
    /// See `proc_pid_fd(5)`; SQLite follows such links when it opens a file.
    var path: String { "/proc/self/fd/\(self.descriptor)" }
}
