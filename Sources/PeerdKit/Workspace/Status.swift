internal import CRDTCore
internal import Engine
public import Foundation
internal import Persistence

/// The state of a workspace on this machine at one moment: counts, peers, and anything unusual.
public struct Status: Hashable, Sendable, Codable {
    /// A group of changes that are stored and not applied yet.
    public struct Wait: Hashable, Sendable, Codable {
        /// The reasons why changes wait.
        public enum Reason: Hashable, Sendable, Codable {
            /// The changes are stamped in the future, and are applied when that time comes.
            ///
            /// ``Workspace/restampHeldChanges(isClockRight:)`` is the way out if the clock was wrong.
            case held(until: Date)
            /// The changes build on others that have not arrived yet.
            case missingChanges
        }

        /// The name of the machine that wrote the changes.
        public let deviceName: String
        /// The number of changes.
        public let changeCount: Int
        /// The reason why they wait.
        public let reason: Reason

        package init(deviceName: String, changeCount: Int, reason: Reason) {
            self.deviceName = deviceName
            self.changeCount = changeCount
            self.reason = reason
        }
    }

    /// The id of the workspace, as hexadecimal text.
    public let workspace: String
    /// The id of this machine, as hexadecimal text.
    public let device: String
    /// The name of this machine, as other members see it.
    public let deviceName: String
    /// The number of objects, without deleted ones.
    public let objectCount: Int
    /// The number of changes in the log; each transaction on any machine is one.
    public let changeCount: Int
    /// The number of replicas that wrote them: one for each machine, and one more for each restored or copied database.
    public let replicaCount: Int
    /// The number of properties, kinds and places in conflict.
    public let conflictCount: Int
    /// The other machines of the workspace.
    public let peers: [Peer]
    /// The changes that are stored and not applied yet.
    public let waits: [Wait]
    /// The time that the clock of this machine showed before it was set back; nil if nothing is wrong with it.
    ///
    /// It becomes nil again when another machine confirms the clock.
    public let clockSetBackFrom: Date?
    /// The failure of the last write or merge; nil if it succeeded.
    public let failure: PeerdError?

    init(_ node: NodeStatus, _ counts: WorkspaceCounts) {
        self.workspace = node.workspace.description
        self.device = node.device.description
        self.deviceName = node.deviceName
        self.objectCount = counts.objects
        self.changeCount = Int(clamping: counts.changes)
        self.replicaCount = counts.replicas
        self.conflictCount = counts.conflicts
        self.peers = node.peers.map { Peer($0) }
        self.waits = node.waits.map { Wait($0) }
        self.clockSetBackFrom = node.clockSetBackFrom.map { Date(milliseconds: $0.milliseconds) }
        self.failure = node.storeFailure.map { PeerdError($0) }
    }
}

extension Status.Wait {
    init(_ wait: ReplicaWait) {
        self.deviceName = wait.deviceName
        self.changeCount = Int(clamping: wait.changeCount)
        switch wait.reason {
        case .held(let until): self.reason = .held(until: Date(milliseconds: until.milliseconds))
        case .missing: self.reason = .missingChanges
        }
    }
}

extension Workspace {
    /// Returns the state of the workspace on this machine.
    ///
    /// - Throws: ``PeerdError`` with `readOnly`, `closed`, or what a disk can refuse.
    /// - Complexity: O(*n* log *n*) in what is in conflict, and O(*m*) in the replicas and peers.
    public func status() async throws -> Status {
        Status(try await self.driver().status(), try await self.counts())
    }

    /// Applies the changes that are held because a clock of one of the user's machines was ahead.
    ///
    /// They are ordered directly after what their authors had seen. Call it when the machine with the wrong clock does
    /// not come back; if it does, it does the same by itself.
    ///
    /// - Parameter isClockRight: true if a person has checked the clock of this machine. Otherwise another machine
    ///   that is online must confirm it.
    /// - Returns: true if there were such changes.
    /// - Throws: ``PeerdError`` with `clockUnconfirmed`, or as ``write(_:)`` does.
    @discardableResult
    public func restampHeldChanges(isClockRight: Bool = false) async throws -> Bool {
        try await self.restamp(isClockRight: isClockRight).dot != nil
    }

    /// Counts what the database holds.
    package func counts() async throws -> WorkspaceCounts {
        try await self.reading { transaction in try WorkspaceCounts(in: &transaction) }
    }
}

/// The part of a status that comes from the store.
package struct WorkspaceCounts: Hashable, Sendable {
    package private(set) var objects = 0
    package private(set) var changes: UInt64 = 0
    package private(set) var replicas = 0
    package private(set) var conflicts = 0

    init(in transaction: inout some StoreTransaction) throws {
        self.objects = try transaction.visibleObjectCount()
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            self.changes += record.storedSequence - min(record.storedSequence, record.firstSequence - 1)
            if record.origin == nil, record.storedSequence > 0 { self.replicas += 1 }
        }
        for candidate in try transaction.conflictCandidates() where try transaction.object(candidate.object).isVisible {
            if try Conflict.exists(candidate, in: &transaction) { self.conflicts += 1 }
        }
    }
}
