internal import CRDTCore
internal import Engine
public import Foundation
internal import Persistence

/// How a workspace stands on this machine at one moment.
public struct Status: Hashable, Sendable, Codable {
    /// Changes that are stored and not applied yet.
    public struct Wait: Hashable, Sendable, Codable {
        /// What they wait for.
        public enum Reason: Hashable, Sendable, Codable {
            /// They are stamped in the future, and count from then on; `restampHeldChanges` is the way out if the clock
            /// was wrong.
            case held(until: Date)
            /// They were made on changes that no machine has brought here yet.
            case missingChanges
        }

        /// The machine that wrote them.
        public let deviceName: String
        /// How many they are.
        public let changeCount: Int
        /// What they wait for.
        public let reason: Reason
    }

    /// Names the workspace.
    public let workspace: String
    /// Names this machine.
    public let device: String
    /// How other members see it.
    public let deviceName: String
    /// Objects that are there.
    public let objectCount: Int
    /// Changes that are stored.
    public let changeCount: Int
    /// Databases that they were written in: a restored or copied one goes on as another.
    public let replicaCount: Int
    /// Properties and places that are in conflict.
    public let conflictCount: Int
    /// The other machines.
    public let peers: [Peer]
    /// What is stored and not applied yet.
    public let waits: [Wait]
    /// What the clock of this machine has shown, if it was set back since and nothing says that it is right now.
    public let clockSetBackFrom: Date?
    /// Why the last write or merge failed; nil if it did not.
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
    /// How the workspace stands now.
    public func status() async throws -> Status {
        Status(try await self.driver().status(), try await self.counts())
    }

    /// Brings in what is held because a clock was wrong: it is ordered directly after what its authors had seen.
    ///
    /// - Parameter isClockRight: whether somebody has looked and knows that the clock of this machine is right; else
    ///   another machine that is online must say so.
    /// - Returns: whether there was something to bring in.
    /// - Throws: ``PeerdError`` with `clockUnconfirmed`, or as ``write(_:)`` does.
    @discardableResult
    public func restampHeldChanges(isClockRight: Bool = false) async throws -> Bool {
        let written = try await self.driver().restamp(isClockRight: isClockRight)
        return try written.mapError { PeerdError($0) }.get().dot != nil
    }

    /// What the database says of itself.
    package func counts() async throws -> WorkspaceCounts {
        let device = self.identity.device
        return try await self.reading { transaction in try WorkspaceCounts(readBy: device, in: &transaction) }
    }
}

/// What the store's side of a status says.
package struct WorkspaceCounts: Hashable, Sendable {
    package private(set) var objects = 0
    package private(set) var changes: UInt64 = 0
    package private(set) var replicas = 0
    package private(set) var conflicts = 0

    init(readBy device: DeviceID, in transaction: inout some StoreTransaction) throws {
        self.objects = try transaction.visibleObjectCount()
        for position in 0..<transaction.lineCount {
            let record = transaction.line(LineIndex(rawValue: UInt32(position)))
            self.changes += record.storedSequence - min(record.storedSequence, record.firstSequence - 1)
            if record.origin == nil, record.storedSequence > 0 { self.replicas += 1 }
        }
        for (key, _) in try transaction.conflictedRegisters() where try transaction.object(key.object).isVisible {
            if try Conflict(of: key, readBy: device, in: &transaction) != nil { self.conflicts += 1 }
        }
        for object in try transaction.objectsWithOpenMoves() where try transaction.object(object).isVisible {
            if try Conflict(movesOf: object, readBy: device, in: &transaction) != nil { self.conflicts += 1 }
        }
    }
}
