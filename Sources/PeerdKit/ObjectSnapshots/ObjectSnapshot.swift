public import CRDTCore
public import Foundation
internal import Persistence

/// A snapshot of an object: the object, and everything visible below it, as they were at one moment.
///
/// Snapshots belong to the database of this machine. The other machines do not get them;
/// ``Workspace/exportSnapshot(_:)`` and ``Workspace/importSnapshot(from:)`` carry them.
public struct ObjectSnapshot: Hashable, Sendable, Codable, Identifiable {
    /// The id of a snapshot, a hash of its content: on every machine, equal snapshots have equal ids.
    public struct ID: Hashable, Sendable, Codable, CustomStringConvertible {
        let value: ObjectID

        init(_ value: ObjectID) { self.value = value }

        /// Reads the text of an id: a UUID; nil for anything else.
        public init?(text: String) {
            guard let value = ObjectID(text: text) else { return nil }
            self.value = value
        }

        /// The text of the id: a UUID in lower case.
        public var description: String { self.value.description }
    }

    /// The id.
    public let id: ID
    /// The object at its top.
    public let object: ObjectID
    /// A name that somebody gave it; nil if nobody did.
    public let name: String?
    /// The time of the moment that it shows.
    public let date: Date
    /// The number of objects in it.
    public let objectCount: Int
    /// The length of its content.
    public let byteCount: Int

    init(_ record: SnapshotRecord) {
        self.id = ID(record.id)
        self.object = record.object
        self.name = record.name
        self.date = Date(timeIntervalSince1970: Double(record.time) / 1000)
        self.objectCount = record.objectCount
        self.byteCount = record.byteCount
    }

    /// The most bytes of a snapshot.
    package static let byteCountMax = 32 << 20
}

/// The changes that a restore of a snapshot wrote.
public struct SnapshotRestoration: Hashable, Sendable, Codable {
    /// The number of objects that were gone, and exist again.
    public internal(set) var createdCount = 0
    /// The number of objects that existed, and got other properties.
    public internal(set) var changedCount = 0
    /// The number of objects that existed, and got another place.
    public internal(set) var movedCount = 0
    /// The number of transactions that were written; 0 if everything was as in the snapshot.
    public internal(set) var transactionCount = 0
    /// The parent that the object at the top had, if the object could not be put there again.
    ///
    /// It is gone, or below the object now. The object stays where it is; if it was gone, it is at the root.
    public internal(set) var missingParent: ObjectID?
    /// The number of properties that stay as they are, whatever they are.
    ///
    /// When the snapshot was taken, their values had not come to the machine.
    public internal(set) var missingPropertyCount = 0

    init() {}
}
