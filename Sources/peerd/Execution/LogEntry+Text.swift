internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

/// Operations of the log as they are shown.
extension LogEntry.Source {
    /// What each member means; also the help text of `log`.
    static let fieldHelp = """
        With --json, prints one operation per line, in the order of each branch, with these members:
          replica    id of the replica that wrote it (32 hex digits)
          sequence   number of its change in the replica's chain, from 1
          index      number of the operation in its change, from 0
          hash, previous   the hash of its change (64 hex digits), and that of the previous change in its chain, or \
        null. If two changes follow the same one, two machines wrote as one device; both count
          claimed_stamp    the time that the author claims: hybrid, 16 hex digits, 12 of milliseconds since 1970, 4 of \
        a counter
          stamp      the effective time: the highest of the claimed one (none if the change is restamped), and one \
        above those of the previous change and of what the author had seen. Writes are ordered by (stamp, replica, \
        sequence), compared as text or numbers, then by the first hashes of their branches, then by index. For a \
        change that is held or waiting it is the claimed one
          time_ms    the milliseconds of the stamp
          context    what the author had seen: {replica: {first 16 digits of a hash: sequence}}, and the earlier \
        changes of these chains; within its own change also the earlier operations
          kind       create, set, unset, move, delete, introduce, restamp, left-out, or unknown-N
          object     id of the object, or null
          name       property name (set, unset), or null
          value      value written (set), or null; {"$bytes": hex}, {"$double": bits} and {"$blob": ...} stand for \
        values that JSON cannot express
          object_type, object_kind   type and kind of the new object (create)
          parent, position           the new place (move): parent id or null for the root; siblings are ordered by \
        position as bytes, then id. A position that is not printable ASCII is 0x and hex
          device_name, device, user  the author of the chain (introduce)
          restamped_replica, first_sequence, last_sequence, last_hash   the changes that are ordered directly after \
        what they had seen (restamp)
          status     effective; superseded by an author who had seen it; conflict: lost against a concurrent write or \
        move ("conflicts" lists those that differ from the winner); without effect: a move that would close a cycle; \
        held: stamped in the future; waiting: for changes it had seen; unread: of a kind unknown to this version
          effective  true if the state includes it; false if it is held or waiting
          author     id of the user; with device_name, the device
        """

    var json: JSON {
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

    /// One line for people.
    var text: String {
        let time = PlainText.time(milliseconds: self.write.stamp.milliseconds)
        let author = self.introduction?.deviceName ?? "?"
        let dot = "\(self.replica.description.prefix(8)):\(self.write.sequence).\(self.write.index)"
        return
            "\(dot)  \(time)  \(author)  \(self.what)\(self.status == .effective ? "" : "  [\(self.status.rawValue)]")"
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
        case .unknown(let kind, _): "unknown-\(kind)"
        case .leftOut: "left-out"
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
        case .unset(_, let name):
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
        case .delete, .unknown, .leftOut: break
        }
    }

    private var what: String {
        switch self.edit {
        case .create(let object, let type, let kind):
            "create \(object) \(kind.isEmpty ? type : "\(type)/\(kind)")"
        case .set(let object, let name, let value):
            "set \(object) \(name) = \(value.json.canonicalText)"
        case .unset(let object, let name): "unset \(object) \(name)"
        case .move(let object, let place): "move \(object) under \(place.parent?.description ?? "the root")"
        case .delete(let object): "delete \(object)"
        case .introduce(let introduction): "introduce \(introduction.deviceName)"
        case .restamp(let restamp):
            "restamp changes \(restamp.firstSequence) to \(restamp.lastSequence) of replica \(restamp.replica)"
        case .unknown(let kind, _): "an operation of kind \(kind), unknown to this version"
        case .leftOut: "an operation that was left out"
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
