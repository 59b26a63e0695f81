internal import Engine
public import Foundation
internal import PeerTransport

extension Workspace {
    /// Exchanges what is written with the other machines, now and as it happens, until ``stopSync()`` or ``close()``.
    ///
    /// Calling it again changes nothing.
    ///
    /// - Parameters:
    ///   - listenPort: where others reach this machine; nil for the port of last time, or any that is free.
    ///   - addresses: machines to keep a connection to, as `host:port`, beside those that are found.
    ///   - discovers: whether to find machines in the same network, and be found, by multicast.
    /// - Throws: ``PeerdError`` with `readOnly`, `closed`, `invalidArgument` for an address, `unreachable` if the port
    ///   is taken.
    public func startSync(listenPort: UInt16? = nil, addresses: [String] = [], discovers: Bool = true) async throws {
        _ = try self.driver()
        guard let runtime = self.runtime else { return }
        let staticAddresses = try addresses.map { try NetworkAddress(argument: $0) }
        try await self.participant.start(
            runtime,
            remembered: Settings.load(self.paths).listen,
            listenPort: listenPort,
            staticAddresses,
            discovers: discovers
        )
        var settings = Settings.load(self.paths)
        settings.listen = await self.participant.address?.description
        // It is a convenience: without it another port is taken next time.
        try? settings.save(self.paths)
    }

    /// Ends all connections; nobody is met any more.
    public func stopSync() async {
        if let runtime = self.runtime { await self.participant.stop(runtime) }
    }

    /// Exchanges everything with whoever answers, and returns.
    ///
    /// Works with and without ``startSync(listenPort:addresses:discovers:)``.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most. What was exchanged until then stays.
    ///   - progress: called now and then with what was exchanged so far.
    /// - Returns: what was exchanged, and how it stands with each machine. A timeout is a result like others.
    /// - Throws: ``PeerdError`` if the store fails; `CancellationError` if the task is cancelled.
    @discardableResult
    public func sync(
        timeout: Duration,
        progress: (@Sendable (SyncReport) -> Void)? = nil
    ) async throws -> SyncReport {
        let driver = try self.driver()
        let before = try await driver.status()
        await driver.meetEveryone()
        var rounds = SyncRounds(before.traffic)
        let start = ContinuousClock.now
        while true {
            let state = SyncState(try await driver.status(), .whoeverAnswers)
            let elapsed = ContinuousClock.now - start
            let report = SyncReport(state, since: before.traffic)
            let isSettled = elapsed >= SyncState.dialPatience && state.isSettled
            if let failure = state.status.storeFailure { throw PeerdError(failure) }
            let isDone = state.isComplete || isSettled
            if elapsed >= timeout || isDone && !rounds.wantsAnother(state.status.traffic) { return report }
            if isDone { await driver.meetEveryone() }
            progress?(report)
            try await Task.sleep(for: SyncState.pollInterval)
        }
    }

    /// The other machines of the workspace, and how it stands with each.
    public func peers() async throws -> [Peer] {
        try await self.driver().status().peers.map { Peer($0) }
    }

    /// Makes an invite for one more machine: good once, for ten minutes, while this one syncs.
    ///
    /// - Throws: ``PeerdError`` with `notSyncing` if nobody could reach this machine.
    public func invite() async throws -> Invitation {
        let driver = try self.driver()
        guard let address = await self.participant.address else {
            throw PeerdError(
                .notSyncing,
                "This machine does not sync, so that nobody could reach it.",
                advice: "Start the sync first."
            )
        }
        let hosts = ListenAddress.reachableHosts(address.host)
        return Invitation(try await driver.makeInvite(addresses: hosts, port: address.port))
    }
}

/// What one sync exchanged.
public struct SyncReport: Hashable, Sendable, Codable {
    /// Operations that other machines took in.
    public let pushed: Int
    /// Operations that this one took in.
    public let pulled: Int
    /// How it stands with each machine.
    public let peers: [Peer]
    /// Whether at least one machine was met, and nothing is missing on either side.
    public var isInSync: Bool {
        let connected = self.peers.filter(\.isConnected)
        return !connected.isEmpty && connected.allSatisfy(\.isInSync)
    }

    init(_ state: SyncState, since before: Traffic) {
        let traffic = state.status.traffic.subtracting(before)
        self.pushed = traffic.pushedOperationCount
        self.pulled = traffic.pulledOperationCount
        self.peers = state.status.peers.map { Peer($0) }
    }
}

/// Another machine of the workspace.
public struct Peer: Identifiable, Hashable, Sendable, Codable {
    /// Names the machine.
    public let id: String
    /// The name that it gave itself.
    public let name: String
    /// Whether there is a connection.
    public let isConnected: Bool
    /// Where it was reached; nil if it never was.
    public let address: String?
    /// Changes that it lacks; nil if that is not known.
    public let lacks: Int?
    /// Changes that it has and this machine lacks; nil if that is not known.
    public let isAheadBy: Int?

    /// The last time it was connected; nil if it was not since the workspace was opened.
    public let lastSeen: Date?

    /// Whether both are known to hold the same.
    public var isInSync: Bool { self.lacks == 0 && self.isAheadBy == 0 }

    /// The reason why a machine is not known to hold the same.
    public enum Reason: Hashable, Sendable, Codable {
        /// There has been no connection since the workspace was opened.
        case notMet
        /// There is no connection; the last one ended then.
        case offline(since: Date)
        /// The two are finding out what the other one lacks.
        case comparing
        /// Changes are on their way.
        case exchanging

        /// What to do, as a sentence.
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

    init(_ status: PeerStatus) {
        self.id = status.device.description
        self.name = status.name
        self.isConnected = status.isConnected
        self.address = status.address?.description
        self.lastSeen = status.lastSeen.map { Date(milliseconds: $0.milliseconds) }
        self.lacks = status.missingThereCount.map { Int(clamping: $0) }
        self.isAheadBy = status.missingHereCount.map { Int(clamping: $0) }
    }
}

/// Meets others on behalf of a workspace, one start or stop at a time.
actor Participant {
    /// Where it listens; nil while it does not.
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
        let last = remembered.flatMap { try? PeerAddress.parse($0) }?.port
        let address = try await Self.listen(transport, on: listenPort ?? last ?? 0, isAsked: listenPort != nil)
        let beacons = discovers ? BeaconTransport() : nil
        await beacons?.start { payload, host in inbox.post(.beacon(payload, fromHost: host)) }
        let participation = Participation(
            listenPort: address.port,
            staticAddresses: staticAddresses,
            discovers: discovers
        )
        await runtime.driver.takePart(participation, over: transport, beacons)
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
                await transport.shutdown()
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
                "“\(argument)” is no address.",
                advice: "Write HOST:PORT, with brackets around an IPv6 address."
            )
        }
        self.init(host: address.host, port: address.port)
    }
}
