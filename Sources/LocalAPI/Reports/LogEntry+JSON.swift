package import CRDTCore
internal import Engine
package import PeerdKit

/// Operations of the log with all that is stored of them.
extension LogEntry.Source {
    package var json: JSON {
        var members: [ExactText: JSON] = [
            "replica": .string(self.replica.description),
            "sequence": .int(Int64(clamping: self.write.sequence)),
            "index": .int(Int64(self.write.index)),
            "hash": .string(self.header.hash.description),
            "previous": self.previous.map { .string($0.description) } ?? .null,
            "claimed_stamp": .string(StampText.of(self.header.stamp)),
            "stamp": .string(StampText.of(self.write.stamp)),
            "time_ms": .int(Int64(clamping: self.write.stamp.milliseconds)),
            "context": PointsJSON.of(self.context.map { ($0.replica, NameText.of($0.name), $0.sequence) }),
            "kind": .string(self.kindWord),
            "object": self.edit.object.map { .string($0.description) } ?? .null,
            "name": .null,
            "value": .null,
            "status": .string(self.status.rawValue),
            "effective": .bool(self.status.isEffective),
            "author": self.introduction.map { .string($0.user.description) } ?? .null,
            "device_name": self.introduction.map { .string($0.deviceName) } ?? .null,
        ]
        self.addParticulars(to: &members)
        return .object(members)
    }

    private var kindWord: String {
        switch self.edit {
        case .create: "create"
        case .set: "set"
        case .unset: "unset"
        case .move: "move"
        case .delete: "delete"
        case .introduce: "introduce"
        case .restamp: "restamp"
        case .undo(let reversal): reversal.isRedo ? "redo" : "undo"
        case .timeline(let statement): statement.word
        case .erase: "erase"
        case .unknown(let kind, _): "unknown-\(kind)"
        case .leftOut: "left-out"
        case .spent: "spent"
        }
    }

    private func addParticulars(to members: inout [ExactText: JSON]) {
        switch self.edit {
        case .create(_, let type, let kind):
            members["object_type"] = .string(type)
            members["object_kind"] = .string(kind)
        case .set(_, let name, let value):
            members["name"] = .string(name)
            members["value"] = value.json
        case .unset(_, let name), .spent(_, let name, _):
            members["name"] = .string(name)
        case .move(_, let place):
            members["parent"] = place.parent.map { .string($0.description) } ?? .null
            members["position"] = .string(StateExport.text(of: place.position))
        case .introduce(let introduction):
            members["device"] = introduction.device.map { .string($0.description) } ?? .null
            members["user"] = .string(introduction.user.description)
        case .restamp(let restamp):
            members["restamped_replica"] = .string(restamp.replica.description)
            members["first_sequence"] = .int(Int64(clamping: restamp.firstSequence))
            members["last_sequence"] = .int(Int64(clamping: restamp.lastSequence))
            members["last_hash"] = .string(restamp.lastHash.description)
        case .undo(let reversal):
            members["target_replica"] = .string(reversal.replica.description)
            members["target_sequence"] = .int(Int64(clamping: reversal.sequence))
            members["target_hash"] = .string(reversal.hash.description)
        case .timeline(let statement):
            members["branch"] = .string(statement.timeline.description)
            if case .opens(let opening) = statement { members["name"] = .string(opening.name) }
        case .erase(let erasure):
            members["object"] = .string(erasure.object.description)
            members["name"] = .string(erasure.name)
        case .delete, .unknown, .leftOut: break
        }
    }
}

/// Names of changes as the text that their hashes begin with.
enum NameText {
    static func of(_ name: ChangeName) -> String {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(name.rawValue)
        return Hexadecimal.text(bytes)
    }
}

/// Stamps as text that sorts as they do: sixteen hexadecimal digits.
package enum StampText {
    package static func of(_ stamp: Stamp) -> String {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(stamp.rawValue)
        return Hexadecimal.text(bytes)
    }
}

extension TimelineStatement {
    /// The branch that it is about.
    fileprivate var timeline: TimelineID {
        switch self {
        case .belongs(let id), .closes(let id), .merges(let id): id
        case .opens(let opening): opening.id
        }
    }

    /// Its kind in the words of the log.
    fileprivate var word: String {
        switch self {
        case .belongs: "branch-chain"
        case .opens: "branch-create"
        case .closes: "branch-delete"
        case .merges: "branch-merge"
        }
    }
}
