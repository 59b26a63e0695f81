internal import CRDTCore
package import Engine

/// With whom a sync exchanges before it ends; the words are those of the local API.
package enum SyncScope: String, Hashable, Codable, Sendable {
    /// Whoever answers within a few seconds.
    case whoeverAnswers = "whoever_answers"
    /// At least one machine, waited for as long as the time limit allows.
    case anyone
    /// Every machine known.
    case everyone
}

/// The state of a sync that runs.
package struct SyncState: Sendable {
    package let status: NodeStatus
    /// The traffic since the sync began.
    package let traffic: Traffic
    package let scope: SyncScope
    /// Machines that were connected in this sync, and left before everything was exchanged.
    package let departed: [PeerStatus]
    fileprivate let elapsed: Duration

    /// Time for machines to be reached, when only those within reach are wanted.
    private static let dialPatience = Duration.seconds(3)
    /// Time for connected machines to answer, when only those within reach are wanted.
    private static let answerPatience = Duration.seconds(10)

    package var connected: [PeerStatus] { self.status.peers.filter(\.isConnected) }

    /// Returns true if nothing is left to exchange with those who are there.
    private var isExchanged: Bool { self.connected.allSatisfy { $0.isInSync && $0.hasAnswered } }

    /// Returns true if the sync may end without those who have not answered yet.
    private var isSettled: Bool {
        guard self.elapsed >= Self.dialPatience else { return false }
        if self.status.peers.isEmpty, !self.status.isDialling, !self.status.failingAddresses.isEmpty { return true }
        switch self.scope {
        case .whoeverAnswers:
            if self.connected.isEmpty { return !self.status.isDialling }
            return self.isExchanged
                || self.elapsed >= Self.answerPatience && self.connected.allSatisfy { $0.isInSync || !$0.hasAnswered }
        case .anyone: return self.isExchanged && !self.connected.isEmpty
        case .everyone: return false
        }
    }

    /// Returns true if all known machines are there and hold the same.
    private var isComplete: Bool {
        !self.connected.isEmpty && self.connected.count == self.status.peers.count && self.isExchanged
    }

    fileprivate var isDone: Bool { self.isComplete || self.isSettled }
}

/// The number of times that everyone was asked in a sync.
///
/// A peer answers behind what it has sent, but sends no more than one thing at a time that is not acknowledged: so what
/// it had written is here after a round in which nothing has come.
private struct SyncRounds: Sendable {
    private var pulledChangeCount = 0
    private var count = 1

    /// Some write all the time.
    private static let countMax = 4

    /// Returns true if something has come in the round that ends, so that there should be another one.
    mutating func wantsAnother(_ traffic: Traffic) -> Bool {
        guard self.count < Self.countMax, traffic.pulledChangeCount != self.pulledChangeCount else { return false }
        self.pulledChangeCount = traffic.pulledChangeCount
        self.count += 1
        return true
    }
}

extension NodeDriver {
    private static let syncPollInterval = Duration.milliseconds(20)

    /// Exchanges changes with the peers until nothing is missing on either side, time is up, or the store fails.
    ///
    /// `before`: the status when the sync began. `progress` is called with each state but the last, which is returned.
    package nonisolated func sync(
        _ scope: SyncScope,
        since before: NodeStatus,
        timeout: Duration,
        progress: (SyncState) async throws -> Void
    ) async throws -> SyncState {
        await self.meetEveryone()
        var rounds = SyncRounds()
        var unfinished: Set<DeviceID> = []
        let start = ContinuousClock.now
        while true {
            let elapsed = ContinuousClock.now - start
            let status = try await self.status()
            for peer in status.peers where peer.isConnected {
                if peer.isInSync { unfinished.remove(peer.device) } else { unfinished.insert(peer.device) }
            }
            let departed = status.peers.filter { !$0.isConnected && unfinished.contains($0.device) }
            let state = SyncState(
                status: status,
                traffic: status.traffic.subtracting(before.traffic),
                scope: scope,
                departed: departed,
                elapsed: elapsed
            )
            let isDone = state.isDone
            let isLast = elapsed >= timeout || state.status.storeFailure != nil
            if isLast || isDone && !rounds.wantsAnother(state.traffic) { return state }
            if isDone { await self.meetEveryone() }
            try await progress(state)
            try await Task.sleep(for: Self.syncPollInterval)
        }
    }
}

extension Traffic {
    /// What was counted since an earlier reading.
    package func subtracting(_ earlier: Traffic) -> Traffic {
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
