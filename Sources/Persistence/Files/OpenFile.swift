internal import Glibc

/// Reads and writes files that are open, however little a system call takes at a time.
package enum OpenFile {
    /// Writes all bytes; returns false if the system refuses, with the reason in `errno`.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Writes all bytes from an offset on; returns false if the system refuses, with the reason in `errno`.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) -> Bool {
        var written = 0
        while written < bytes.count {
            let start = bytes.baseAddress?.advanced(by: written)
            let count = pwrite(descriptor, start, bytes.count - written, off_t(offset + written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    /// Waits until the names in a folder are on the disk; returns 0, or the number of the error.
    ///
    /// Some file systems of networks and of other programs (FUSE) know no such wait: that is none.
    package static func syncFolder(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        guard fsync(descriptor) != 0 else { return 0 }
        return [EINVAL, ENOSYS, ENOTSUP].contains(errno) ? 0 : errno
    }

    /// Reads from an offset on until the buffer is full, or the file ends.
    ///
    /// Returns the number of bytes, or -1 with the reason in `errno`.
    package static func read(_ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < buffer.count {
            let start = buffer.baseAddress?.advanced(by: count)
            let read = pread(descriptor, start, buffer.count - count, off_t(offset + count))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { return read < 0 ? -1 : count }
            count += read
        }
        return count
    }
}
