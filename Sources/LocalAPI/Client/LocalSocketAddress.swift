internal import Foundation
internal import PeerdKit

/// The name of a socket in the file system.
package enum LocalSocketAddress {
    /// Longest path that fits into a socket address.
    private static let pathByteCountMax = 107
    private static let backlog: Int32 = 64
    private static let retryInterval = Duration.milliseconds(20)

    /// Makes a socket that only its owner can connect to, in the place of one that was left behind.
    ///
    /// The caller has made sure that nobody listens there.
    package static func listen(_ path: String) throws(SocketFailure) -> Int32 {
        unlink(path)
        return try self.open(path, flags: 0) { descriptor, address, length in
            // Linux gives the file the mode of the socket. To change the mode of the file would leave a moment in which
            // others may connect, and to change the umask would concern all files that are made meanwhile.
            guard fchmod(descriptor, PrivateFile.fileMode) == 0, bind(descriptor, address, length) == 0 else {
                return -1
            }
            return Foundation.listen(descriptor, self.backlog)
        }
    }

    /// Connects to whoever listens at a path.
    ///
    /// `patience`: how long to wait for a listener that does not take its callers.
    package static func connect(_ path: String, patience: Duration) async throws -> Int32 {
        let end = ContinuousClock.now + patience
        while true {
            do throws(SocketFailure) {
                // Without this flag, a call waits for ever when too many wait already.
                return try self.open(path, flags: Int32(SOCK_NONBLOCK.rawValue)) { Foundation.connect($0, $1, $2) }
            } catch {
                guard error.code == EAGAIN else { throw error }
                guard ContinuousClock.now < end else { throw SocketFailure(code: ETIMEDOUT) }
            }
            try await Task.sleep(for: self.retryInterval)
        }
    }

    /// Opens a stream socket and has `call` bind or connect it.
    private static func open(
        _ path: String,
        flags: Int32,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SocketFailure) -> Int32 {
        let short = try ShortPath(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw SocketFailure(code: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: short.text.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw SocketFailure(code: code)
        }
        return descriptor
    }

    /// A path of a socket that fits: a long one goes through the open directory.
    private struct ShortPath: ~Copyable {
        let text: String
        private let directory: Int32

        init(_ path: String) throws(SocketFailure) {
            guard path.utf8.count > LocalSocketAddress.pathByteCountMax else {
                (self.text, self.directory) = (path, -1)
                return
            }
            let parts = path as NSString
            self.directory = Foundation.open(parts.deletingLastPathComponent, O_DIRECTORY | O_CLOEXEC | O_RDONLY)
            guard self.directory >= 0 else { throw SocketFailure(code: errno) }
            self.text = "/proc/self/fd/\(self.directory)/\(parts.lastPathComponent)"
        }

        deinit { if self.directory >= 0 { close(self.directory) } }
    }
}

/// The system refused to bind or connect a socket.
package struct SocketFailure: Error, Hashable {
    package let code: Int32

    /// Whether nobody listens there: the file is missing, or what made it is gone.
    package var isAbsence: Bool { self.code == ENOENT || self.code == ECONNREFUSED || self.code == ENOTDIR }

    /// Why, in the words of the system.
    package var reason: String { SystemText.ofErrno(self.code) }
}
