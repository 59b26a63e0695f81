internal import Dispatch
internal import Foundation
internal import PeerdKit

/// One end of a stream between two processes of this machine.
///
/// Blocking calls happen on a queue of its own, so that a slow other side stops nobody else.
final class LocalSocket: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "peerd.socket")

    private static let readByteCount = 64 << 10

    /// - Parameter descriptor: an open socket, which this object closes in the end.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// What has arrived; empty once the other side has said everything.
    func read() async throws -> [UInt8] {
        try await self.onQueue { descriptor in
            var bytes = [UInt8](repeating: 0, count: Self.readByteCount)
            while true {
                let count = recv(descriptor, &bytes, bytes.count, 0)
                if count >= 0 { return Array(bytes.prefix(count)) }
                guard errno == EINTR else { throw ControlError.failed(SystemText.ofErrno()) }
            }
        }
    }

    func write(_ bytes: [UInt8]) async throws {
        try await self.onQueue { descriptor in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    throw errno == EPIPE ? ControlError.closed : ControlError.failed(SystemText.ofErrno())
                }
            }
        }
    }

    /// Ends the stream in both directions; a blocked call returns.
    func shutDown() {
        shutdown(self.descriptor, Int32(SHUT_RDWR))
    }

    private func onQueue<Result: Sendable>(
        _ body: @escaping @Sendable (Int32) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async {
                // `self` keeps the descriptor open until the call is over.
                continuation.resume(with: Swift.Result { try body(self.descriptor) })
            }
        }
    }
}

/// The name of a socket in the file system.
enum LocalSocketAddress {
    /// Longest path that fits into a socket address.
    static let pathByteCountMax = 107

    /// Calls `body` with a path of the socket that fits: a long one goes through the open directory.
    static func with<Result>(_ path: String, _ body: (String) throws -> Result) throws -> Result {
        if path.utf8.count <= self.pathByteCountMax { return try body(path) }
        let parts = path as NSString
        let directory = Foundation.open(parts.deletingLastPathComponent, O_DIRECTORY | O_CLOEXEC | O_RDONLY)
        guard directory >= 0 else { throw ControlError.failed(SystemText.ofErrno()) }
        defer { close(directory) }
        return try body("/proc/self/fd/\(directory)/\(parts.lastPathComponent)")
    }

    /// Opens a stream socket and has `call` bind or connect it.
    static func open(
        _ path: String,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        try self.with(path) { path in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw ControlError.failed(SystemText.ofErrno()) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
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
    }
}

/// The system refused to bind or connect a socket.
struct SocketFailure: Error {
    let code: Int32

    /// Whether nobody listens there: the file is missing, or what made it is gone.
    var isAbsence: Bool { self.code == ENOENT || self.code == ECONNREFUSED || self.code == ENOTDIR }
}
