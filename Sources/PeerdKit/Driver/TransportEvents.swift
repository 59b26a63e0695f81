package import Engine
package import PeerTransport

extension Event {
    /// What a transport reports, in the node's words.
    package init(_ event: TransportEvent) {
        switch event {
        case .accepted(let connection, let address):
            self = .accepted(
                Engine.ConnectionID(rawValue: connection.rawValue),
                from: NetworkAddress(host: address.host, port: address.port)
            )
        case .connected(let connection):
            self = .connected(Engine.ConnectionID(rawValue: connection.rawValue))
        case .dialFailed(let connection, _):
            self = .dialFailed(Engine.ConnectionID(rawValue: connection.rawValue))
        case .received(let connection, let bytes):
            self = .received(Engine.ConnectionID(rawValue: connection.rawValue), bytes)
        case .sent(let connection, let byteCount):
            self = .flushed(Engine.ConnectionID(rawValue: connection.rawValue), byteCount: byteCount)
        case .closed(let connection, _):
            self = .closed(Engine.ConnectionID(rawValue: connection.rawValue))
        }
    }
}
