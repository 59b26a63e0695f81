internal import Glibc
internal import Synchronization

/// A file that is being written: invisible until it is committed, and gone if it is not.
///
/// It is written under another name in its folder and renamed, so that readers see the old content or the new. An
/// upload that is neither committed nor aborted is aborted when the object is gone. Calls from several threads take
/// turns.
package final class FileUpload: Sendable {
    private let tree: FileTree
    private let path: FilePath
    private let byteCountMax: UInt64
    /// What is being written; nil once the upload has ended.
    private let writing: Mutex<Writing?>

    private struct Writing {
        var folder: OwnedDescriptor
        var file: OwnedDescriptor
        var name: String
        var temporaryName: String
        var length: UInt64
        /// The folders that were made for this file: each one with the folder around it, outer ones first.
        var madeFolders: [(around: OwnedDescriptor, name: String)]
    }

    /// The result of a commit.
    package struct Committed: Equatable, Sendable {
        package let version: FileVersion
        /// Whether there was no file before.
        package let isNew: Bool
    }

    fileprivate init(_ tree: FileTree, _ path: FilePath, _ byteCountMax: UInt64) throws(FileTreeError) {
        guard let name = path.name else { throw .isRoot }
        self.tree = tree
        self.path = path
        self.byteCountMax = byteCountMax
        self.writing = Mutex(try Self.begin(tree, path, name))
    }

    deinit { self.abort() }

    /// Writes the next bytes; after a failure, nothing is left.
    func append(_ bytes: UnsafeRawBufferPointer) throws(FileTreeError) {
        try self.writing.withLock { state throws(FileTreeError) in
            guard var writing = state else { throw .uploadEnded }
            do throws(FileTreeError) {
                let (length, overflow) = writing.length.addingReportingOverflow(UInt64(bytes.count))
                guard !overflow, length <= self.byteCountMax else { throw FileTreeError.tooLarge }
                try Self.write(bytes, to: writing.file)
                writing.length = length
                state = writing
            } catch {
                Self.remove(writing)
                state = nil
                throw error
            }
        }
    }

    package func append(_ bytes: [UInt8]) throws(FileTreeError) {
        try bytes.withUnsafeBufferPointer { bytes throws(FileTreeError) in
            try self.append(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Puts the file in its place, once it is on the disk and if the conditions hold then.
    ///
    /// After a failure nothing is left, with one exception: if the disk fails after the file is in its place, it stays
    /// there, as it may or may not survive a power cut.
    package func commit(if conditions: Preconditions = .none, now: HTTPDate) throws(FileTreeError) -> Committed {
        try self.writing.withLock { state throws(FileTreeError) in
            guard let writing = state.take() else { throw .uploadEnded }
            do throws(FileTreeError) {
                try writing.file.synchronize()
                let isNew = try self.tree.changes.withLock { _ throws(FileTreeError) in
                    try Self.rename(writing, if: conditions, now)
                }
                try writing.folder.synchronize()
                return Committed(version: FileVersion(try writing.file.status()), isNew: isNew)
            } catch {
                Self.remove(writing)
                throw error
            }
        }
    }

    /// Removes what was written, and the folders that were made for it.
    package func abort() {
        self.writing.withLock { state in
            if let writing = state.take() { Self.remove(writing) }
        }
    }
}

extension FileTree {
    /// Begins to write a file.
    ///
    /// The conditions are checked here, too, so that a request which must fail does so before its body is read; what
    /// counts is the check of ``FileUpload/commit(if:now:)``.
    package func upload(
        _ path: FilePath,
        if conditions: Preconditions = .none,
        now: HTTPDate,
        byteCountMax: UInt64 = FileTree.uploadByteCountMax
    ) throws(FileTreeError) -> FileUpload {
        let current: Validators?
        do throws(FileTreeError) {
            switch try self.open(path) {
            case .file(let file): current = file.version.validators(now: now)
            case .folder: throw path.name == nil ? FileTreeError.isRoot : .isFolder
            }
        } catch .notFound {
            current = nil
        }
        try Self.check(conditions, method: "PUT", current, now)
        return try FileUpload(self, path, byteCountMax)
    }
}

extension FileUpload {
    private static func begin(_ tree: FileTree, _ path: FilePath, _ name: String) throws(FileTreeError) -> Writing {
        var repetition = 0
        while true {
            var made: [(around: OwnedDescriptor, name: String)] = []
            do throws(FileTreeError) {
                let folder = try self.makeFolders(tree, path.parent, &made)
                let temporaryName = FilePath.uploadPrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
                let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
                let number = try OwnedDescriptor.number {
                    openat(folder.number, temporaryName, flags, FileTree.fileMode)
                }
                let file = OwnedDescriptor(owning: number)
                // Whatever the mask of the process.
                fchmod(number, FileTree.fileMode)
                return Writing(
                    folder: folder,
                    file: file,
                    name: name,
                    temporaryName: temporaryName,
                    length: 0,
                    madeFolders: made
                )
            } catch {
                self.remove(made)
                repetition += 1
                // Another upload made the folder and was aborted, or somebody deleted it.
                guard error == .notFound, repetition < FileTree.walkRepetitionMax else { throw error }
            }
        }
    }

    private static func makeFolders(
        _ tree: FileTree,
        _ path: FilePath,
        _ made: inout [(around: OwnedDescriptor, name: String)]
    ) throws(FileTreeError) -> OwnedDescriptor {
        var folder = tree.root
        for name in path.components {
            if mkdirat(folder.number, name, FileTree.folderMode) == 0 {
                made.append((folder, name))
                try folder.synchronize()
            } else if errno != EEXIST {
                throw FileTreeError()
            }
            folder = try folder.folder(name)
        }
        return folder
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to file: OwnedDescriptor) throws(FileTreeError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(file.number, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileTreeError() }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Returns whether there was no file before.
    private static func rename(
        _ writing: Writing,
        if conditions: Preconditions,
        _ now: HTTPDate
    ) throws(FileTreeError) -> Bool {
        let folder = writing.folder.number
        let status = try writing.folder.status(of: writing.name)
        if let status {
            guard !status.isFolder else { throw .isFolder }
            guard status.isRegular else { throw .notRegular }
        }
        let current = status.map { FileVersion($0).validators(now: now) }
        try FileTree.check(conditions, method: "PUT", current, now)
        if conditions.requireAbsence {
            // Unlike a rename, a link fails if another process has put something there meanwhile.
            if linkat(folder, writing.temporaryName, folder, writing.name, 0) == 0 {
                unlinkat(folder, writing.temporaryName, 0)
                return true
            }
            if errno == EEXIST { throw .preconditionFailed }
            // Some file systems have no links.
            guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK else { throw FileTreeError() }
        }
        guard renameat(folder, writing.temporaryName, folder, writing.name) == 0 else {
            throw errno == ENOTEMPTY || errno == EEXIST ? .isFolder : FileTreeError()
        }
        return status == nil
    }

    private static func remove(_ writing: Writing) {
        unlinkat(writing.folder.number, writing.temporaryName, 0)
        self.remove(writing.madeFolders)
    }

    /// A folder that has got other content meanwhile stays.
    private static func remove(_ made: [(around: OwnedDescriptor, name: String)]) {
        for (around, name) in made.reversed() { unlinkat(around.number, name, AT_REMOVEDIR) }
    }
}
