internal import Foundation
internal import PeerCrypto

/// Reads a data directory without leaving a trace: no file is made, changed or opened for writing, and SQLite never
/// sees it.
///
/// The lock that a running `peerd` has is respected. A shared one is held meanwhile, so that none starts and writes
/// between the reading of the database and that of its write-ahead log.
struct DirectoryReading: ~Copyable {
    let path: String
    private let lock: Int32?
    /// Whether the process that had the directory last did not end in order.
    let endedUncleanly: Bool

    private static let keyByteCountMax = 64 << 10

    /// Linux keeps it from C programs that do not ask for it.
    private static let withoutAccessTime: Int32 = 0o1_000_000

    init(_ path: String) throws(WhatIfFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw WhatIfFailure(.unfit, "\(path) cannot be read: \(DirectoryReading.reason()).")
        }
        guard status.st_mode & S_IFMT == S_IFDIR, access(path + "/keys", F_OK) == 0 else {
            throw WhatIfFailure(.unfit, "\(path) is not a data directory of peerd: there are no keys in it.")
        }
        let (lock, holder) = try DirectoryReading.locked(path)
        self.path = path
        self.lock = lock
        self.endedUncleanly = !holder.isEmpty
    }

    /// The lock, shared, and the text in it, which is empty if all ended in order.
    private static func locked(_ path: String) throws(WhatIfFailure) -> (Int32?, String) {
        let descriptor = open(path + "/lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else {
                throw WhatIfFailure(.unfit, "\(path)/lock cannot be read: \(self.reason()).")
            }
            return (nil, "unknown")
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let holder = String(decoding: bytes.prefix(max(0, count)).filter { $0 >= 0x20 }, as: UTF8.self)
        if flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            close(descriptor)
            let process = holder.isEmpty ? "another process" : holder
            throw WhatIfFailure(.busy, "\(path) is in use by \(process). Stop it, and run this again.")
        }
        return (descriptor, holder)
    }

    deinit {
        if let lock = self.lock { close(lock) }
    }

    /// The keys, in memory that is zeroed.
    func keys() throws(WhatIfFailure) -> SecretBytes {
        let name = self.path + "/keys"
        let descriptor = try DirectoryReading.descriptor(of: name)
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, (1...DirectoryReading.keyByteCountMax).contains(Int(status.st_size))
        else { throw WhatIfFailure(.unfit, "\(name) is not a key file of peerd.") }
        var isComplete = false
        let keys = SecretBytes(count: Int(status.st_size)) { buffer in
            isComplete = pread(descriptor, buffer.baseAddress, buffer.count, 0) == buffer.count
        }
        guard isComplete else { throw WhatIfFailure(.unfit, "\(name) cannot be read: \(DirectoryReading.reason()).") }
        return keys
    }

    /// The database and its write-ahead log, as they are on the disk.
    func database() throws(WhatIfFailure) -> (database: [UInt8], log: [UInt8]?) {
        let name = self.path + "/peerd.sqlite"
        guard access(name, F_OK) == 0 else {
            throw WhatIfFailure(.unfit, "\(self.path) is not a data directory of peerd: there is no database in it.")
        }
        let hasLog = access(name + "-wal", F_OK) == 0
        let database = try self.content(of: name)
        let log = hasLog ? try self.content(of: name + "-wal") : nil
        guard try self.content(of: name, prefix: 100) == Array(database.prefix(100)) else {
            throw WhatIfFailure(.busy, "\(name) changes while it is read. Stop what writes to it, and run this again.")
        }
        return (database, log)
    }

    /// A whole file, which must not change meanwhile.
    private func content(of name: String, prefix: Int = .max) throws(WhatIfFailure) -> [UInt8] {
        let descriptor = try DirectoryReading.descriptor(of: name)
        defer { close(descriptor) }
        var before = stat()
        guard fstat(descriptor, &before) == 0 else {
            throw WhatIfFailure(.unfit, "\(name) cannot be read: \(DirectoryReading.reason()).")
        }
        let byteCount = min(prefix, Int(before.st_size))
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var offset = 0
        while offset < byteCount {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress.map { $0 + offset }, byteCount - offset, off_t(offset))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw WhatIfFailure(.unfit, "\(name) cannot be read: \(DirectoryReading.reason()).")
            }
            offset += count
        }
        var after = stat()
        guard fstat(descriptor, &after) == 0, after.st_size == before.st_size,
            after.st_mtim.tv_sec == before.st_mtim.tv_sec, after.st_mtim.tv_nsec == before.st_mtim.tv_nsec
        else {
            throw WhatIfFailure(.busy, "\(name) changes while it is read. Stop what writes to it, and run this again.")
        }
        return bytes
    }

    /// Opens a file for reading, if the system allows it without noting when it was read.
    private static func descriptor(of name: String) throws(WhatIfFailure) -> Int32 {
        var descriptor = open(name, O_RDONLY | O_CLOEXEC | self.withoutAccessTime)
        if descriptor < 0, errno == EPERM { descriptor = open(name, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw WhatIfFailure(.unfit, "\(name) cannot be read: \(self.reason()).") }
        return descriptor
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
