package import CRDTCore
public import Foundation

/// One operation of the log.
public struct LogEntry: Identifiable, Hashable, Sendable, Codable {
    /// The kinds of operations.
    public enum Action: Hashable, Sendable, Codable {
        /// Makes the object.
        case create(type: String, kind: String)
        /// Sets a property.
        case set(name: String, to: Value)
        /// Removes a property.
        case unset(name: String)
        /// Puts the object under another; nil is the root.
        case move(under: ObjectID?)
        /// Deletes the object.
        case delete
        /// Concerns no object: a machine introduces itself, or orders what a wrong clock has stamped.
        case housekeeping
        /// Has a kind that this version does not know, or was redacted by its sender.
        case unread
    }

    /// The name of the operation on all machines.
    public let id: String
    /// The object that the operation changes; nil if it changes none.
    public let object: ObjectID?
    /// The machine that wrote it.
    public let author: Author
    /// The time of the write, by the clock that counts: mostly that of the author.
    public let date: Date
    /// The effect that the author wanted.
    public let action: Action
    /// The effect that the operation has.
    public let status: OperationStatus
    /// The operation in the words of the log; nil if the entry was decoded.
    package private(set) var source: Source?

    /// An operation with its place in the log.
    package struct Source: Sendable {
        package let replica: ReplicaID
        package let introduction: Introduction?
        /// The stamp is the effective one, as far as it is known.
        package let write: WriteReference
        /// The stamp that the author gave, and the hash of the change.
        package let header: ChangeHeader
        /// The hash of the change before it in its chain.
        package let previous: Hash256?
        /// The last changes that the author had seen of each branch of each chain, its own included.
        package let context: Set<Point>
        package let edit: Edit
        package let status: OperationStatus
    }

    private enum CodingKeys: CodingKey {
        case id, object, author, date, action, status
    }

    /// Entries are equal if they say the same of the same operation.
    public static func == (left: LogEntry, right: LogEntry) -> Bool {
        left.id == right.id && left.date == right.date && left.action == right.action && left.status == right.status
    }

    /// Takes the id in.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

extension LogEntry {
    init(_ source: Source, readBy device: DeviceID) {
        self.id = source.write.name(in: source.replica, ChangeName(source.header.hash))
        self.object = source.edit.object
        self.author = Author(source.introduction, of: device)
        self.date = Date(milliseconds: source.write.stamp.milliseconds)
        self.action =
            switch source.edit {
            case .create(_, let type, let kind): .create(type: type, kind: kind)
            case .set(_, let name, let value): .set(name: name, to: value)
            case .unset(_, let name): .unset(name: name)
            case .move(_, let place): .move(under: place.parent)
            case .delete: .delete
            case .introduce, .restamp: .housekeeping
            case .unknown, .leftOut: .unread
            }
        self.status = source.status
        self.source = source
    }
}

extension WriteReference {
    /// The name of a write on all machines.
    ///
    /// Two changes of one replica may have the same number, so that the name of the change is in it.
    func name(in replica: ReplicaID, _ change: ChangeName) -> String {
        "\(replica)-\(self.sequence)-\(self.index)-\(String(change.rawValue, radix: 16))"
    }
}

/// What became of an operation.
public enum OperationStatus: String, Hashable, Sendable, Codable {
    /// It counts and nothing has replaced it.
    case effective
    /// It counts, but someone who had seen it has written since.
    case superseded
    /// It counts, and lost against something concurrent.
    case conflict
    /// A move that would have closed a cycle.
    case withoutEffect = "without effect"
    /// Stamped too far in the future; it will count when its time has come.
    case held
    /// It had seen changes that are not here yet.
    case waiting
    /// Of a kind that this version of peerd does not know, or left out by who sent it.
    case unread

    /// Whether the operation belongs to the set that the state is a function of.
    public var isEffective: Bool {
        switch self {
        case .effective, .superseded, .conflict, .withoutEffect, .unread: true
        case .held, .waiting: false
        }
    }
}
