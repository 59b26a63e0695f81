internal import Foundation
package import Persistence

/// Files that only their owner may use, replaced as a whole: a crash leaves the old content or the new.
package enum PrivateFile {
    package static let fileMode: UInt32 = 0o600
    package static let directoryMode: UInt32 = 0o700

    /// What to do where there is a file already.
    package enum Existing {
        case replace
        case refuse
    }

    /// There is a file where none may be.
    package struct AlreadyThere: Error {}

    /// Writes a file so that its content is on the disk when this returns.
    ///
    /// So is its name, if the disk can be made to keep it. Where it cannot, there still is the old file or the new
    /// after a crash, and nothing can be taken back: that is no failure.
    package static func write(_ bytes: UnsafeRawBufferPointer, to path: String, existing: Existing = .replace) throws {
        let temporary = "\(path).new.\(getpid())"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, self.fileMode)
        guard descriptor >= 0 else { throw self.failure(path, "cannot be written") }
        defer { unlink(temporary) }
        do {
            defer { close(descriptor) }
            guard fchmod(descriptor, self.fileMode) == 0, OpenFile.write(bytes, to: descriptor), fsync(descriptor) == 0
            else { throw self.failure(path, "cannot be written") }
        }
        switch existing {
        case .replace:
            guard rename(temporary, path) == 0 else { throw self.failure(path, "cannot be written") }
        case .refuse:
            // Unlike a rename, a link fails where there is something.
            guard link(temporary, path) == 0 else {
                throw errno == EEXIST ? AlreadyThere() : self.failure(path, "cannot be made") as any Error
            }
        }
        let folder = (path as NSString).deletingLastPathComponent
        _ = OpenFile.syncFolder(folder.isEmpty ? "." : folder)
    }

    /// Makes a directory that only its owner may use, and those above it; one that is there stays as it is.
    package static func makeDirectory(_ path: String) throws {
        if mkdir(path, self.directoryMode) == 0 {
            chmod(path, self.directoryMode)
            return
        }
        if errno == EEXIST {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw PeerdError(.storageFailed, "\(path) is not a directory.", advice: "Name another place.")
            }
            return try self.requireOwn(directory: path)
        }
        let parent = (path as NSString).deletingLastPathComponent
        guard errno == ENOENT, !parent.isEmpty, parent != path else { throw self.failure(path, "cannot be made") }
        try self.makeDirectory(parent)
        guard mkdir(path, self.directoryMode) == 0 || errno == EEXIST else {
            throw self.failure(path, "cannot be made")
        }
        chmod(path, self.directoryMode)
    }

    /// Stops where others could put files of their own in the place of ours.
    package static func requireOwn(directory path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw self.failure(path, "cannot be looked at") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw PeerdError(
                .storageFailed,
                "\(path) belongs to another user.",
                advice: "Work as that user, or name another place."
            )
        }
        guard status.st_mode & 0o022 == 0 else {
            throw PeerdError(
                .notPrivate,
                "Other users can write to \(path).",
                advice: "Run “chmod 700” on it, or name another place."
            )
        }
    }

    /// The permission bits of a file, or of what a link leads to; nil if there is none.
    package static func mode(of path: String) -> UInt32? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return status.st_mode & 0o777
    }

    package static func failure(_ path: String, _ what: String) -> PeerdError {
        PeerdError(
            .storageFailed,
            "\(path) \(what): \(SystemText.ofErrno()).",
            advice: "Check the permissions and the disk."
        )
    }
}

extension RegularFile {
    /// Opens a file; what is wrong with it is said in words for people.
    package static func open(
        _ path: String,
        for purpose: Purpose = .reading,
        followsLinks: Bool = false
    ) throws -> RegularFile {
        do throws(Failure) {
            return try RegularFile(path, for: purpose, followsLinks: followsLinks)
        } catch {
            throw PeerdError(error, path)
        }
    }
}
