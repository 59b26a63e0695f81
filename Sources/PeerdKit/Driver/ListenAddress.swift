internal import PeerTransport

/// Where others may reach what listens on an address.
package enum ListenAddress {
    private static let wildcards: Set<String> = [PeerAddress.anyHost, "0.0.0.0", "::"]
    /// Addresses that an invite names at most.
    private static let hostCountMax = 8

    /// The addresses that this machine has now if the host stands for all of them; else the host itself.
    ///
    /// Throws if the system does not tell them, or if there are none.
    package static func reachableHosts(_ host: String) throws(PeerdError) -> [String] {
        guard self.wildcards.contains(host) else { return [host] }
        var hosts: [String] = []
        do throws(InterfaceFailure) {
            hosts = try LocalInterfaces.addresses().filter { host != "0.0.0.0" || !$0.utf8.contains(UInt8(ascii: ":")) }
        } catch {
            throw PeerdError(
                .cannotInvite,
                "The system does not tell the addresses of this machine: \(error).",
                advice: """
                    Where a service runs peerd, RestrictAddressFamilies= must name AF_NETLINK; or listen on one \
                    address: “peerd run --listen HOST:PORT”.
                    """
            )
        }
        guard !hosts.isEmpty else {
            throw PeerdError(
                .cannotInvite,
                "This machine has no address now at which another could reach it.",
                advice: "Connect it to a network, and try again."
            )
        }
        return Array(hosts.prefix(self.hostCountMax))
    }
}
