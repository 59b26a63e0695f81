internal import CRDTCore

/// One operation of the log, as it is shown.
struct LogEntry: Sendable {
    var replica: ReplicaID
    var introduction: Introduction?
    var write: WriteReference
    /// What the author had seen: the last sequence of each replica, its own included.
    var context: [ReplicaID: UInt64]
    var edit: Edit
    var status: OperationStatus

    /// What each member means; also the help text of `log`.
    static let fieldHelp = """
        With --json, one operation a line, each replica's in the order of its chain, with these members:
          replica    id of the replica that wrote it (32 hex digits)
          sequence   number of its change in the replica's chain, from 1
          index      number of the operation in its change, from 0
          stamp      hybrid time of the change, 16 hex digits: 12 of milliseconds since 1970, 4 of a counter. Writes \
        are ordered by (stamp, replica, sequence, index), all compared as text or numbers
          time_ms    the milliseconds of the stamp
          context    what the author had seen: {replica: last sequence}; within its own replica also the earlier \
        operations of the same change
          kind       create, set, unset, move, delete, introduce, retire, left-out, or unknown-N
          object     id of the object, or null
          name       property name (set, unset), or null
          value      value written (set), or null; {"$bytes": hex}, {"$double": bits} and {"$blob": ...} stand for \
        what JSON cannot say
          object_type, object_kind   what was made (create)
          parent, position           the new place (move): parent id or null for the root; siblings are ordered by \
        position as bytes, then id. A position of other than printable ASCII is 0x and hex
          device_name, device, user  who opened the chain (introduce)
          retired_replica, last_sequence   what was taken back (retire)
          status     effective; superseded by one who had seen it; conflict: lost against a concurrent write; \
        without effect: a move that would close a cycle; rejected; held: stamped in the future; waiting: for changes \
        it had seen; unread: of a kind not known to this version
          effective  whether the state is computed with it: false if rejected, held or waiting
          author     id of the user; with device_name, the device
        """

    var json: JSON {
        var members: [ExactText: JSON] = [
            "replica": .string(self.replica.description),
            "sequence": .int(Int64(clamping: self.write.sequence)),
            "index": .int(Int64(self.write.index)),
            "stamp": .string(StampText.of(self.write.stamp)),
            "time_ms": .int(Int64(clamping: self.write.stamp.milliseconds)),
            "context": .object(
                Dictionary(
                    uniqueKeysWithValues: self.context.map { entry in
                        (ExactText(entry.key.description), JSON.int(Int64(clamping: entry.value)))
                    }
                )
            ),
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
        let author = PlainText.printable(self.introduction?.deviceName ?? "?")
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
        case .retire: "retire"
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
            members["position"] = .string(PositionText.of(place.position))
        case .introduce(let introduction):
            members["device"] = introduction.device.map { .string($0.description) } ?? .null
            members["user"] = .string(introduction.user.description)
        case .retire(let retirement):
            members["retired_replica"] = .string(retirement.replica.description)
            members["last_sequence"] = .int(Int64(clamping: retirement.lastSequence))
        case .delete, .unknown, .leftOut: break
        }
    }

    private var what: String {
        switch self.edit {
        case .create(let object, let type, let kind):
            "create \(object) \(PlainText.printable(kind.isEmpty ? type : "\(type)/\(kind)"))"
        case .set(let object, let name, let value):
            "set \(object) \(PlainText.printable(name)) = \(value.json.canonicalText)"
        case .unset(let object, let name): "unset \(object) \(PlainText.printable(name))"
        case .move(let object, let place): "move \(object) under \(place.parent?.description ?? "the root")"
        case .delete(let object): "delete \(object)"
        case .introduce(let introduction): "introduce \(PlainText.printable(introduction.deviceName))"
        case .retire(let retirement): "retire replica \(retirement.replica) after \(retirement.lastSequence)"
        case .unknown(let kind, _): "an operation of kind \(kind), unknown to this version"
        case .leftOut: "an operation that was left out"
        }
    }
}

/// Positions as the export writes them.
enum PositionText {
    static func of(_ position: Position) -> String {
        position.bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
            ? String(decoding: position.bytes, as: UTF8.self) : "0x" + Hexadecimal.text(position.bytes)
    }
}
