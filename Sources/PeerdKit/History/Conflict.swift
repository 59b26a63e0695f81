package import CRDTCore
public import Foundation

/// Concurrent writes to one property, or concurrent moves or creations of one object.
///
/// One of them is in force, the same on all machines. The others are kept until a machine that has seen them writes
/// again. What somebody wrote to an object without knowing that it was moved into or out of a share is among them, too.
/// Writes with the same content as the one in force are not in conflict with it. A conflict of creations lasts
/// as long as the object, because its type and its kind cannot be changed.
public struct Conflict: Hashable, Sendable, Codable {
    /// The id of the object.
    public let object: ObjectID
    /// The part of the object that the writes are about.
    public let subject: Subject
    /// The version in force; nil if each of the moves would put the object below itself, or if all was written where
    /// the object was before it was shared.
    public let winner: Version?
    /// The other versions, the latest first.
    public let losers: [Version]

    /// The name of the property; nil for moves and creations.
    public var property: String? {
        if case .property(let name) = self.subject { name } else { nil }
    }

    /// The parts of an object that can be in conflict.
    public enum Subject: Hashable, Sendable, Codable {
        /// The property with this name.
        case property(String)
        /// The type and the kind.
        case creation
        /// The place in the tree.
        case place
    }

    package init(object: ObjectID, subject: Subject, winner: Version?, losers: [Version]) {
        self.object = object
        self.subject = subject
        self.winner = winner
        self.losers = losers
    }
}

extension Conflict {
    /// A write to a property, or a move of an object.
    public struct Version: Identifiable, Hashable, Sendable, Codable {
        /// The contents that a version can have.
        public enum Content: Hashable, Sendable, Codable {
            /// The write sets the property to this value.
            case value(Value)
            /// The write removes the property.
            case removal
            /// The move puts the object under this parent; nil is the root.
            case place(ObjectID?)
            /// The creation gives the object this type and this kind.
            case creation(type: String, kind: String)
        }

        /// The id of the write, which is the same on all machines.
        public let id: String
        /// The content of the write.
        public let content: Content
        /// The machine that wrote it.
        public let author: Author
        /// The time of the write that decides the order: that of the author's clock, unless that clock was wrong.
        public let date: Date
        /// The place in the log; nil if this was decoded.
        package private(set) var source: Source?

        /// The place of a write in the log.
        package struct Source: Sendable {
            package let user: UserID?
            package let stamp: Stamp
            package let replica: ReplicaID
            package let sequence: UInt64
            package let index: UInt32
        }

        private enum CodingKeys: CodingKey {
            case id, content, author, date
        }

        /// The value of the content; nil for anything but a value.
        public var value: Value? {
            if case .value(let value) = self.content { value } else { nil }
        }

        /// Compares the id, the time and the content.
        public static func == (left: Version, right: Version) -> Bool {
            left.id == right.id && left.date == right.date && left.content == right.content
        }

        /// Hashes the id.
        public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
    }
}

/// A move that is the last of its object, and has no effect because it would put the object below itself.
public struct MoveWithoutEffect: Hashable, Sendable, Codable {
    /// The id of the object.
    public let object: ObjectID
    /// The move without effect.
    public let move: Conflict.Version

    package init(object: ObjectID, move: Conflict.Version) {
        self.object = object
        self.move = move
    }
}

extension Conflict.Version {
    package init(
        _ reference: WriteReference,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.segment(reference.segment)
        self.content = Content(try transaction.edit(reference))
        self.author = Author(record.introduction, of: device)
        self.date = Date(milliseconds: reference.stamp.milliseconds)
        self.id = reference.name(in: record.id, ChangeName(try transaction.hash(at: reference.point) ?? .zero))
        self.source = Source(
            user: record.introduction?.user,
            stamp: reference.stamp,
            replica: record.id,
            sequence: reference.sequence,
            index: reference.index
        )
    }
}

extension Conflict.Version.Content {
    /// The content of a write to a property, of a move, or of a creation.
    init(_ edit: Edit?) {
        switch edit {
        case .move(_, let place): self = .place(place.parent)
        case .set(_, _, let value): self = .value(value)
        case .create(_, let type, let kind): self = .creation(type: type, kind: kind)
        default: self = .removal
        }
    }
}

extension Conflict {
    /// Returns true if one of the versions says something else than the one in force.
    ///
    /// - Complexity: O(1) for most conflicts: reading ends at the first write that differs.
    static func exists(
        _ candidate: ConflictCandidate,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let (winner, others) = try transaction.versions(of: candidate) else { return false }
        guard let winner else { return !others.isEmpty }
        let content = Version.Content(try transaction.edit(winner))
        for other in others where Version.Content(try transaction.edit(other)) != content { return true }
        return false
    }

    /// Reads a conflict; nil if no other version differs from the one in force.
    package init?(
        _ candidate: ConflictCandidate,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let versions = try transaction.versions(of: candidate) else { return nil }
        let winner = try versions.winner.map { winner throws(StoreError) in
            try Version(winner, readBy: device, in: &transaction)
        }
        var losers: [Version] = []
        for other in versions.others.sorted(by: { WriteOrder.precedes($1, $0, transaction) }) {
            let version = try Version(other, readBy: device, in: &transaction)
            if version.content != winner?.content { losers.append(version) }
        }
        if losers.isEmpty { return nil }
        let object = try transaction.object(candidate.object).id
        self.init(object: object, subject: try candidate.subject(in: &transaction), winner: winner, losers: losers)
    }

    /// Tells whether the same writes are in conflict.
    func isSame(as other: Conflict?) -> Bool {
        other?.winner?.id == self.winner?.id && other?.losers.map(\.id) == self.losers.map(\.id)
    }
}
