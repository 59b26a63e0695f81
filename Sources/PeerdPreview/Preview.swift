public import Foundation
public import PeerdKit

/// The outcome of bringing devices together, computed from their data directories, which stay as they are.
///
/// The devices sync on private copies in virtual time, by the code that syncs real ones. All orders in which two
/// devices at a time can sync are tried, or a number of them.
public struct Preview: Hashable, Sendable, Codable {
    /// A summary of the answer.
    public enum Verdict: String, Hashable, Sendable, Codable {
        /// All devices end the same, and nothing needs a decision.
        case same
        /// All devices end the same, and there are conflicts or other things to look at.
        case conflicts
        /// Some devices would differ, or cannot reach the same state.
        case diverges
    }

    /// The devices, in the order of their directories.
    public let devices: [Device]
    /// The link over which the transfers were measured.
    public let link: Link
    /// The first sync of each two devices.
    public let transfers: [Transfer]
    /// The orders that were tried.
    public let orders: Orders
    /// The state that all devices reach; nil if no order brought all of them to one state.
    public let outcome: Outcome?

    /// A summary of the answer.
    public var verdict: Verdict {
        guard let outcome = self.outcome, self.orders.areAllEqual else { return .diverges }
        return outcome.needsAttention ? .conflicts : .same
    }
}

extension Preview {
    /// A device with its data directory, before any sync.
    public struct Device: Identifiable, Hashable, Sendable, Codable {
        /// The name of the device on all machines.
        public let id: String
        /// The name that other members see.
        public let name: String
        /// The data directory.
        public let directory: URL
        /// The number of objects that the device shows now.
        public let objectCount: Int
        /// The changes that the device does not have yet; nil if no order brought all devices to one state.
        public let missing: Missing?
    }

    /// The changes that a device does not have yet.
    public struct Missing: Hashable, Sendable, Codable {
        /// The number of changes.
        public internal(set) var changeCount = 0
        /// The number of operations in them.
        public internal(set) var operationCount = 0
        /// The number of writes and removals of each property, by its name.
        public internal(set) var writeCounts: [String: Int] = [:]
        /// The number of objects that the operations make.
        public internal(set) var creationCount = 0
        /// The number of moves.
        public internal(set) var moveCount = 0
        /// The number of deletions.
        public internal(set) var deletionCount = 0
        /// The number of objects that the operations concern.
        public internal(set) var objectCount = 0
        /// The objects with the most operations, those with more first; at most twenty.
        public internal(set) var mostChanged: [ChangedObject] = []
        /// The number of objects that the device shows now and will not show any more.
        public internal(set) var vanishingObjectCount = 0
    }

    /// An object with the number of operations on it.
    public struct ChangedObject: Hashable, Sendable, Codable {
        /// The object.
        public let object: ObjectID
        /// The number of operations.
        public let operationCount: Int
    }

    /// Two devices, by their ids.
    public struct Pair: Hashable, Sendable, Codable {
        /// The device whose directory comes first.
        public let first: Device.ID
        /// The other device.
        public let second: Device.ID
    }

    /// The first sync of two devices.
    public struct Transfer: Hashable, Sendable, Codable {
        /// The ways in which a sync can end.
        public enum Ending: Hashable, Sendable, Codable {
            /// Both devices hold the same.
            case equal
            /// One device does not know the other one yet, and refuses it.
            case strangers
            /// The devices did not become equal, for the reason given.
            case unequal(String)
        }

        /// The two devices.
        public let devices: Pair
        /// The number of bytes that the first device sends.
        public let byteCountFromFirst: Int
        /// The number of bytes that the second device sends.
        public let byteCountFromSecond: Int
        /// The time from the connection until both are equal.
        public let duration: Duration
        /// The end of the sync.
        public let ending: Ending
    }

    /// The orders in which the devices synced, two at a time, until all held the same.
    public struct Orders: Hashable, Sendable, Codable {
        /// An order that ends in another way than the first one.
        public struct Deviation: Hashable, Sendable, Codable {
            /// The syncs, the first one first.
            public let order: [Pair]
            /// The difference, as a part of a sentence.
            public let detail: String
        }

        /// The number of orders.
        public internal(set) var count = 0
        /// The number of syncs in all of them; orders that begin alike share their beginning.
        public internal(set) var syncCount = 0
        /// The seed from which the orders were drawn; nil if all possible orders were tried.
        public internal(set) var seed: UInt64?
        /// The orders that end in another way than the first one.
        public internal(set) var deviations: [Deviation] = []

        /// Returns true if all orders end in the same state.
        public var areAllEqual: Bool { self.deviations.isEmpty }
    }
}

extension Preview {
    /// The state that all devices reach, as far as it is news to one of them.
    public struct Outcome: Hashable, Sendable, Codable {
        /// The number of objects that every device shows then.
        public internal(set) var objectCount = 0
        /// The conflicts that no device knows yet, by object and property.
        public internal(set) var conflicts: [Conflict] = []
        /// The number of conflicts that a device knows already.
        public internal(set) var knownConflictCount = 0
        /// The moves that have an effect on a device now and lose it, since they would close a cycle.
        public internal(set) var movesUndone: [MoveWithoutEffect] = []
        /// The objects that come back although a device has deleted them.
        public internal(set) var revivals: [Revival] = []
        /// The changes that are stored and not applied, also then.
        public internal(set) var waits: [Status.Wait] = []
        /// The number of references to media, which no device carries yet.
        public internal(set) var blobReferenceCount = 0
        /// Every object that this preview names, in its final state, by id.
        public internal(set) var objects: [Object] = []

        /// Returns true if somebody should look at the result of the merge.
        public var needsAttention: Bool {
            !self.conflicts.isEmpty || !self.movesUndone.isEmpty || !self.revivals.isEmpty || !self.waits.isEmpty
        }

        /// Returns an object that this preview names, in its final state.
        ///
        /// - Complexity: O(*n*) in ``objects``.
        public func object(_ id: ObjectID) -> Object? { self.objects.first { $0.id == id } }
    }

    /// An object that comes back although a device has deleted it.
    public struct Revival: Hashable, Sendable, Codable {
        /// The object.
        public let object: ObjectID
        /// The devices on which it is deleted now.
        public let deletedOn: [Device.ID]
        /// The last deletion that some device does not have yet.
        public let deletion: Write?
        /// The write by another device that keeps the object; nil if an object below it keeps it.
        public let edit: Write?
    }

    /// One operation with its author.
    public struct Write: Hashable, Sendable, Codable {
        /// The device that wrote it.
        public let author: Author
        /// The time of the write, by the clock of its author.
        public let date: Date
        /// The effect that the author wanted.
        public let action: LogEntry.Action
    }
}
