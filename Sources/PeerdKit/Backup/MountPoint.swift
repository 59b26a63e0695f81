internal import Foundation
internal import Persistence

/// Where file systems begin.
enum MountPoint {
    /// The folder at which the file system begins that a folder is on, without links; nil if that cannot be seen.
    ///
    /// Another disk that is mounted there later is as good: disks for backups are changed in turn.
    static func of(_ folder: String) -> String? {
        guard let resolved = realpath(folder, nil) else { return nil }
        defer { free(resolved) }
        var path = String(cString: resolved)
        guard let device = FileState(of: path)?.device else { return nil }
        while path != "/" {
            let parent = (path as NSString).deletingLastPathComponent
            guard let above = FileState(of: parent)?.device else { return nil }
            if above != device { return path }
            path = parent
        }
        return path
    }
}
