internal import Glibc

/// One state of a file, as far as the file system tells states apart.
package struct FileVersion: Hashable, Sendable {
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

    package func validators(now: HTTPDate) -> Validators {
        Validators(entityTag: self.entityTag, lastModified: self.lastModified(now: now))
    }

    /// Wraps for times that are centuries away: it only has to differ where the time does.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// A file that is open for reading.
package struct OpenFile: RandomAccessBytes, Sendable {
    /// Closed when the last copy of this value is gone.
    let descriptor: OwnedDescriptor
    /// The state when it was opened.
    package let version: FileVersion

    package var length: UInt64 { self.version.size }

    /// Reads some bytes; fewer only at the end.
    func read(_ count: Int, at offset: UInt64) throws(FileTreeError) -> [UInt8] {
        guard offset < self.length else { return [] }
        let wanted = min(count, Int(clamping: self.length - offset))
        return try [UInt8](unsafeUninitializedCapacity: max(0, wanted)) { buffer, filled throws(FileTreeError) in
            filled = try self.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }

    /// Fills a buffer, and returns the number of bytes: fewer than it has room for only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileTreeError) -> Int {
        guard let start = Int(exactly: offset) else { return 0 }
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(self.descriptor.number, rest.baseAddress, rest.count, start + filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileTreeError() }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Whether all bytes that were read until now are of the state in which the file was opened.
    ///
    /// The time of the last change of names and permissions does not count: a file that is replaced or deleted loses
    /// its name, and keeps its bytes for those who have it open. A write that was under way when the file was opened
    /// goes unnoticed, too: a file system dates a write by its beginning.
    package func hasSameContent() throws(FileTreeError) -> Bool {
        let now = FileVersion(try self.descriptor.status())
        return now.size == self.version.size && now.modifiedNanoseconds == self.version.modifiedNanoseconds
    }
}
