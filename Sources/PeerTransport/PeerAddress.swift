internal import NIOCore

/// Where a peer listens: a host name or IP address, and a TCP port.
///
/// IP addresses are kept in their canonical spelling, so that equal addresses compare equal.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    /// Longest host text that `parse` accepts: a DNS name of full length.
    package static let maximumHostLength = 253

    /// As the host to listen on: every interface, on IPv6 and IPv4 together, or on IPv4 alone where there is no IPv6.
    package static let anyHost = "*"

    package init(host: String, port: UInt16) {
        self.host = Self.canonicalHost(host)
        self.port = port
    }

    /// Reads `HOST:PORT` or `[IPV6]:PORT`, the way people write addresses.
    package static func parse(_ text: String) throws(PeerAddressError) -> PeerAddress {
        let (host, portText) = try Self.split(text)
        guard let port = Self.parsePort(portText) else {
            throw .badPort(text: text, port: portText)
        }
        return PeerAddress(host: host, port: port)
    }

    /// The spelling that `parse` reads back: IPv6 addresses in brackets.
    package var description: String {
        self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    private static func split(_ text: String) throws(PeerAddressError) -> (host: String, port: String) {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw .badHost(text: text)
            }
            let host = String(text[text.index(after: text.startIndex)..<end])
            let rest = text[text.index(after: end)...]
            guard rest.hasPrefix(":") else {
                throw .missingPort(text: text)
            }
            guard host.utf8.contains(UInt8(ascii: ":")), Self.isIPAddress(host) else {
                throw .badHost(text: text)
            }
            return (host, String(rest.dropFirst()))
        }
        guard let colon = text.lastIndex(of: ":") else {
            throw .missingPort(text: text)
        }
        let host = String(text[..<colon])
        if host.utf8.contains(UInt8(ascii: ":")) {
            throw .bracketsNeeded(text: text)
        }
        guard Self.isPlausibleName(host) else {
            throw .badHost(text: text)
        }
        return (host, String(text[text.index(after: colon)...]))
    }

    private static func parsePort(_ text: String) -> UInt16? {
        // `UInt16("+7")` is 7; a port is digits and nothing else.
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            return nil
        }
        return UInt16(text)
    }

    private static func isIPAddress(_ host: String) -> Bool {
        host.utf8.count <= Self.maximumHostLength && (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    /// Letters, digits, dots, hyphens and underscores (and `*`, which means every interface when listening).
    private static func isPlausibleName(_ host: String) -> Bool {
        if host == Self.anyHost { return true }
        guard !host.isEmpty, host.utf8.count <= Self.maximumHostLength else { return false }
        return host.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || scalar == "." || scalar == "-" || scalar == "_"
        }
    }

    private static func canonicalHost(_ host: String) -> String {
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return host }
        return address.hostText ?? host
    }
}

/// Why a text is not an address; the description is a sentence for people.
package enum PeerAddressError: Error, Equatable, CustomStringConvertible {
    case missingPort(text: String)
    case badPort(text: String, port: String)
    case badHost(text: String)
    case bracketsNeeded(text: String)

    package var description: String {
        let example = "write HOST:PORT, such as 192.0.2.7:7365 or [2001:db8::7]:7365"
        switch self {
        case .missingPort(let text):
            return "The address \"\(text)\" has no port; \(example)."
        case .badPort(let text, let port):
            return "The port \"\(port)\" of the address \"\(text)\" is not a number from 0 to 65535; \(example)."
        case .badHost(let text):
            return "The address \"\(text)\" does not begin with a host name or an IP address; \(example)."
        case .bracketsNeeded(let text):
            return "The IPv6 address in \"\(text)\" must stand in brackets; \(example)."
        }
    }
}
