internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Membership of one multicast group, through one socket, on many interfaces.
///
/// Lives on the event loop.
final class BeaconGroup {
    private enum State {
        case closed
        case opening
        case open(any Channel)
    }

    let isIPv6: Bool
    private let sockets: BeaconSockets
    private var state = State.closed
    /// Names by interface index: one that comes back with another index is another one.
    private var joined: [Int: String] = [:]

    init(isIPv6: Bool, sockets: BeaconSockets) {
        self.isIPv6 = isIPv6
        self.sockets = sockets
    }

    var interfaceNames: [String] {
        Array(self.joined.values)
    }

    static func address(isIPv6: Bool, port: UInt16) -> SocketAddress? {
        let group = isIPv6 ? BeaconConfiguration.groupIPv6 : BeaconConfiguration.groupIPv4
        return try? SocketAddress(ipAddress: group, port: Int(port))
    }

    /// Joins what is new and leaves what is gone; opens the socket if need be.
    func refresh(_ addresses: [InterfaceAddress], on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let devices = addresses.filter { $0.isIPv6 == self.isIPv6 }.map(\.device)
        switch self.state {
        case .opening:
            return eventLoop.makeSucceededVoidFuture()
        case .open(let channel):
            return self.join(devices, channel)
        case .closed where devices.isEmpty:
            return eventLoop.makeSucceededVoidFuture()
        case .closed:
            self.state = .opening
            let done = eventLoop.makePromise(of: Void.self)
            self.open(on: eventLoop).assumeIsolated().whenComplete { result in
                switch result {
                case .success(let channel) where self.sockets.isShutDown:
                    channel.close(promise: done)
                case .success(let channel):
                    self.opened(channel)
                    self.join(devices, channel).cascade(to: done)
                case .failure(let error):
                    self.state = .closed
                    self.sockets.logger.debug("cannot hear beacons: \(FailureText.of(error))")
                    done.succeed(())
                }
            }
            return done.futureResult
        }
    }

    func close() {
        if case .open(let channel) = self.state { channel.close(promise: nil) }
        self.state = .closed
        self.joined = [:]
    }

    private func open(on eventLoop: any EventLoop) -> EventLoopFuture<any Channel> {
        var bootstrap = DatagramBootstrap(group: eventLoop)
            // Several processes of one machine listen on one port, and each gets every packet.
            .channelOption(.socketOption(.so_reuseaddr), value: 1)
            .channelOption(ChannelOptions.Types.SocketOption.sharedPort, value: 1)
            // Room for one byte too many, so that too long a packet is seen to be one.
            .channelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: BeaconConfiguration.maximumPayload + 1)
            )
        if self.isIPv6 {
            bootstrap = bootstrap.channelOption(ChannelOptions.Types.SocketOption.onlyIPv6, value: 1)
        }
        // On IPv4, bound to the group, the socket gets nothing but its packets; IPv6 would tie it to one interface.
        let host = self.isIPv6 ? "::" : BeaconConfiguration.groupIPv4
        let receiver = NIOLoopBound(BeaconReceiver(sockets: self.sockets), eventLoop: eventLoop)
        return bootstrap.channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(receiver.value)
            }
        }
        .bind(host: host, port: Int(self.sockets.configuration.port))
        .flatMap { channel in
            MulticastOptions.prepareReceiver(channel).map { channel }
        }
    }

    private func opened(_ channel: any Channel) {
        self.state = .open(channel)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            guard case .open(let current) = self.state, current === channel else { return }
            self.state = .closed
            self.joined = [:]
            self.sockets.updateListening()
        }
    }

    private func join(_ devices: [NIONetworkDevice], _ channel: any Channel) -> EventLoopFuture<Void> {
        let eventLoop = channel.eventLoop
        guard let group = Self.address(isIPv6: self.isIPv6, port: self.sockets.configuration.port) else {
            return eventLoop.makeSucceededVoidFuture()
        }
        let present = Set(devices.map(\.interfaceIndex))
        for index in self.joined.keys where !present.contains(index) {
            self.joined[index] = nil
            // Fails if the interface is gone altogether, and the membership with it.
            _ = MulticastOptions.setMembership(false, of: channel, group: group, index: index)
        }
        var joins: [EventLoopFuture<Void>] = []
        for device in devices where self.joined[device.interfaceIndex] == nil {
            // Counted at once, so that a second address of the interface does not join again.
            self.joined[device.interfaceIndex] = device.name
            let join = MulticastOptions.setMembership(true, of: channel, group: group, index: device.interfaceIndex)
            join.assumeIsolated().whenFailure { error in
                // The kernel has kept the membership.
                if let error = error as? IOError, error.errnoCode == EADDRINUSE { return }
                self.joined[device.interfaceIndex] = nil
                self.sockets.updateListening()
                self.sockets.logger.debug("cannot hear beacons on \(device.name): \(FailureText.of(error))")
            }
            joins.append(join)
        }
        self.sockets.updateListening()
        return EventLoopFuture.andAllComplete(joins, on: eventLoop)
    }
}
