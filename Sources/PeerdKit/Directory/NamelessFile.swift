internal import Foundation

/// A file without a name, which is gone when it is closed.
package enum NamelessFile {
    /// Opens one in a directory, or where temporary files are kept if nothing can be written there.
    ///
    /// Returns a descriptor, or -1 with the reason in `errno`.
    package static func open(in directory: String) -> Int32 {
        // A bit and O_DIRECTORY make O_TMPFILE, a macro that Swift does not see.
        let flags = O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000
        let descriptor = Foundation.open(directory, flags, PrivateFile.fileMode)
        guard descriptor < 0, errno == EROFS || errno == EACCES else { return descriptor }
        return Foundation.open(NSTemporaryDirectory(), flags, PrivateFile.fileMode)
    }
}
