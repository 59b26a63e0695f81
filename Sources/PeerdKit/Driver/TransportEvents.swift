package import Engine
package import PeerTransport

extension ConnectionID {
    init(_ id: TransportID) { self.init(rawValue: id.rawValue) }
}

extension TransportID {
    init(_ id: ConnectionID) { self.init(rawValue: id.rawValue) }
}

extension Event {
    /// What a transport reports, in the node's words.
    package init(_ event: TransportEvent) {
        self =
            switch event {
            case .accepted(let id, let address):
                .accepted(ConnectionID(id), from: NetworkAddress(host: address.host, port: address.port))
            case .connected(let id): .connected(ConnectionID(id))
            case .dialFailed(let id, _): .dialFailed(ConnectionID(id))
            case .received(let id, let bytes): .received(ConnectionID(id), bytes)
            case .sent(let id, let byteCount): .flushed(ConnectionID(id), byteCount: byteCount)
            case .closed(let id, _): .closed(ConnectionID(id))
            }
    }
}
