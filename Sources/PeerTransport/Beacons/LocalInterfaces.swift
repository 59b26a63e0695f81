internal import NIOCore

/// One address of one network interface of this machine.
struct InterfaceAddress {
    let device: NIONetworkDevice
    let socketAddress: SocketAddress
    let host: String

    var isIPv6: Bool { self.socketAddress.protocol == .inet6 }

    var isLoopback: Bool { self.host.hasPrefix("127.") || self.host == "::1" }

    /// Valid on one link only: `fe80::/10` and `169.254.0.0/16`.
    var isLinkLocal: Bool {
        self.host.hasPrefix("169.254.") || self.isIPv6 && ["fe8", "fe9", "fea", "feb"].contains(self.host.prefix(3))
    }
}

/// The system does not tell the addresses of this machine.
package struct InterfaceFailure: Error, Hashable, CustomStringConvertible, Sendable {
    package let description: String
}

/// The addresses of this machine.
package enum LocalInterfaces {
    /// Hosts by which other machines may reach this one, best first: ordinary addresses, then link-local IPv4, and
    /// loopback last.
    ///
    /// Link-local IPv6 is left out: it names an interface of this machine, which means nothing to others.
    package static func addresses() throws(InterfaceFailure) -> [String] {
        let ranked = try Self.all().filter { !($0.isIPv6 && $0.isLinkLocal) }.map { address in
            (rank: address.isLoopback ? 2 : address.isLinkLocal ? 1 : 0, address: address)
        }
        let sorted = ranked.sorted { left, right in
            let (a, b) = (left.address, right.address)
            return (left.rank, a.device.interfaceIndex, a.isIPv6 ? 1 : 0, a.host)
                < (right.rank, b.device.interfaceIndex, b.isIPv6 ? 1 : 0, b.host)
        }
        return sorted.map(\.address.host)
    }

    static func all() throws(InterfaceFailure) -> [InterfaceAddress] {
        let devices: [NIONetworkDevice]
        do {
            devices = try System.enumerateDevices()
        } catch {
            throw InterfaceFailure(description: FailureText.of(error))
        }
        return devices.compactMap { device in
            guard let socketAddress = device.address, let host = socketAddress.hostText else { return nil }
            return InterfaceAddress(device: device, socketAddress: socketAddress, host: host)
        }
    }
}
