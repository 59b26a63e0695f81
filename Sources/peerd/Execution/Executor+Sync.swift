internal import CRDTCore
internal import Engine
internal import LocalAPI
internal import PeerdKit

extension Executor {
    private static let progressInterval = Duration.milliseconds(250)

    /// Exchanges changes with the peers until nothing is missing on either side.
    func sync(_ scope: SyncScope, _ timeout: Duration, _ output: CommandOutput) async throws -> Completion {
        let before = try await self.driver.status()
        guard !before.peers.isEmpty || before.isDialling || !before.failingAddresses.isEmpty else {
            throw CommandFailure(
                .syncIncomplete,
                "No other machine is known; let one join with \"peerd invite\"."
            )
        }
        var nextProgress = ContinuousClock.now + Self.progressInterval
        let state = try await self.driver.sync(scope, since: before, timeout: timeout) { state in
            guard ContinuousClock.now >= nextProgress else { return }
            nextProgress = ContinuousClock.now + Self.progressInterval
            let (pushed, pulled) = (state.traffic.pushedOperationCount, state.traffic.pulledOperationCount)
            try await output.progress("pushed \(pushed), pulled \(pulled) operations")
        }
        try await output.progress("")
        try await self.report(state, output)
        if let failure = state.status.storeFailure { throw CommandFailure(failure) }
        if let reason = state.shortcoming { throw CommandFailure(.syncIncomplete, reason) }
        return Completion()
    }

    private func report(_ state: SyncState, _ output: CommandOutput) async throws {
        let traffic = state.traffic
        if output.format.isJSON {
            let json = JSON.object([
                "pushed": .int(Int64(traffic.pushedOperationCount)),
                "pulled": .int(Int64(traffic.pulledOperationCount)),
                "traffic": traffic.json,
                "in_sync": .bool(state.shortcoming == nil && state.status.waits.isEmpty),
                "waiting": .array(state.status.waits.map(\.json)),
                "peers": .array(state.status.peers.map(\.json)),
            ])
            return try await output.json(json)
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
                peer.isConnected ? PeerReport.sentence(peer) : "\(peer.name): offline"
            )
        }
    }
}

extension SyncState {
    /// What is wrong if the sync ends now; nil if it has done what was asked.
    var shortcoming: String? {
        if !self.departed.isEmpty {
            return "The connection to \(Self.names(self.departed)) ended before everything was exchanged; run it again."
        }
        if self.connected.isEmpty {
            let addresses = self.status.failingAddresses.filter { $0.failure != .unreachable }
            if !addresses.isEmpty { return addresses.map(AddressReport.sentence).joined(separator: " ") }
            return "No other machine was reached; check that \"peerd run\" runs there and that the network is up."
        }
        let silent = self.connected.filter { !$0.hasAnswered }
        if !silent.isEmpty {
            return "No answer came from \(Self.names(silent)); check that machine and the network, and run it again."
        }
        let behind = self.connected.filter { !$0.isInSync }
        if !behind.isEmpty { return "The sync with \(Self.names(behind)) did not finish in time; run it again." }
        let missing = self.status.peers.filter { !$0.isConnected }
        if self.scope == .everyone, !missing.isEmpty {
            return "Not reached in time: \(Self.names(missing)); check that \"peerd run\" runs there."
        }
        return nil
    }

    private static func names(_ peers: [PeerStatus]) -> String {
        peers.map(\.name).joined(separator: ", ")
    }
}
