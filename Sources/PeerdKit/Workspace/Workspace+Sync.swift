package import Engine
public import Foundation
internal import PeerTransport

extension Workspace {
    /// Starts to exchange changes with the other machines, until ``stopSync()`` or ``close()``.
    ///
    /// Returns once this machine listens, and does not wait for a connection. While the sync runs, calling it again
    /// does nothing, whatever the arguments.
    ///
    /// - Parameters:
    ///   - listenPort: the TCP port on which other machines reach this one; nil for the port of the last time, or any
    ///     free one.
    ///   - addresses: machines to keep a connection to, as `host:port`, in addition to those that are discovered or
    ///     known from before.
    ///   - discovers: true to find machines in the local network, and be found, by multicast.
    /// - Throws: ``PeerdError`` with `readOnly`, `closed`, `invalidArgument` for an address, `unreachable` if the port
    ///   is taken.
    public func startSync(listenPort: UInt16? = nil, addresses: [String] = [], discovers: Bool = true) async throws {
        _ = try self.driver()
        guard let runtime = self.runtime else { return }
        let staticAddresses = try addresses.map { try NetworkAddress(argument: $0) }
        try await self.participant.start(
            runtime,
            remembered: try Settings.load(self.paths).listen,
            listenPort: listenPort,
            staticAddresses,
            discovers: discovers
        )
        let address = await self.participant.address?.description
        runtime.keepAddress(address, in: self.paths)
    }

    /// Ends all connections, and stops to listen and to dial.
    ///
    /// Reading and writing continue. Does nothing if the sync does not run.
    public func stopSync() async {
        if let runtime = self.runtime { await self.participant.stop(runtime) }
    }

    /// Exchanges changes with all machines that answer, and returns.
    ///
    /// Works with and without ``startSync(listenPort:addresses:discovers:)``; without it, this machine dials the
    /// others, but none can dial it. Machines that do not answer within about three seconds are not waited for.
    ///
    /// - Parameters:
    ///   - timeout: the longest time to wait.
    ///   - progress: a function that is called now and then with the exchange so far.
    /// - Returns: the exchange, with the state of each machine. A timeout is a result, and not an error.
    /// - Throws: ``PeerdError`` with `readOnly` or `closed`, or if the store fails; `CancellationError` if the task is
    ///   cancelled. Changes that were exchanged before it throws stay.
    @discardableResult
    public func sync(
        timeout: Duration,
        progress: (@Sendable (SyncReport) -> Void)? = nil
    ) async throws -> SyncReport {
        let driver = try self.driver()
        let before = try await driver.status()
        let state = try await driver.sync(.whoeverAnswers, since: before, timeout: timeout) { state in
            progress?(SyncReport(state))
        }
        if let failure = state.status.storeFailure { throw PeerdError(failure) }
        return SyncReport(state)
    }

    /// Returns the other machines of the workspace, with the state of the exchange with each.
    ///
    /// - Throws: ``PeerdError`` with `readOnly`, `closed`, or if the store fails.
    /// - Complexity: O(*n*) in the machines and replicas.
    public func peers() async throws -> [Peer] {
        try await self.driver().status().peers.map { Peer($0) }
    }

    /// Makes an invite for one more machine: valid once, for ten minutes, while this one syncs.
    ///
    /// - Returns: the invite, with the addresses of this machine.
    /// - Throws: ``PeerdError`` with `notSyncing` before ``startSync(listenPort:addresses:discovers:)``,
    ///   `cannotInvite`, `readOnly` or `closed`.
    public func invite() async throws -> Invitation {
        let driver = try self.driver()
        let (hosts, port) = try await self.reachableAddress()
        return Invitation(try await driver.makeInvite(addresses: hosts, port: port).invite)
    }

    /// Where others reach this machine.
    func reachableAddress() async throws -> (hosts: [String], port: UInt16) {
        guard let address = await self.participant.address else {
            throw PeerdError(
                .notSyncing,
                "The sync does not run, so no other machine could join.",
                advice: "Start the sync first."
            )
        }
        return (try ListenAddress.reachableHosts(address.host), address.port)
    }
}

/// The result of one sync.
public struct SyncReport: Hashable, Sendable, Codable {
    /// The number of operations that other machines stored.
    public let pushed: Int
    /// The number of operations that this machine stored.
    public let pulled: Int
    /// The other machines, with the state of the exchange with each.
    public let peers: [Peer]
    /// Tells whether a machine left before everything was exchanged with it.
    public let wasInterrupted: Bool
    /// Tells whether at least one machine is connected, and all connected ones hold the same changes as this one.
    public var isInSync: Bool {
        let connected = self.peers.filter(\.isConnected)
        return !connected.isEmpty && connected.allSatisfy(\.isInSync) && !self.wasInterrupted
    }

    init(_ state: SyncState) {
        self.pushed = state.traffic.pushedOperationCount
        self.pulled = state.traffic.pulledOperationCount
        self.peers = state.status.peers.map { Peer($0) }
        self.wasInterrupted = !state.departed.isEmpty
    }
}

