internal import Glibc
internal import NIOCore

/// Options that NIO has no names for.
extension ChannelOptions.Types.SocketOption {
    static let onlyIPv6 = Self(level: .ipv6, name: .init(rawValue: IPV6_V6ONLY))
    static let sharedPort = Self(level: .socket, name: .init(rawValue: SO_REUSEPORT))
    static let keepAliveIdleSeconds = Self(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE))
    static let keepAliveIntervalSeconds = Self(level: .tcp, name: .init(rawValue: TCP_KEEPINTVL))
    static let keepAliveProbes = Self(level: .tcp, name: .init(rawValue: TCP_KEEPCNT))
}
