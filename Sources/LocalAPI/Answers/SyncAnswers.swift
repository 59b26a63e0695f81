internal import Engine
package import PeerdKit

/// The state in which a sync has ended.
package struct SyncAnswer: Answer {
    package var pushed: Int
    package var pulled: Int
    package var traffic: TrafficAnswer
    package var inSync: Bool
    package var interrupted: Bool
    package var waiting: [WaitAnswer]
    package var peers: [PeerAnswer]
    package var isAlone: Bool
    /// What is wrong if the sync ends now; nil if it has done what was asked.
    package var shortcoming: String?
    package var storeFailure: Problem?

    init(_ state: SyncState) {
        self.pushed = state.traffic.pushedOperationCount
        self.pulled = state.traffic.pulledOperationCount
        self.traffic = TrafficAnswer(state.traffic)
        (self.isAlone, self.shortcoming) = (state.status.isAlone, state.shortcoming)
        // The sync of those that answer is done as it was asked for, and others may lack everything.
        self.inSync = self.shortcoming == nil && state.status.isInSync
        self.interrupted = !state.departed.isEmpty
        self.waiting = state.status.waits.map { WaitAnswer($0) }
        self.peers = state.status.peers.map { PeerAnswer($0) }
        self.storeFailure = state.status.storeFailure.map { Problem(PeerdError($0)) }
    }
}

extension SyncState {
    /// What is wrong if the sync ends now; nil if it has done what was asked.
    fileprivate var shortcoming: String? {
        if self.status.isAlone { return "No other machine is known; let one join with \"peerd invite\"." }
        if !self.departed.isEmpty {
            return "The connection to \(Self.names(self.departed)) ended before everything was exchanged; run it again."
        }
        if self.connected.isEmpty {
            let addresses = self.status.failingAddresses.filter { $0.failure != .unreachable }
            if !addresses.isEmpty { return addresses.map { AddressAnswer($0).sentence }.joined(separator: " ") }
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

extension NodeStatus {
    /// Whether no other machine is known, and none is looked for.
    var isAlone: Bool { self.peers.isEmpty && !self.isDialling && self.failingAddresses.isEmpty }
}

/// The findings of a check.
package struct DiagnosisAnswer: Answer {
    package var healthy: Bool
    package var findings: [Finding]

    package struct Finding: Answer {
        package var level: Word<Level>
        package var subject: String
        package var detail: String
        package var advice: String?
    }

    package enum Level: String, CaseIterable, Sendable {
        case ok, warning, problem
    }

    package init(_ diagnosis: Diagnosis) {
        self.healthy = diagnosis.isHealthy
        self.findings = diagnosis.findings.map {
            let level = Word<Level>(rawValue: $0.level.rawValue)
            return Finding(level: level, subject: $0.subject, detail: $0.detail, advice: $0.advice)
        }
    }

    /// Adds what only a command can find.
    package mutating func addProblem(_ subject: String, _ detail: String) {
        let level = Word<Level>(rawValue: Level.problem.rawValue)
        self.findings.append(Finding(level: level, subject: subject, detail: detail, advice: nil))
        self.healthy = false
    }
}
