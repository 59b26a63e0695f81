internal import LocalAPI

extension LogEntryAnswer {
    /// What each member means; also the help text of `log`.
    static let fieldHelp = """
        With --json, prints one operation per line, in the order of the chains, as /api/openapi.json describes it:
          id         the same on all machines
          author     the machine that wrote it: {name, is_this_machine}
          time_ms    the milliseconds of the stamp
          object     id of the object; missing for what changes none
          action     one of create: {type, kind}, set: {name, value}, unset: {name}, move: {parent}, with null for the \
        root, delete: true, and other: true; {"$bytes": hex}, {"$double": bits} and {"$blob": ...} stand for values \
        that JSON cannot express
          status     effective; superseded by an author who had seen it; conflict: lost against a concurrent write or \
        move ("conflicts" lists those that differ from the winner); without_effect: a move that would close a cycle; \
        held: stamped in the future; waiting: for changes it had seen; unmerged: on a branch, and not merged into \
        the main timeline; unread: of a kind unknown to this version; rejected: its author had no right to do that \
        ("rejected" lists why). What is held, waiting, unmerged or rejected is no part of the state
          stored     what else the log has of it, with these members; what it has not is missing:
            replica    id of the replica that wrote it (32 hex digits)
            sequence   number of its change in the replica's chain, from 1
            index      number of the operation in its change, from 0
            hash, previous   the hash of its change (64 hex digits), and that of the previous change in its chain. If \
        two changes follow the same one, two machines wrote as one device; both count
            claimed_stamp    the time that the author claims: hybrid, 16 hex digits, 12 of milliseconds since 1970, 4 \
        of a counter
            stamp      the effective time: the highest of the claimed one (none if the change is restamped), and one \
        above those of the previous change and of what the author had seen. Writes are ordered by (stamp, replica, \
        sequence), compared as text or numbers, then by the first hashes of their forks, then by index. For a \
        change that is held or waiting it is the claimed one
            context    what the author had seen: {replica: {first 16 digits of a hash: sequence}}, and the earlier \
        changes of these chains; within its own change also the earlier operations
            user       id of the user who wrote it
            kind       create, set, unset, move, delete, introduce, restamp, undo, redo, erase, redacted, action, \
        branch-create, branch-delete, branch-merge, or unknown-N
            name       of the property whose earlier values are erased (erase), or of whose value only a hash is left \
        (redacted); of a new branch (branch-create); of the program that made the change, and those after it that do \
        not say (action)
            start      the claimed_stamp of the change with which the action began that an undo takes back in one, \
        if that is an earlier one, in whatever circle (action)
            position   the place among its new siblings (move), which are ordered by position as bytes, then id. A \
        position that is not printable ASCII is 0x and hex
            branch     id of the branch that the chain belongs to (introduce; missing for the main timeline), or that \
        is created, deleted or merged, with "main" for the main timeline
            parent     id of the branch that a new branch leaves, or "main" (branch-create)
            base       what a new branch begins with (branch-create): these changes, written as a context is, and all \
        that their authors had seen. Of two entries that create one branch, the one counts whose bytes are lower
            device     id of the machine that begins the chain (introduce)
            changes    {replica, first_sequence, last_sequence, last_hash}: the changes that are ordered directly \
        after what they had seen (restamp), or the one that is taken back or done again (undo, redo)
        A branch is computed from the log alone: its state is the merge of what it begins with, of all changes of its \
        chains, and of what these take in. A change takes in what its "context" names newly of its own timeline, and \
        of those that it says it merges (branch-merge); and what it names newly that such a change had taken in
        """
}

extension LogEntryAnswer {
    /// One line for people.
    var text: String {
        let dot = self.stored.map { "\($0.replica.prefix(8)):\($0.sequence).\($0.index)" } ?? self.id
        return "\(dot)  \(PlainText.time(self.timeMs))  \(self.author.name)  \(self.what)\(self.statusText)"
    }

    private var what: String {
        let (object, changes) = (self.object ?? "", self.stored?.changes)
        switch self.stored?.kind {
        case "introduce": return "introduce \(self.author.name)"
        case "restamp":
            let range = "\(changes?.firstSequence ?? 0) to \(changes?.lastSequence ?? 0)"
            return "restamp changes \(range) of replica \(changes?.replica ?? "")"
        case "undo", "redo":
            let target = "change \(changes?.lastSequence ?? 0) of replica \(changes?.replica ?? "")"
            return "\(self.stored?.kind ?? "") \(target)"
        case "action":
            let program = self.stored?.name.map { $0.isEmpty ? "without a name" : $0 } ?? ""
            let begin = self.stored?.start == nil ? "" : ", goes on with what began earlier"
            return "by the program \(program)\(begin)"
        case "erase": return "erase the earlier values of \(object) \(self.stored?.name ?? "")"
        case "redacted":
            let isNeeded = self.status.known == .effective || self.status.known == .conflict
            return "a value of \(object) \(self.stored?.name ?? "") that \(isNeeded ? "is missing" : "was dropped")"
        case let kind?:
            if kind.hasPrefix("unknown-") {
                return "an operation of kind \(kind.dropFirst("unknown-".count)), unknown to this version"
            }
            return self.action.other == nil ? self.action.text(object) : kind
        case nil: return self.action.text(object)
        }
    }
}
