internal import Glibc

/// One state of a file, as far as the file system tells states apart.
struct FileVersion: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: UInt64
    let modifiedNanoseconds: Int64
    let changedNanoseconds: Int64
    let modifiedSeconds: Int64

    init(_ status: stat) {
        self.device = UInt64(truncatingIfNeeded: status.st_dev)
        self.inode = UInt64(truncatingIfNeeded: status.st_ino)
        self.size = UInt64(max(0, status.st_size))
        self.modifiedNanoseconds = Self.nanoseconds(status.st_mtim)
        self.changedNanoseconds = Self.nanoseconds(status.st_ctim)
        self.modifiedSeconds = Int64(status.st_mtim.tv_sec)
    }

    /// A strong tag.
    ///
    /// Every write through the API makes a new inode. Another program that changes a file in place twice within one
    /// tick of the file system's clock, some milliseconds, and leaves its length alone, goes unnoticed.
    var entityTag: EntityTag? {
        let numbers = [
            self.device, self.inode, self.size, UInt64(bitPattern: self.modifiedNanoseconds),
            UInt64(bitPattern: self.changedNanoseconds),
        ]
        return EntityTag(numbers.map { String($0, radix: 16) }.joined(separator: "-"))
    }

    var modifiedMilliseconds: Int64 { self.modifiedNanoseconds / 1_000_000 }

    /// For `Last-Modified`, which must not be in the future.
    func lastModified(now: HTTPDate) -> HTTPDate {
        min(HTTPDate(secondsSince1970: self.modifiedSeconds), now)
    }

    func validators(now: HTTPDate) -> Validators {
        Validators(entityTag: self.entityTag, lastModified: self.lastModified(now: now))
    }

    /// Wraps for times that are centuries away: it only has to differ where the time does.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// A file that is open for reading.
struct OpenFile: RandomAccessBytes, Sendable {
    /// Closed when the last copy of this value is gone.
    let descriptor: OwnedDescriptor
    /// The state when it was opened.
    let version: FileVersion

    var length: UInt64 { self.version.size }

    /// Reads some bytes; fewer only at the end.
    func read(_ count: Int, at offset: UInt64) throws(FileTreeError) -> [UInt8] {
        guard offset < self.length, let start = Int(exactly: offset) else { return [] }
        let wanted = min(count, Int(clamping: self.length - offset))
        var failure: FileTreeError?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, wanted)) { buffer, filled in
            while filled < wanted {
                let count = pread(self.descriptor.number, buffer.baseAddress! + filled, wanted - filled, start + filled)
                if count < 0, errno == EINTR { continue }
                if count < 0 { failure = FileTreeError() }
                if count <= 0 { break }
                filled += count
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Whether the file still is as it was opened, so that what was read belongs together.
    func isUnchanged() -> Bool {
        do {
            return try FileVersion(self.descriptor.status()) == self.version
        } catch {
            return false
        }
    }
}
