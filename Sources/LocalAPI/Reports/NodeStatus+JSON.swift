package import CRDTCore
package import Engine
package import PeerdKit

extension NodeStatus {
    /// What this machine holds, and anything that is wrong.
    ///
    /// `listen`: where other machines reach it; nil if no daemon runs.
    package func json(_ counts: WorkspaceCounts, listen: NetworkAddress?) -> JSON {
        var members: [ExactText: JSON] = [
            "workspace": .string(self.workspace.description),
            "user": .string(self.user.description),
            "device": .string(self.device.description),
            "device_name": .string(self.deviceName),
            "replica": .text(self.replica?.description),
            "daemon": .bool(listen != nil),
            "listen": .text(listen?.description),
            "objects": .int(Int64(counts.objects)),
            "changes": .int(Int64(clamping: counts.changes)),
            "replicas": .int(Int64(counts.replicas)),
            "conflicts": .int(Int64(counts.conflicts)),
            "frontier": PointsJSON.of(self.frontier.map { ($0.replica, $0.hash.description, $0.sequence) }),
        ]
        let online = self.peers.filter(\.isConnected)
        let rest: [ExactText: JSON] = [
            "peers": .array(self.peers.map(\.json)),
            "addresses": .array(self.failingAddresses.map(\.json)),
            "peers_known": .int(Int64(self.peers.count)),
            "peers_online": .int(Int64(online.count)),
            "in_sync": .bool(self.isInSync),
            "waiting": .array(self.waits.map(\.json)),
            "forks": .array(self.forks.map(\.json)),
            "clock": .object([
                "set_back_from_ms": self.clockSetBackFrom.map { .int(Int64(clamping: $0.milliseconds)) } ?? .null,
                "confirmed": .bool(self.isClockConfirmed),
            ]),
            "store_failure": .text(self.storeFailure.map { PeerdError($0).message }),
            "store_advice": .text(self.storeFailure.map { PeerdError($0).advice }),
            "traffic": self.traffic.json,
        ]
        members.merge(rest) { first, _ in first }
        return .object(members)
    }
}

extension NodeStatus {
    /// Whether all who are there hold the same, and all of it is in force here and there.
    var isInSync: Bool {
        let online = self.peers.filter(\.isConnected)
        return !online.isEmpty && online.allSatisfy { $0.isInSync && $0.holdsUntil == nil } && self.waits.isEmpty
    }
}

extension PeerStatus {
    /// One other machine.
    package var json: JSON {
        let peer = Peer(self)
        return .object([
            "device": .string(self.device.description),
            "name": .string(self.name),
            "connected": .bool(self.isConnected),
            "address": .text(self.address?.description),
            "last_seen_ms": self.lastSeen.map { .int(Int64(clamping: $0.milliseconds)) } ?? .null,
            "clock_ahead_ms": self.clockAheadMilliseconds.map { .int($0) } ?? .null,
            "in_sync": .bool(self.isConnected && self.isInSync),
            "holds_until_ms": self.holdsUntil.map { .int(Int64(clamping: $0.milliseconds)) } ?? .null,
            "missing_there": self.missingThereCount.map { .int(Int64(clamping: $0)) } ?? .null,
            "missing_here": self.missingHereCount.map { .int(Int64(clamping: $0)) } ?? .null,
            "reason": .text(peer.reason?.word),
            "advice": .text(peer.reason?.advice),
            "traffic": self.traffic.json,
            "copies": .bool(self.hasCopies),
        ])
    }
}

extension Peer.Reason {
    fileprivate var word: String {
        switch self {
        case .notMet: "not_met"
        case .offline: "offline"
        case .comparing: "comparing"
        case .exchanging: "exchanging"
        }
    }
}

extension AddressStatus {
    /// An address that was named and leads to no machine.
    package var json: JSON {
        .object([
            "device": .null,
            "name": .null,
            "connected": .bool(false),
            "address": .string(self.address.description),
            "failure": .string(self.failure.text),
        ])
    }
}

extension AddressFailure {
    /// What follows the address in a sentence.
    package var text: String {
        switch self {
        case .unreachable: "does not answer"
        case .hungUp: "answers and hangs up: it is not a machine of this workspace, or it is busy"
        case .ourselves: "is this machine, or a copy of it: it has the same keys"
        case .notCertified: "answers with invalid certificates"
        }
    }
}

extension Traffic {
    package var json: JSON {
        .object([
            "pushed_changes": .int(Int64(self.pushedChangeCount)),
            "pushed_operations": .int(Int64(self.pushedOperationCount)),
            "pulled_changes": .int(Int64(self.pulledChangeCount)),
            "pulled_operations": .int(Int64(self.pulledOperationCount)),
            "duplicate_changes": .int(Int64(self.duplicateChangeCount)),
            "sent_bytes": .int(Int64(self.sentByteCount)),
            "received_bytes": .int(Int64(self.receivedByteCount)),
        ])
    }
}

extension ReplicaWait {
    /// Changes that are stored and not in force yet.
    package var json: JSON {
        var members: [ExactText: JSON] = [
            "replica": .string(self.replica.description),
            "device_name": .string(self.deviceName),
            "sequence": .int(Int64(clamping: self.sequence)),
            "changes": .int(Int64(clamping: self.changeCount)),
        ]
        switch self.reason {
        case .held(let until):
            members["reason"] = .string("held")
            members["until_ms"] = .int(Int64(clamping: until.milliseconds))
        case .missing(let point):
            members["reason"] = .string("missing")
            members["missing_replica"] = .string(point.replica.description)
            members["missing_sequence"] = .int(Int64(clamping: point.sequence))
        }
        return .object(members)
    }
}

extension ReplicaFork {
    package var json: JSON {
        .object([
            "replica": .string(self.replica.description),
            "device_name": .string(self.deviceName),
            "branches": .int(Int64(self.branchCount)),
        ])
    }
}

extension Diagnosis {
    /// The findings as the API shows them.
    package var json: JSON {
        .object([
            "healthy": .bool(self.isHealthy),
            "findings": .array(
                self.findings.map { finding in
                    .object([
                        "level": .string(finding.level.rawValue),
                        "subject": .string(finding.subject),
                        "detail": .string(finding.detail),
                        "advice": .text(finding.advice),
                    ])
                }
            ),
        ])
    }
}

/// Changes by replica: {replica: {hash or beginning of it: sequence}}.
package enum PointsJSON {
    package static func of(_ points: [(replica: ReplicaID, hash: String, sequence: UInt64)]) -> JSON {
        .object(
            Dictionary(grouping: points) { ExactText($0.replica.description) }.mapValues { points in
                let members = points.map { (ExactText($0.hash), JSON.int(Int64(clamping: $0.sequence))) }
                return .object(Dictionary(members) { first, _ in first })
            }
        )
    }
}
