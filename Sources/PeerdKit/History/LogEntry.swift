package import CRDTCore
public import Foundation

/// One operation of the log.
public struct LogEntry: Sendable {
    /// What an operation does.
    public enum Action: Hashable, Sendable, Codable {
        /// Makes the object.
        case create(type: String, kind: String)
        /// Sets a property.
        case set(name: String, to: Value)
        /// Takes a property away.
        case unset(name: String)
        /// Puts the object under another; nil is the root.
        case move(under: ObjectID?)
        /// Deletes the object.
        case delete
        /// Concerns no object: a machine introduces itself, or orders what a wrong clock has stamped.
        case housekeeping
        /// Of a kind that this version does not know, or left out by who sent it.
        case unread
    }

    package let replica: ReplicaID
    package let introduction: Introduction?
    /// Who wrote it.
    public let author: Author
    /// The stamp is the effective one, as far as it is known.
    package let write: WriteReference
    /// The stamp that the author gave, and the hash of the change.
    package let header: ChangeHeader
    /// The hash of the change before it in its chain.
    package let previous: Hash256?
    /// What the author had seen: the last change of each branch of each chain, its own included.
    package let context: Set<Point>
    package let edit: Edit
    /// What became of it.
    public let status: OperationStatus

    /// The object that it is about; nil if it is about none.
    public var object: ObjectID? { self.edit.object }

    /// When it was written, by the clock that counts: mostly that of the author.
    public var date: Date { Date(milliseconds: self.write.stamp.milliseconds) }

    /// What it does.
    public var action: Action {
        switch self.edit {
        case .create(_, let type, let kind): .create(type: type, kind: kind)
        case .set(_, let name, let value): .set(name: name, to: value)
        case .unset(_, let name): .unset(name: name)
        case .move(_, let place): .move(under: place.parent)
        case .delete: .delete
        case .introduce, .restamp: .housekeeping
        case .unknown, .leftOut: .unread
        }
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