/// Another machine of the workspace, as this one knows it.
public struct Peer: Identifiable, Hashable, Sendable, Codable {
    /// The id of the machine, as hexadecimal text.
    public let id: String
    /// The name that the machine gave itself.
    public let name: String
    /// Tells whether there is a connection.
    public let isConnected: Bool
    /// The address where it was reached, as `host:port`; nil if it never was.
    public let address: String?
    /// The number of changes that it lacks; nil if that is unknown.
    public let lacks: Int?
    /// The number of changes that it has and this machine lacks; nil if that is unknown.
    public let isAheadBy: Int?

    /// The time until which it holds changes that are in force here, by its clock; nil if it holds none.
    ///
    /// Changes from a fast clock are held by machines whose clocks are right. See ``Workspace/status()``.
    public let holdsUntil: Date?

    /// The time of the last connection; nil if there was none since the workspace was opened.
    public let lastSeen: Date?

    /// Tells whether both machines are known to hold the same changes.
    public var isInSync: Bool { self.lacks == 0 && self.isAheadBy == 0 }

    /// The reasons why a machine is not in sync.
    public enum Reason: Hashable, Sendable, Codable {
        /// There has been no connection since the workspace was opened.
        case notMet
        /// There is no connection; the last one ended at that time.
        case offline(since: Date)
        /// The two machines compare what they hold.
        case comparing
        /// Changes are on their way.
        case exchanging

        /// The way out as a sentence, for people.
        public var advice: String {
            switch self {
            case .notMet: "Start the sync there; if it runs in another network, give its address to this machine."
            case .offline: "Wait until it is back, or start the sync there."
            case .comparing, .exchanging: "Wait."
            }
        }
    }

    /// The reason why the machine is not in sync; nil if it is connected and in sync.
    public var reason: Reason? {
        guard self.isConnected else { return self.lastSeen.map { .offline(since: $0) } ?? .notMet }
        if self.isInSync { return nil }
        return self.lacks == nil || self.isAheadBy == nil ? .comparing : .exchanging
    }

    package init(_ status: PeerStatus) {
        self.id = status.device.description
        self.name = status.name
        self.isConnected = status.isConnected
        self.address = status.address?.description
        self.lastSeen = status.lastSeen.map { Date(milliseconds: $0.milliseconds) }
        self.holdsUntil = status.holdsUntil.map { Date(milliseconds: $0.milliseconds) }
        self.lacks = status.missingThereCount.map { Int(clamping: $0) }
        self.isAheadBy = status.missingHereCount.map { Int(clamping: $0) }
    }
}

/// Starts and stops the sync of a workspace, one call at a time.
actor Participant {
    /// The address where it listens; nil while it does not.
    private(set) var address: PeerAddress?
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func start(
        _ runtime: WorkspaceRuntime,
        remembered: String?,
        listenPort: UInt16?,
        _ staticAddresses: [NetworkAddress],
        discovers: Bool
    ) async throws {
        await self.begin()
        defer { self.end() }
        guard self.address == nil else { return }
        let inbox = runtime.inbox
        let transport = TCPTransport(events: { inbox.post(Event($0)) })
        let beacons = discovers ? BeaconTransport() : nil
        await runtime.driver.use(transport, beacons)
        let last = remembered.flatMap { try? PeerAddress.parse($0) }?.port
        let address: PeerAddress
        do {
            address = try await Self.listen(transport, on: listenPort ?? last ?? 0, isAsked: listenPort != nil)
        } catch {
            await runtime.driver.withdraw()
            throw error
        }
        await beacons?.start { payload, host in inbox.post(.beacon(payload, fromHost: host)) }
        let participation = Participation(
            listenPort: address.port,
            staticAddresses: staticAddresses,
            discovers: discovers
        )
        await runtime.driver.takePart(participation)
        self.address = address
    }

    func stop(_ runtime: WorkspaceRuntime) async {
        await self.begin()
        defer { self.end() }
        guard self.address != nil else { return }
        await runtime.driver.withdraw()
        self.address = nil
    }

    private static func listen(
        _ transport: TCPTransport,
        on port: UInt16,
        isAsked: Bool
    ) async throws -> PeerAddress {
        do throws(ListenError) {
            return try await transport.listen(on: PeerAddress(host: PeerAddress.anyHost, port: port))
        } catch {
            guard !isAsked, port != 0 else {
                throw PeerdError(.unreachable, error.description, advice: "Choose another port, or none.")
            }
        }
        return try await self.listen(transport, on: 0, isAsked: isAsked)
    }

    private func begin() async {
        while self.isBusy { await withCheckedContinuation { self.waiting.append($0) } }
        self.isBusy = true
    }

    private func end() {
        self.isBusy = false
        let waiting = self.waiting
        self.waiting = []
        for waiter in waiting { waiter.resume() }
    }
}

extension NetworkAddress {
    fileprivate init(argument: String) throws {
        guard let address = try? PeerAddress.parse(argument), address.port != 0 else {
            throw PeerdError(
                .invalidArgument,
                "“\(argument)” is not an address.",
                advice: "Write HOST:PORT, with brackets around an IPv6 address."
            )
        }
        self.init(host: address.host, port: address.port)
    }
}
