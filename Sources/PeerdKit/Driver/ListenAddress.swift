internal import PeerTransport

/// Where others may reach what listens on an address.
package enum ListenAddress {
    private static let wildcards: Set<String> = [PeerAddress.anyHost, "0.0.0.0", "::"]
    /// Addresses that an invite names at most.
    private static let hostCountMax = 8

    /// The addresses of this machine if the host stands for all of them; else the host itself.
    package static func reachableHosts(_ host: String) -> [String] {
        guard self.wildcards.contains(host) else { return [host] }
        let hosts = LocalInterfaces.addresses().filter { host != "0.0.0.0" || !$0.utf8.contains(UInt8(ascii: ":")) }
        return Array(hosts.prefix(self.hostCountMax))
    }
}
