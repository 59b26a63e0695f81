internal import CRDTCore
internal import Engine
internal import PeerdKit

extension SyncState {
    /// The state in which a sync has ended.
    var json: JSON {
        .object([
            "pushed": .int(Int64(self.traffic.pushedOperationCount)),
            "pulled": .int(Int64(self.traffic.pulledOperationCount)),
            "traffic": self.traffic.json,
            "in_sync": .bool(self.shortcoming == nil && self.status.waits.isEmpty && !self.isHeldThere),
            "interrupted": .bool(!self.departed.isEmpty),
            "waiting": .array(self.status.waits.map(\.json)),
            "peers": .array(self.status.peers.map(\.json)),
            "is_alone": .bool(self.isAlone),
            "shortcoming": .text(self.shortcoming),
            "store_failure": self.status.storeFailure.map { Problem(PeerdError($0)).json } ?? .null,
        ])
    }

    /// What is wrong if the sync ends now; nil if it has done what was asked.
    private var shortcoming: String? {
        if self.isAlone { return "No other machine is known; let one join with \"peerd invite\"." }
        if !self.departed.isEmpty {
            return "The connection to \(Self.names(self.departed)) ended before everything was exchanged; run it again."
        }
        if self.connected.isEmpty {
            let addresses = self.status.failingAddresses.filter { $0.failure != .unreachable }
            if !addresses.isEmpty { return addresses.map { AddressReport.sentence($0.json) }.joined(separator: " ") }
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

    /// Whether a machine that is there holds what is in force here.
    private var isHeldThere: Bool { self.connected.contains { $0.holdsUntil != nil } }

    private var isAlone: Bool {
        self.status.peers.isEmpty && !self.status.isDialling && self.status.failingAddresses.isEmpty
    }

    private static func names(_ peers: [PeerStatus]) -> String {
        peers.map(\.name).joined(separator: ", ")
    }
}
