package import Engine

/// With whom a sync exchanges before it ends.
package enum SyncScope: String, Hashable, Codable, Sendable {
    /// Whoever answers within a few seconds.
    case whoeverAnswers
    /// At least one machine, waited for as long as the time limit allows.
    case anyone
    /// Every machine known.
    case everyone
}

/// How far a sync has come.
package struct SyncState: Sendable {
    package let status: NodeStatus
    package let scope: SyncScope

    package init(_ status: NodeStatus, _ scope: SyncScope) {
        self.status = status
        self.scope = scope
    }

    /// How long machines that do not answer are waited for when only those within reach are wanted.
    package static let dialPatience = Duration.seconds(3)
    /// How often a sync is looked at.
    package static let pollInterval = Duration.milliseconds(20)

    package var connected: [PeerStatus] { self.status.peers.filter(\.isConnected) }

    /// Whether nothing is left to exchange with those who are there.
    private var isExchanged: Bool { self.connected.allSatisfy { $0.isInSync && $0.hasAnswered } }

    /// Whether the sync may end without those who have not answered yet.
    package var isSettled: Bool {
        if self.status.peers.isEmpty, !self.status.isDialling, !self.status.failingAddresses.isEmpty { return true }
        switch self.scope {
        case .whoeverAnswers: return self.isExchanged && !(self.connected.isEmpty && self.status.isDialling)
        case .anyone: return self.isExchanged && !self.connected.isEmpty
        case .everyone: return false
        }
    }

    /// Whether all known machines are there and hold the same.
    package var isComplete: Bool {
        !self.connected.isEmpty && self.connected.count == self.status.peers.count && self.isExchanged
    }
}

/// How often everyone was asked in a sync.
///
/// A peer answers behind what it has sent, but sends no more than one thing at a time that is not acknowledged: so what
/// it had written is here after a round in which nothing has come.
package struct SyncRounds: Sendable {
    private var pulledChangeCount: Int
    private var count = 1

    /// Some write all the time.
    private static let countMax = 4

    /// `traffic`: that before the first round.
    package init(_ traffic: Traffic) { self.pulledChangeCount = traffic.pulledChangeCount }

    /// Whether something has come in the round that ends, so that there should be another one.
    package mutating func wantsAnother(_ traffic: Traffic) -> Bool {
        guard self.count < Self.countMax, traffic.pulledChangeCount != self.pulledChangeCount else { return false }
        self.pulledChangeCount = traffic.pulledChangeCount
        self.count += 1
        return true
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
