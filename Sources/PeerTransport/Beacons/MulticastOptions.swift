internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Socket options of multicast.
enum MulticastOptions {
    /// `struct ip_mreqn` of the system: names an interface by its index, which needs neither an address nor a route.
    private struct RequestIPv4: Sendable {
        var group: UInt32 = 0
        var address: UInt32 = 0
        var index: CInt
    }

    /// `struct ipv6_mreq` of the system.
    private struct RequestIPv6: Sendable {
        var group: (UInt64, UInt64)
        var index: CUnsignedInt
    }

    /// Beacons stay on their link.
    private static let hops: CUnsignedChar = 1

    /// Sends through one interface, with copies to the listeners of this machine.
    static func prepareSender(_ channel: any Channel, isIPv6: Bool, index: Int) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider, let index = CInt(exactly: index) else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        if isIPv6 {
            return options.setIPv6MulticastIF(CUnsignedInt(index))
                .flatMap { options.setIPv6MulticastHops(CInt(Self.hops)) }
                .flatMap { options.setIPv6MulticastLoop(1) }
        }
        let request = RequestIPv4(index: index)
        return options.unsafeSetSocketOption(level: .ip, name: .ip_multicast_if, value: request)
            .flatMap { options.setIPMulticastTTL(Self.hops) }
            .flatMap { options.setIPMulticastLoop(1) }
    }

    /// Joins or leaves a group on one interface.
    ///
    /// NIO's own call refuses loopback, which lacks the multicast flag on Linux and yet multicasts.
    static func setMembership(
        _ isMember: Bool,
        of channel: any Channel,
        group: SocketAddress,
        index: Int
    ) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider, let index = CInt(exactly: index) else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        let bytes = group.withSockAddr { address, size in
            Array(UnsafeRawBufferPointer(start: address, count: size))
        }
        // The address follows family and port, and in IPv6 the flow label, too.
        switch group.protocol {
        case .inet6:
            let request = bytes.withUnsafeBytes { bytes in
                RequestIPv6(
                    group: (
                        bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                        bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
                    ),
                    index: CUnsignedInt(index)
                )
            }
            let name = isMember ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP
            return options.unsafeSetSocketOption(level: .ipv6, name: .init(rawValue: CInt(name)), value: request)
        default:
            let groupIPv4 = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }
            let request = RequestIPv4(group: groupIPv4, index: index)
            let name = isMember ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP
            return options.unsafeSetSocketOption(level: .ip, name: .init(rawValue: CInt(name)), value: request)
        }
    }

    /// Hears only what arrives on interfaces that this very socket has joined; Linux would otherwise also hand it what
    /// other processes joined.
    ///
    /// Best effort: where the option is missing, there are only more duplicates.
    static func prepareReceiver(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        // IP_MULTICAST_ALL and IPV6_MULTICAST_ALL of <linux/in.h> and <linux/in6.h>. The wrong one for the family
        // fails.
        let settings = [
            options.unsafeSetSocketOption(level: .ip, name: .init(rawValue: 49), value: CInt(0)),
            options.unsafeSetSocketOption(level: .ipv6, name: .init(rawValue: 29), value: CInt(0)),
        ]
        return EventLoopFuture.andAllComplete(settings, on: channel.eventLoop)
    }
}
