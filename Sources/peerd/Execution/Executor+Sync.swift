internal import CRDTCore
internal import Engine
internal import PeerdKit

extension Executor {
    private static let pollInterval = Duration.milliseconds(20)
    /// How long machines that do not answer are waited for when only those within reach are wanted.
    private static let dialPatience = Duration.seconds(3)
    private static let progressInterval = Duration.milliseconds(250)

    /// Exchanges changes with the peers until nothing is missing on either side.
    ///
    func sync(_ scope: SyncScope, _ timeout: Duration, _ output: CommandOutput) async throws -> Completion {
        let before = try await self.driver.status()
        guard !before.peers.isEmpty || before.isDialling || !before.failingAddresses.isEmpty else {
            throw CommandFailure(
                .syncIncomplete,
                "No other machine is known; print a line for one with \"peerd invite\"."
            )
        }
        await self.driver.meetEveryone()
        let start = ContinuousClock.now
        var nextProgress = start + Self.progressInterval
        while true {
            let status = try await self.driver.status()
            let state = SyncState(status, scope)
            let elapsed = ContinuousClock.now - start
            let isSettled = elapsed >= Self.dialPatience && state.isSettled
            if state.isComplete || isSettled || elapsed >= timeout || status.storeFailure != nil {
                try await self.print(state, since: before.traffic, output)
                if let failure = status.storeFailure { throw CommandFailure(failure) }
                if let reason = state.shortcoming { throw CommandFailure(.syncIncomplete, reason) }
                return Completion()
            }
            if ContinuousClock.now >= nextProgress {
                nextProgress = ContinuousClock.now + Self.progressInterval
                let traffic = status.traffic.subtracting(before.traffic)
                try await output.progress(
                    "pushed \(traffic.pushedOperationCount), pulled \(traffic.pulledOperationCount) operations"
                )
            }
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    private func print(_ state: SyncState, since before: Traffic, _ output: CommandOutput) async throws {
        let traffic = state.status.traffic.subtracting(before)
        if output.format.isJSON {
            let json = JSON.object([
                "pushed": .int(Int64(traffic.pushedOperationCount)),
                "pulled": .int(Int64(traffic.pulledOperationCount)),
                "traffic": TrafficReport.json(traffic),
                "in_sync": .bool(state.shortcoming == nil && state.status.waits.isEmpty),
                "waiting": .array(state.status.waits.map(WaitReport.json)),
                "peers": .array(state.status.peers.map(PeerReport.json)),
            ])
            return try await output.line(json.canonicalText)
        }
        try await output.line(
            """
            pushed \(PlainText.count(traffic.pushedOperationCount, "operation")) \
            (\(PlainText.bytes(UInt64(clamping: traffic.sentByteCount)))), \
            pulled \(PlainText.count(traffic.pulledOperationCount, "operation")) \
            (\(PlainText.bytes(UInt64(clamping: traffic.receivedByteCount))))
            """
        )
        for wait in state.status.waits { try await output.line("waiting: \(WaitReport.sentence(wait))") }
        for peer in state.status.peers {
            try await output.line(
                peer.isConnected ? PeerReport.sentence(peer) : "\(PlainText.printable(peer.name)): offline"
            )
        }
    }
}

/// How far a sync has come.
private struct SyncState {
    let status: NodeStatus
    let scope: SyncScope

    init(_ status: NodeStatus, _ scope: SyncScope) {
        self.status = status
        self.scope = scope
    }

    private var connected: [PeerStatus] { self.status.peers.filter(\.isConnected) }

    /// Whether nothing is left to exchange with those who are there.
    private var isExchanged: Bool { self.connected.allSatisfy(\.isInSync) }

    /// Whether the sync may end without those who have not answered yet.
    var isSettled: Bool {
        if self.status.peers.isEmpty, !self.status.isDialling, !self.status.failingAddresses.isEmpty { return true }
        switch self.scope {
        case .whoeverAnswers: return self.isExchanged && !(self.connected.isEmpty && self.status.isDialling)
        case .anyone: return self.isExchanged && !self.connected.isEmpty
        case .everyone: return false
        }
    }

    /// Whether all known machines are there and hold the same.
    var isComplete: Bool {
        !self.connected.isEmpty && self.connected.count == self.status.peers.count && self.isExchanged
    }

    /// What is wrong if the sync ends now; nil if it has done what was asked.
    var shortcoming: String? {
        if self.connected.isEmpty {
            let addresses = self.status.failingAddresses.filter { $0.failure != .unreachable }
            if !addresses.isEmpty { return addresses.map(AddressReport.sentence).joined(separator: " ") }
            return "No other machine was reached; check that \"peerd run\" runs there and that the network is up."
        }
        let behind = self.connected.filter { !$0.isInSync }
        if !behind.isEmpty { return "Not all was exchanged in time with \(Self.names(behind)); run the sync again." }
        let missing = self.status.peers.filter { !$0.isConnected }
        if self.scope == .everyone, !missing.isEmpty { return "Not reached in time: \(Self.names(missing))." }
        return nil
    }

    private static func names(_ peers: [PeerStatus]) -> String {
        peers.map { PlainText.printable($0.name) }.joined(separator: ", ")
    }
}

extension Traffic {
    /// What was counted since an earlier reading.
    func subtracting(_ earlier: Traffic) -> Traffic {
        var difference = self
        difference.pushedChangeCount -= earlier.pushedChangeCount
        difference.pushedOperationCount -= earlier.pushedOperationCount
        difference.pulledChangeCount -= earlier.pulledChangeCount
        difference.pulledOperationCount -= earlier.pulledOperationCount
        difference.duplicateChangeCount -= earlier.duplicateChangeCount
        difference.sentByteCount -= earlier.sentByteCount
        difference.receivedByteCount -= earlier.receivedByteCount
        return difference
    }
}
