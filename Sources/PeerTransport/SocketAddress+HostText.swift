internal import Glibc
internal import NIOCore

extension SocketAddress {
    /// The address as one would dial it: link-local IPv6 with its interface, IPv4 mapped into IPv6 as plain IPv4.
    ///
    /// A listener on `[::]` sees IPv4 peers as mapped addresses; unmapped, one peer has one spelling.
    var hostText: String? {
        guard let text = self.ipAddress else { return nil }
        guard case .v6 = self else { return text }
        let mappedPrefix = "::ffff:"
        if text.hasPrefix(mappedPrefix), text.utf8.contains(UInt8(ascii: ".")) {
            return String(text.dropFirst(mappedPrefix.count))
        }
        return self.numericHostWithScope ?? text
    }

    /// The address in the transport's own vocabulary, or nil where it has none (a Unix socket).
    var peerAddress: PeerAddress? {
        guard let host = self.hostText, let port = self.port, let port = UInt16(exactly: port) else { return nil }
        return PeerAddress(host: host, port: port)
    }

    /// What the C library makes of it, without asking any name server; nil if it cannot.
    private var numericHostWithScope: String? {
        let capacity = Int(NI_MAXHOST)
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            buffer.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { return }
                let status = self.withSockAddr { address, size in
                    getnameinfo(address, socklen_t(size), start, socklen_t(capacity), nil, 0, NI_NUMERICHOST)
                }
                if status == 0 { count = strnlen(start, capacity) }
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
