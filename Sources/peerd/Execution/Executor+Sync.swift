internal import CRDTCore
internal import Engine
internal import PeerdKit

extension Executor {
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
        var rounds = SyncRounds(before.traffic)
        let start = ContinuousClock.now
        var nextProgress = start + Self.progressInterval
        while true {
            let status = try await self.driver.status()
            let state = SyncState(status, scope)
            let elapsed = ContinuousClock.now - start
            let isSettled = elapsed >= SyncState.dialPatience && state.isSettled
            let isDone = state.isComplete || isSettled
            if elapsed >= timeout || status.storeFailure != nil || isDone && !rounds.wantsAnother(status.traffic) {
                try await self.print(state, since: before.traffic, output)
                if let failure = status.storeFailure { throw CommandFailure(failure) }
                if let reason = state.shortcoming { throw CommandFailure(.syncIncomplete, reason) }
                return Completion()
            }
            if isDone { await self.driver.meetEveryone() }
            if ContinuousClock.now >= nextProgress {
                nextProgress = ContinuousClock.now + Self.progressInterval
                let traffic = status.traffic.subtracting(before.traffic)
                try await output.progress(
                    "pushed \(traffic.pushedOperationCount), pulled \(traffic.pulledOperationCount) operations"
                )
            }
            try await Task.sleep(for: SyncState.pollInterval)
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

extension SyncState {
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
