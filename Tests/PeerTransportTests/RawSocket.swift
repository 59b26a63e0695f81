#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A plain TCP socket on loopback, to do what a well-behaved peer would not.
struct RawSocket: ~Copyable {
    private let owned: OwnedDescriptor

    private var descriptor: CInt { self.owned.rawValue }

    struct Failure: Error {
        let call: String
        let code: CInt
    }

    init(connectingTo port: UInt16, blocking: Bool = true) throws {
        let owned = try OwnedDescriptor(blocking: blocking)
        let status = try Self.withLoopback(port: port) { connect(owned.rawValue, $0, $1) }
        guard status == 0 || !blocking else { throw Failure(call: "connect", code: errno) }
        self.owned = owned
    }

    init(listeningWithBacklog backlog: CInt) throws {
        let owned = try OwnedDescriptor(blocking: true)
        let status = try Self.withLoopback(port: 0) { bind(owned.rawValue, $0, $1) }
        guard status == 0, listen(owned.rawValue, backlog) == 0 else { throw Failure(call: "listen", code: errno) }
        self.owned = owned
    }

    var port: UInt16 {
        get throws {
            var name = [UInt8](repeating: 0, count: 128)
            var size = socklen_t(name.count)
            let status = name.withUnsafeMutableBytes { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { getsockname(self.descriptor, $0.baseAddress!, &size) }
            }
            guard status == 0 else { throw Failure(call: "getsockname", code: errno) }
            return UInt16(name[2]) << 8 | UInt16(name[3])
        }
    }

    func write(_ bytes: [UInt8]) throws {
        guard send(self.descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw Failure(call: "send", code: errno)
        }
    }

    /// What comes until the other side ends its stream.
    func readToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(self.descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw Failure(call: "recv", code: errno) }
            if count == 0 { return all }
            all += buffer[..<count]
        }
    }

    func endStream() {
        _ = shutdown(self.descriptor, CInt(SHUT_WR))
    }

    /// Makes the close at the end of this value's life a reset.
    consuming func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private static func withLoopback<Result>(
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws -> Result {
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo("127.0.0.1", String(port), nil, &found) == 0, let found else {
            throw Failure(call: "getaddrinfo", code: errno)
        }
        defer { freeaddrinfo(found) }
        return body(found.pointee.ai_addr, found.pointee.ai_addrlen)
    }
}

/// A socket that is closed with the value that holds it.
private struct OwnedDescriptor: ~Copyable {
    let rawValue: CInt

    init(blocking: Bool) throws {
        #if canImport(Glibc)
        let stream = CInt(SOCK_STREAM.rawValue)
        #else
        let stream = CInt(SOCK_STREAM)
        #endif
        self.rawValue = socket(AF_INET, stream, 0)
        if !blocking { _ = fcntl(self.rawValue, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        _ = close(self.rawValue)
    }
}
