internal import Glibc

/// A failure of an operation on a ``FileTree``.
package enum FileTreeError: Error, Equatable, Sendable {
    case notFound
    case isFolder
    case notAFolder
    /// A symbolic link, a pipe, a device or a socket.
    case notRegular
    case folderNotEmpty
    /// The root cannot be written or deleted.
    case isRoot
    /// The state of the file is not the one that the request demands.
    case preconditionFailed
    /// A condition that cannot be read; names the field.
    case malformedPrecondition(String)
    case tooLarge
    /// The upload has ended: committed, aborted, or given up after a failure.
    case uploadEnded
    case diskFull
    case permissionDenied
    case tooManyOpenFiles
    /// Somebody wrote into the file since it was opened.
    case changed
    /// Another failure of the operating system.
    case system(code: Int32)

    /// The failure of the last system call.
    init(errno code: Int32 = errno) {
        switch code {
        case ENOENT: self = .notFound
        case EISDIR: self = .isFolder
        case ENOTDIR: self = .notAFolder
        case ELOOP, ENXIO, ENODEV: self = .notRegular
        case ENOTEMPTY, EEXIST: self = .folderNotEmpty
        case ENOSPC, EDQUOT: self = .diskFull
        case EFBIG: self = .tooLarge
        case EACCES, EPERM, EROFS: self = .permissionDenied
        case EMFILE, ENFILE: self = .tooManyOpenFiles
        default: self = .system(code: code)
        }
    }

    /// The failure in words.
    package var detail: String {
        switch self {
        case .notFound: "There is no such file or folder."
        case .isFolder: "This is a folder."
        case .notAFolder: "A part of the path is no folder."
        case .notRegular: "There is a link, a pipe or a device of this name, and no regular file."
        case .folderNotEmpty: "The folder is not empty."
        case .isRoot: "The folder of all files cannot be replaced or deleted."
        case .preconditionFailed: "The file is not in the state that the request demands."
        case .malformedPrecondition(let field): "\(field) has no valid entity tag."
        case .tooLarge: "The file is larger than the limit."
        case .uploadEnded: "The upload has ended already."
        case .diskFull: "The disk is full."
        case .permissionDenied: "The operating system denies access."
        case .tooManyOpenFiles: "Too many files are open."
        case .changed: "The file is being written."
        case .system(let code): "The operating system reports: \(String(cString: strerror(code)))."
        }
    }

    /// What to do about it; nil if nothing is left to say.
    package var advice: String? {
        switch self {
        case .notFound, .notAFolder, .isRoot, .tooLarge: nil
        case .isFolder: "Name a file in it, or end the path with a slash to list it."
        case .notRegular: "Copy the file that you mean into the folder itself; only regular files are served."
        case .folderNotEmpty: "Delete its content first."
        case .preconditionFailed: "Read it again."
        case .malformedPrecondition(let field): "Write tags with their quotes, as in \(field): \"3f9c\"."
        case .uploadEnded: "Send the file again."
        case .diskFull: "Free some space."
        case .permissionDenied: "Check owner and permissions of the file."
        case .tooManyOpenFiles, .changed: "Try again later."
        case .system: "Check the disk and the folder of files."
        }
    }
}
