internal import Logging
internal import NIOCore
internal import NIOPosix

/// The sockets of one beacon transport.
///
/// Lives on the event loop, and only there.
///
/// One socket a protocol family hears beacons on all interfaces (each joined for itself); one socket an interface
/// address sends them. Interfaces come and go, so what is there is compared with what should be at every broadcast.
final class BeaconSockets {
    /// What to send from: a new address of an interface is a new sender.
    private struct SenderKey: Hashable {
        let interfaceIndex: Int
        let host: String
    }

    let configuration: BeaconConfiguration
    let logger: Logger
    var counters = BeaconCounters()
    var rate: RateWindow
    private(set) var onReceive: (_ payload: [UInt8], _ fromHost: String) -> Void = { _, _ in }
    private let eventLoop: any EventLoop
    private var groups: [BeaconGroup] = []
    private var senders: [SenderKey: any Channel] = [:]
    private var opening: Set<SenderKey> = []
    /// The addresses that the system told last.
    private var addresses: [InterfaceAddress] = []
    private(set) var isShutDown = false

    init(configuration: BeaconConfiguration, logger: Logger, eventLoop: any EventLoop) {
        self.configuration = configuration
        self.logger = logger
        self.eventLoop = eventLoop
        self.rate = RateWindow(limit: configuration.packetsPerSecond)
    }

    // MARK: Hearing

    /// The future never fails: a family or interface that does not work is left out, and tried again later.
    func start(onReceive: @escaping (_ payload: [UInt8], _ fromHost: String) -> Void) -> EventLoopFuture<Void> {
        precondition(self.groups.isEmpty, "beacons are started once")
        self.onReceive = onReceive
        self.groups = [BeaconGroup(isIPv6: false, sockets: self), BeaconGroup(isIPv6: true, sockets: self)]
        return self.refreshGroups(self.wantedAddresses())
    }

    private func refreshGroups(_ addresses: [InterfaceAddress]) -> EventLoopFuture<Void> {
        let refreshed = self.groups.map { $0.refresh(addresses, on: self.eventLoop) }
        return EventLoopFuture.andAllComplete(refreshed, on: self.eventLoop)
    }

    func updateListening() {
        self.counters.listeningOn = Set(self.groups.flatMap(\.interfaceNames)).sorted()
    }

    // MARK: Sending

    func broadcast(_ payload: [UInt8]) {
        guard !self.isShutDown else { return }
        let addresses = self.wantedAddresses()
        _ = self.refreshGroups(addresses)
        var wanted: Set<SenderKey> = []
        for address in addresses {
            let key = SenderKey(interfaceIndex: address.device.interfaceIndex, host: address.host)
            wanted.insert(key)
            if let sender = self.senders[key] {
                self.send(payload, through: sender, key)
            } else {
                self.openSender(address, key, first: payload)
            }
        }
        for key in self.senders.keys where !wanted.contains(key) {
            self.senders.removeValue(forKey: key)?.close(promise: nil)
        }
    }

    private func send(_ payload: [UInt8], through sender: any Channel, _ key: SenderKey) {
        let isIPv6 = sender.localAddress?.protocol == .inet6
        guard let group = BeaconGroup.address(isIPv6: isIPv6, port: self.configuration.port) else { return }
        let envelope = AddressedEnvelope(remoteAddress: group, data: ByteBuffer(bytes: payload))
        sender.writeAndFlush(envelope).assumeIsolated().whenComplete { result in
            switch result {
            case .success:
                self.counters.sent += 1
            case .failure(let error):
                // An interface that is down, mostly. A new socket is tried at the next broadcast.
                self.counters.sendFailures += 1
                self.logger.debug("cannot send a beacon from \(key.host): \(FailureText.of(error))")
                self.senders.removeValue(forKey: key)?.close(promise: nil)
            }
        }
    }

    /// Opens a sender, and tries again a few times: a new IPv6 address is not ready for a second or two.
    private func openSender(
        _ address: InterfaceAddress,
        _ key: SenderKey,
        first payload: [UInt8],
        attemptCount: Int = BeaconSockets.attemptCountMax
    ) {
        guard !self.isShutDown, self.senders[key] == nil, self.opening.insert(key).inserted else { return }
        var local = address.socketAddress
        local.port = 0
        let opened = DatagramBootstrap(group: self.eventLoop).bind(to: local).flatMap { channel in
            MulticastOptions.prepareSender(channel, isIPv6: address.isIPv6, index: address.device.interfaceIndex)
                .map { channel }
                .flatMapErrorThrowing { error in
                    channel.close(promise: nil)
                    throw error
                }
        }
        opened.assumeIsolated().whenComplete { result in
            self.opening.remove(key)
            switch result {
            case .success(let channel):
                guard !self.isShutDown else { return channel.close(promise: nil) }
                self.senders[key] = channel
                self.send(payload, through: channel, key)
            case .failure(let error):
                self.counters.sendFailures += 1
                self.logger.debug("cannot send beacons from \(key.host): \(FailureText.of(error))")
                guard attemptCount > 1 else { return }
                self.eventLoop.assumeIsolated().scheduleTask(in: Self.attemptInterval) {
                    self.openSender(address, key, first: payload, attemptCount: attemptCount - 1)
                }
            }
        }
    }

    private static let attemptCountMax = 4
    private static let attemptInterval = TimeAmount.milliseconds(700)

    // MARK: Interfaces

    /// One IPv6 address an interface is enough, since its link-local one reaches all of the link; of IPv4 every address
    /// counts, since each may belong to another subnet and the receiver dials the one that it sees.
    private func wantedAddresses() -> [InterfaceAddress] {
        do throws(InterfaceFailure) {
            self.addresses = try LocalInterfaces.all()
        } catch {
            // `InterfaceWatch` tells the user. What is open goes on.
            self.logger.debug("the addresses of this machine are not told: \(error)")
        }
        let usable = self.addresses.filter { address in
            // IPv4 does for the processes of one machine, and Linux has no IPv6 multicast on loopback.
            if address.isIPv6 && address.isLoopback { return false }
            switch self.configuration.interfaces {
            case .all: return address.device.multicastSupported || address.isLoopback
            case .named(let names): return names.contains(address.device.name)
            }
        }
        let ordered = usable.sorted { left, right in
            (left.device.interfaceIndex, left.isLinkLocal ? 0 : 1, left.host)
                < (right.device.interfaceIndex, right.isLinkLocal ? 0 : 1, right.host)
        }
        var withIPv6: Set<Int> = []
        let wanted = ordered.filter { !$0.isIPv6 || withIPv6.insert($0.device.interfaceIndex).inserted }
        return Array(wanted.prefix(BeaconConfiguration.maximumInterfaceAddresses))
    }

    func shutDown() {
        self.isShutDown = true
        // Whoever listens mostly holds the transport as well.
        self.onReceive = { _, _ in }
        for group in self.groups { group.close() }
        self.groups = []
        for sender in self.senders.values { sender.close(promise: nil) }
        self.senders = [:]
        self.updateListening()
    }
}
