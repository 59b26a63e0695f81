internal import Foundation
internal import NIOCore

/// A port that is ours on the loopback addresses of IPv4 and, where there is one, IPv6.
package final class LoopbackReservation {
    package let port: UInt16
    private var descriptors: [Int32]

    /// Nil if another program listens on the port.
    package init?(port: UInt16) {
        guard let first = Self.listen("127.0.0.1", port) else { return nil }
        self.port = Self.port(of: first) ?? port
        self.descriptors = [first]
        switch Self.listen("::1", self.port) {
        case let second?: self.descriptors.append(second)
        // Without IPv6 the other address is enough; a port that is taken there would lead to another program.
        case nil where errno == EADDRINUSE:
            close(first)
            return nil
        case nil: break
        }
    }

    deinit { for descriptor in self.descriptors { close(descriptor) } }

    /// Hands the sockets over.
    func takeDescriptors() -> [Int32] {
        defer { self.descriptors = [] }
        return self.descriptors
    }

    private static func listen(_ host: String, _ port: UInt16) -> Int32? {
        guard let address = try? SocketAddress(ipAddress: host, port: Int(port)) else { return nil }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.protocol.rawValue, type, 0)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        if address.protocol == .inet6 {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        let isBound = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound, Foundation.listen(descriptor, 128) == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return nil
        }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
}
