package import CRDTCore
public import Foundation

/// An operation of the log: one edit of one object, by one machine.
public struct LogEntry: Identifiable, Hashable, Sendable, Codable {
    /// The kinds of operations.
    public enum Action: Hashable, Sendable, Codable {
        /// Creates the object.
        case create(type: String, kind: String)
        /// Sets a property.
        case set(name: String, to: Value)
        /// Removes a property.
        case unset(name: String)
        /// Puts the object under another; nil is the root.
        case move(under: ObjectID?)
        /// Deletes the object.
        case delete
        /// Changes no object: introduces a machine, restamps changes of a wrong clock, says that its transaction takes
        /// back another one, erases the past of a property, is about a branch, or names the program and the action.
        case housekeeping
        /// Has a kind that this version does not know, or only its hash is here.
        case unread
    }

    /// The id of the operation, which is the same on all machines.
    public let id: String
    /// The object that the operation changes; nil if it changes none.
    public let object: ObjectID?
    /// The machine that wrote it.
    public let author: Author
    /// The time of the operation that decides the order: that of the author's clock, unless that clock was wrong.
    public let date: Date
    /// The edit that the author made.
    public let action: Action
    /// The effect that the operation has on the state now.
    public private(set) var status: OperationStatus
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
        /// The last changes that the author had seen of each fork of each chain, its own included.
        package let context: Set<Point>
        package let edit: Edit
        package let status: OperationStatus
    }

    /// The same of a circle that the object does not show in: there it is in force, and does not show.
    func elsewhere() -> LogEntry {
        var entry = self
        switch entry.action {
        case .set, .unset, .move: if entry.status == .effective { entry.status = .superseded }
        case .create, .delete, .housekeeping, .unread: break
        }
        return entry
    }

    private enum CodingKeys: CodingKey {
        case id, object, author, date, action, status
    }

    /// Compares the id, the time, the action and the status.
    public static func == (left: LogEntry, right: LogEntry) -> Bool {
        left.id == right.id && left.date == right.date && left.action == right.action && left.status == right.status
    }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

extension LogEntry {
    init(_ source: Source, readBy device: DeviceID) {
        self.init(
            id: source.write.name(in: source.replica, ChangeName(source.header.hash)),
            edit: source.edit,
            author: Author(source.introduction, of: device),
            stamp: source.write.stamp,
            status: source.status
        )
        self.source = source
    }

    init(id: String, edit: Edit, author: Author, stamp: Stamp, status: OperationStatus) {
        self.id = id
        self.object = edit.object
        self.author = author
        self.date = Date(milliseconds: stamp.milliseconds)
        self.action = Action(edit)
        self.status = status
        self.source = nil
    }
}

extension LogEntry.Action {
    /// The effect that an operation asks for.
    package init(_ edit: Edit) {
        self =
            switch edit {
            case .create(_, let type, let kind): .create(type: type, kind: kind)
            case .set(_, let name, let value): .set(name: name, to: value)
            case .unset(_, let name): .unset(name: name)
            case .move(_, let place): .move(under: place.parent)
            case .delete: .delete
            case .introduce, .restamp, .undo, .branch, .erase, .action, .rights: .housekeeping
            case .unknown, .redacted: .unread
            }
    }
}

extension WriteReference {
    /// The name of a write on all machines.
    ///
    /// Two changes of one replica may have the same number, so that the name of the change is in it.
    package func name(in replica: ReplicaID, _ change: ChangeName) -> String {
        "\(replica)-\(self.sequence)-\(self.index)-\(String(change.rawValue, radix: 16))"
    }
}

/// The effect of an operation on the state.
public enum OperationStatus: String, Hashable, Sendable, Codable {
    /// The operation is in force.
    case effective
    /// A later operation replaced it, by an author that had seen it.
    case superseded
    /// The operation lost against a concurrent one, which may say the same, and no later operation has seen it yet.
    case conflict
    /// The operation is a move that would have closed a cycle.
    case withoutEffect = "without effect"
    /// The author had no right to do that, so it counts nowhere.
    case rejected
    /// The operation is on a branch, and the main timeline has not taken it in.
    case unmerged
    /// The operation is stamped too far in the future, and is applied when that time comes.
    case held
    /// The operation builds on changes that have not arrived yet.
    case waiting
    /// The operation has a kind that this version of peerd does not know, or only its hash is here.
    case unread

    /// Tells whether the operation belongs to the set from which the state is computed.
    public var isEffective: Bool {
        switch self {
        case .effective, .superseded, .conflict, .withoutEffect, .unread: true
        case .rejected, .unmerged, .held, .waiting: false
        }
    }
}
