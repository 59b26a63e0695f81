internal import CRDTCore
internal import LocalAPI

/// An operation of the log as it is shown, made of its JSON.
struct LogLine {
    private let json: JSON

    init(_ json: JSON) { self.json = json }

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
          kind       create, set, unset, move, delete, introduce, restamp, undo, redo, erase, spent, branch-chain, \
        branch-create, branch-delete, branch-merge, left-out, or unknown-N
          object     id of the object, or null
          name       property name (set, unset; erase, whose earlier values are erased; spent, of which only a hash is \
        left), or null
          value      value written (set), or null; {"$bytes": hex}, {"$double": bits} and {"$blob": ...} stand for \
        values that JSON cannot express
          object_type, object_kind   type and kind of the new object (create)
          parent, position           the new place (move): parent id or null for the root; siblings are ordered by \
        position as bytes, then id. A position that is not printable ASCII is 0x and hex
          device_name, device, user  the author of the chain (introduce)
          restamped_replica, first_sequence, last_sequence, last_hash   the changes that are ordered directly after \
        what they had seen (restamp)
          target_replica, target_sequence, target_hash   the change that this one takes back or does again (undo, redo)
          status     effective; superseded by an author who had seen it; conflict: lost against a concurrent write or \
        move ("conflicts" lists those that differ from the winner); without effect: a move that would close a cycle; \
        held: stamped in the future; waiting: for changes it had seen; unread: of a kind unknown to this version
          effective  true if the state includes it; false if it is held or waiting
          author     id of the user; with device_name, the device
        """

    /// One line for people.
    var text: String {
        let time = PlainText.time(milliseconds: UInt64(clamping: self.json["time_ms"]?.integer ?? 0))
        let author = self.json["device_name"]?.text ?? "?"
        let dot = "\(self.member("replica").prefix(8)):\(self.number("sequence")).\(self.number("index"))"
        let status = self.member("status")
        return "\(dot)  \(time)  \(author)  \(self.what)\(status == "effective" ? "" : "  [\(status)]")"
    }

    private var what: String {
        let object = self.member("object")
        switch self.member("kind") {
        case "create":
            let (type, kind) = (self.member("object_type"), self.member("object_kind"))
            return "create \(object) \(kind.isEmpty ? type : "\(type)/\(kind)")"
        case "set": return "set \(object) \(self.member("name")) = \(self.json["value"]?.canonicalText ?? "")"
        case "unset": return "unset \(object) \(self.member("name"))"
        case "move": return "move \(object) under \(self.json["parent"]?.text ?? "the root")"
        case "delete": return "delete \(object)"
        case "introduce": return "introduce \(self.member("device_name"))"
        case "restamp":
            let changes = "changes \(self.number("first_sequence")) to \(self.number("last_sequence"))"
            return "restamp \(changes) of replica \(self.member("restamped_replica"))"
        case "undo", "redo":
            let target = "change \(self.number("target_sequence")) of replica \(self.member("target_replica"))"
            return "\(self.member("kind")) \(target)"
        case "erase": return "erase the earlier values of \(object) \(self.member("name"))"
        case "spent": return "a value of \(object) \(self.member("name")) that was dropped"
        case "left-out": return "an operation that was left out"
        case let kind:
            guard kind.hasPrefix("unknown-") else { return kind }
            return "an operation of kind \(kind.dropFirst("unknown-".count)), unknown to this version"
        }
    }

    private func member(_ name: String) -> String { self.json[name]?.text ?? "" }

    private func number(_ name: String) -> Int64 { self.json[name]?.integer ?? 0 }
}
