internal import Foundation

/// A port that is ours on the loopback addresses of IPv4 and, where there is one, IPv6.
package final class LoopbackReservation {
    package let port: UInt16
    private var descriptors: [Int32]

    /// Nil if another program listens on the port.
    package init?(port: UInt16) {
        guard let first = Self.listen(AF_INET, port) else { return nil }
        self.port = Self.port(of: first) ?? port
        self.descriptors = [first]
        switch Self.listen(AF_INET6, self.port) {
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

    private static func listen(_ family: Int32, _ port: UInt16) -> Int32? {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let isBound: Bool
        if family == AF_INET {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            isBound = Self.bind(descriptor, &address)
        } else {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            isBound = Self.bind(descriptor, &address)
        }
        guard isBound, Foundation.listen(descriptor, 128) == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return nil
        }
        return descriptor
    }

    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
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
