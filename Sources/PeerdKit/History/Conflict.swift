package import CRDTCore
public import Foundation

/// Writes to a property, or moves of an object, that had not seen each other.
///
/// One of them is in force, on all machines the same. The others are kept, until somebody who has seen them writes
/// again. Writes that say the same as the one in force are no conflict.
public struct Conflict: Hashable, Sendable, Codable {
    /// The object.
    public let object: ObjectID
    /// The name of the property; nil for moves.
    public let property: String?
    /// The write in force; nil if each of the moves would put the object below itself.
    public let winner: Version?
    /// The others, the last in order first.
    public let losers: [Version]

    package init(object: ObjectID, property: String?, winner: Version?, losers: [Version]) {
        self.object = object
        self.property = property
        self.winner = winner
        self.losers = losers
    }
}

extension Conflict {
    /// One write to a property, or one move of an object.
    public struct Version: Identifiable, Hashable, Sendable, Codable {
        /// What a write says.
        public enum Content: Hashable, Sendable, Codable {
            /// The property gets a value.
            case value(Value)
            /// The property is taken away.
            case removal
            /// The object goes under another; nil is the root.
            case place(ObjectID?)
        }

        /// Names the write on all machines.
        public let id: String
        /// What it says.
        public let content: Content
        /// Who wrote it.
        public let author: Author
        /// When, by the clock that counts: mostly that of the author.
        public let date: Date
        /// Where it stands in the log; nil if this was decoded.
        package private(set) var source: Source?

        /// Where a write stands in the log.
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

        /// The value; nil for anything else.
        public var value: Value? {
            if case .value(let value) = self.content { value } else { nil }
        }

        /// Whether both are the same write, with the same time.
        public static func == (left: Version, right: Version) -> Bool {
            left.id == right.id && left.date == right.date && left.content == right.content
        }

        /// Takes the id in.
        public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
    }
}

/// A move that is the last of its object and has no effect, since it would put the object below itself.
public struct MoveWithoutEffect: Hashable, Sendable, Codable {
    /// The object.
    public let object: ObjectID
    /// The move.
    public let move: Conflict.Version
}

extension Conflict.Version {
    init(
        _ reference: WriteReference,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.line(reference.line)
        switch try transaction.edit(reference) {
        case .move(_, let place): self.content = .place(place.parent)
        case .set(_, _, let value): self.content = .value(value)
        default: self.content = .removal
        }
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

extension Conflict {
    /// Nil if nobody wanted anything else than what is in force.
    private init?(
        object: ObjectID,
        property: String?,
        winner: Version?,
        others: [WriteReference],
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var losers: [Version] = []
        for other in others {
            let version = try Version(other, readBy: device, in: &transaction)
            if version.content != winner?.content { losers.append(version) }
        }
        if losers.isEmpty { return nil }
        self.init(object: object, property: property, winner: winner, losers: losers)
    }

    /// What is in conflict about a property; nil if nothing is.
    init?(
        of key: RegisterKey,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let register = try transaction.register(key), register.conflictCount > 0 else { return nil }
        let losers = try transaction.conflicts(at: key).sorted { WriteOrder.precedes($1, $0, transaction) }
        try self.init(
            object: try transaction.object(key.object).id,
            property: try transaction.name(key.name),
            winner: try Version(register.winner, readBy: device, in: &transaction),
            others: losers,
            readBy: device,
            in: &transaction
        )
    }

    /// The moves of an object that are in conflict; nil if none are.
    init?(
        movesOf object: ObjectIndex,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let open = try transaction.openMoves(of: object)
        guard open.count > 1 else { return nil }
        let winner = try transaction.moveInForce(of: object)?.write
        try self.init(
            object: try transaction.object(object).id,
            property: nil,
            winner: try winner.map { winner throws(StoreError) in
                try Version(winner, readBy: device, in: &transaction)
            },
            others: open.reversed().filter { $0 != winner },
            readBy: device,
            in: &transaction
        )
    }

    /// Whether the same writes are in conflict.
    func isSame(as other: Conflict?) -> Bool {
        other?.winner?.id == self.winner?.id && other?.losers.map(\.id) == self.losers.map(\.id)
    }
}

extension StoreTransaction {
    /// The move that an object owes its place to; nil if it was never moved.
    package mutating func moveInForce(of object: ObjectIndex) throws(StoreError) -> MoveRecord? {
        let end = WriteReference(
            stamp: Stamp(rawValue: .max),
            line: LineIndex(rawValue: 0),
            sequence: Limits.sequenceMax,
            index: 0
        )
        return try self.lastEffectiveMove(of: object, before: end)
    }
}
