internal import CRDTCore
internal import Engine
internal import PeerdKit

/// What this machine holds, and anything that is wrong.
package struct StatusAnswer: Answer {
    package var workspace: String
    package var user: String
    package var device: String
    package var deviceName: String
    package var replica: String?
    package var daemon: Bool
    package var listen: String?
    package var objects: Int
    package var changes: Int
    package var replicas: Int
    package var conflicts: Int
    package var frontier: PointsAnswer
    package var peers: [PeerAnswer]
    package var addresses: [AddressAnswer]
    package var peersKnown: Int
    package var peersOnline: Int
    package var inSync: Bool
    package var waiting: [WaitAnswer]
    package var forks: [ForkAnswer]
    /// Branches that some machine has deleted that had not seen all of them.
    package var branchesKept: [BranchAnswer]
    package var waitingErasures: [WaitingErasuresAnswer]
    package var clock: Clock
    /// What another machine says of this one's removal from the workspace; nil if nothing.
    package var removed: String?
    package var storeFailure: String?
    package var storeAdvice: String?
    /// The databases as they were when their logs were found damaged, until somebody takes the files away.
    package var damagedCopies: [String]
    package var traffic: TrafficAnswer
    package var backup: BackupStatusAnswer

    package struct Clock: Answer {
        package var setBackFromMs: Int64?
        package var confirmed: Bool
    }

    /// `listen`: where other machines reach this one; nil if no daemon runs.
    init(
        _ node: NodeStatus,
        _ counts: WorkspaceCounts,
        _ branchesKept: [Branch],
        listen: NetworkAddress?,
        damagedCopies: [String],
        _ backup: BackupStatus
    ) {
        (self.workspace, self.user) = (node.workspace.description, node.user.description)
        (self.device, self.deviceName) = (node.device.description, node.deviceName)
        (self.replica, self.daemon, self.listen) = (node.replica?.description, listen != nil, listen?.description)
        (self.objects, self.changes) = (counts.objects, Int(clamping: counts.changes))
        (self.replicas, self.conflicts) = (counts.replicas, counts.conflicts)
        self.frontier = .of(node.frontier.map { ($0.replica, $0.hash.description, $0.sequence) })
        (self.peersKnown, self.peersOnline) = (node.peers.count, node.peers.count { $0.isConnected })
        (self.peers, self.inSync) = (node.peers.map { PeerAnswer($0) }, node.isInSync)
        self.addresses = node.failingAddresses.map { AddressAnswer($0) }
        (self.waiting, self.forks) = (node.waits.map { WaitAnswer($0) }, node.forks.map { ForkAnswer($0) })
        self.branchesKept = branchesKept.map { BranchAnswer($0) }
        self.waitingErasures = node.waitingErasures.map { WaitingErasuresAnswer($0) }
        let setBackFrom = node.clockSetBackFrom.map { Int64(clamping: $0.milliseconds) }
        self.clock = Clock(setBackFromMs: setBackFrom, confirmed: node.isClockConfirmed)
        self.removed = node.removal.map { RemovalSentence.told(by: $0.deviceName) }
        let failure = node.storeFailure.map { PeerdError($0) }
        (self.storeFailure, self.storeAdvice) = (failure?.message, failure?.advice)
        self.damagedCopies = damagedCopies
        (self.traffic, self.backup) = (TrafficAnswer(node.traffic), BackupStatusAnswer(backup))
    }

    /// What is known of clocks: a sentence for each one that may be wrong.
    package var clockFindings: [String] {
        let setBack = self.clock.setBackFromMs.map { ClockSentence.setBack(from: $0) }
        let differences = self.peers.compactMap { peer -> String? in
            guard let ahead = peer.clockAheadMs, ahead.isNoticeableClockDifference else { return nil }
            let difference = ClockSentence.difference(ahead, of: peer.name)
            return self.clock.confirmed
                ? "\(difference) The clock of another machine agrees with this one." : difference
        }
        return (setBack.map { [$0] } ?? []) + differences
    }
}

extension NodeStatus {
    /// Whether all machines are known to hold the same, and all of it is in force here and there.
    ///
    /// Of one that is away nobody knows what it has written; take it off the list if it is gone.
    var isInSync: Bool {
        !self.peers.isEmpty && self.waits.isEmpty
            && self.peers.allSatisfy { $0.isConnected && $0.isInSync && $0.holdsUntil == nil }
    }

    /// The changes that other machines lack, each counted for each of them; nil if nobody knows, since one is away.
    var pendingCount: Int? {
        var sum: UInt64 = 0
        for peer in self.peers {
            guard let count = peer.missingThereCount else { return nil }
            sum = sum.addingReportingOverflow(count).partialValue
        }
        return Int(clamping: sum)
    }
}

/// Changes by replica: {replica: {hash or beginning of it: sequence}}.
package typealias PointsAnswer = NamedValues<NamedValues<Int>>

extension PointsAnswer {
    static func of(_ points: [(replica: ReplicaID, hash: String, sequence: UInt64)]) -> PointsAnswer {
        NamedValues(
            Dictionary(grouping: points) { ExactText($0.replica.description) }.mapValues { points in
                let members = points.map { (ExactText($0.hash), Int(clamping: $0.sequence)) }
                return NamedValues<Int>(Dictionary(members) { first, _ in first })
            }
        )
    }
}

/// What a machine is told that was removed, in words.
package enum RemovalSentence {
    /// `device`: the machine that says so.
    package static func told(by device: String) -> String {
        """
        \(device) says that this machine was removed from the workspace: it is sent nothing any more, and what is \
        written here stays here.
        """
    }
}

/// Clocks that may be wrong, in words.
package enum ClockSentence {
    package static func setBack(from milliseconds: some BinaryInteger) -> String {
        """
        The clock of this machine has shown \(PlainText.time(milliseconds)), and shows an earlier time now. Correct \
        it. If it is right, another machine's clock will confirm it, or run "peerd restamp --clock-is-right".
        """
    }

    package static func difference(_ millisecondsAhead: Int64, of name: String) -> String {
        let direction = millisecondsAhead > 0 ? "ahead of" : "behind"
        return """
            The clock of \(name) is \(millisecondsAhead.magnitude / 1000) seconds \(direction) the one of this machine.
            """
    }
}
