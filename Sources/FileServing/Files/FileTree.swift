internal import Glibc
internal import Synchronization

/// The folder whose files are served and written through the API.
///
/// Every path is walked name by name from a descriptor of the root, and no link is followed: neither a link that is
/// there nor one that somebody puts there meanwhile leads out. All calls block on the disk.
package final class FileTree: Sendable {
    let root: OwnedDescriptor
    /// Held while a condition is checked and the change made, so that of two conditional writes one fails.
    let changes = Mutex<Void>(())

    static let folderMode: mode_t = 0o700
    static let fileMode: mode_t = 0o600
    /// The greatest file that can be written, if the caller names no other limit.
    static let uploadByteCountMax: UInt64 = 64 << 30
    /// The greatest number of entries in a page of a folder.
    static let pageEntryCountMax = 1_000
    /// Times that making folders for a file is repeated when others delete them meanwhile.
    static let walkRepetitionMax = 16

    /// Opens a folder, makes it if there is none, and removes what uploads of a killed process left behind.
    ///
    /// The folder may not be a link. Only one process may write below it.
    package init(path: String) throws(FileTreeError) {
        if mkdir(path, Self.folderMode) != 0, errno != EEXIST { throw FileTreeError() }
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        self.root = OwnedDescriptor(owning: try OwnedDescriptor.number { Glibc.open(path, flags) })
        LeftoverUploads.remove(below: self.root)
    }

    /// What is at a place.
    package enum Found: Sendable {
        case file(OpenFile)
        case folder
    }

    /// Opens a file for reading, or tells that there is a folder.
    package func open(_ path: FilePath) throws(FileTreeError) -> Found {
        guard let name = path.name else { return .folder }
        let folder = try self.folder(path.parent)
        // Opening a pipe or a device can have effects, so this is asked first, and the open file is asked again.
        guard let before = try folder.status(of: name) else { throw .notFound }
        if before.isFolder { return .folder }
        guard before.isRegular else { throw .notRegular }
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let file = OwnedDescriptor(owning: try OwnedDescriptor.number { openat(folder.number, name, flags) })
        let status = try file.status()
        if status.isFolder { return .folder }
        guard status.isRegular else { throw .notRegular }
        return .file(OpenFile(descriptor: file, version: FileVersion(status)))
    }

    /// Deletes a file or an empty folder; a folder has no tag that a condition could name.
    package func delete(_ path: FilePath, if conditions: Preconditions = .none, now: HTTPDate) throws(FileTreeError) {
        guard let name = path.name else { throw .isRoot }
        let folder = try self.folder(path.parent)
        try self.changes.withLock { _ throws(FileTreeError) in
            guard let status = try folder.status(of: name) else { throw .notFound }
            guard status.isRegular || status.isFolder else { throw .notRegular }
            let current = status.isRegular ? FileVersion(status).validators(now: now) : Validators()
            try Self.check(conditions, method: "DELETE", current, now)
            guard unlinkat(folder.number, name, status.isFolder ? AT_REMOVEDIR : 0) == 0 else { throw FileTreeError() }
        }
        try folder.synchronize()
    }

    /// Opens a folder.
    func folder(_ path: FilePath) throws(FileTreeError) -> OwnedDescriptor {
        var folder = self.root
        for name in path.components { folder = try folder.folder(name) }
        return folder
    }

    static func check(
        _ conditions: Preconditions,
        method: String,
        _ current: Validators?,
        _ now: HTTPDate
    ) throws(FileTreeError) {
        switch conditions.verdict(method: method, current: current, now: now) {
        case .proceed: return
        case .notModified, .failed: throw .preconditionFailed
        case .malformed(let field): throw .malformedPrecondition(field)
        }
    }
}
