package import CRDTCore
internal import Engine
package import PeerdKit

/// An operation of the log.
package struct LogEntryAnswer: SparseAnswer {
    package var id: String
    package var author: AuthorAnswer
    package var timeMs: Int64
    /// Nil for what changes no object; pages leave that out.
    package var object: String?
    package var action: ActionAnswer
    package var status: Word<Status>
    /// What else is stored of it, if the whole log was asked for.
    package var stored: StoredOperation?

    package enum Status: String, CaseIterable, Sendable {
        case effective, superseded, conflict, held, waiting, unmerged, unread, rejected
        case withoutEffect = "without_effect"
    }

    init(_ entry: LogEntry, isWhole: Bool = false) {
        (self.id, self.author) = (entry.id, AuthorAnswer(entry.author))
        (self.timeMs, self.object) = (entry.date.millisecondsSince1970, entry.object?.description)
        self.action = ActionAnswer(entry.action)
        self.status = Word(rawValue: entry.status.rawValue.replacing(" ", with: "_"))
        guard isWhole, let source = entry.source else { return }
        self.stored = StoredOperation(source)
        if case .erase(let erasure) = source.edit { self.object = erasure.object.description }
    }
}

package struct LogPageAnswer: Answer {
    package var entries: [LogEntryAnswer]
    package var next: String?
}

/// What an operation does: one of the members.
package struct ActionAnswer: SparseAnswer {
    package var create: KindAnswer?
    package var set: Assignment?
    package var unset: Name?
    package var move: Place?
    package var delete: Bool?
    package var other: Bool?

    package struct Assignment: Answer {
        package var name: String
        package var value: JSON
    }

    package struct Name: Answer {
        package var name: String
    }

    package struct Place: Answer {
        package var parent: String?
    }

    init(_ action: LogEntry.Action) {
        switch action {
        case .create(let type, let kind): self.create = KindAnswer(type: type, kind: kind)
        case .set(let name, let value): self.set = Assignment(name: name, value: value.json)
        case .unset(let name): self.unset = Name(name: name)
        case .move(let parent): self.move = Place(parent: parent?.description)
        case .delete: self.delete = true
        case .housekeeping, .unread: self.other = true
        }
    }
}

/// What the log has of an operation beside what it does.
package struct StoredOperation: SparseAnswer {
    package var replica: String
    package var sequence: Int
    package var index: Int
    package var hash: String
    package var previous: String?
    package var claimedStamp: String
    package var stamp: String
    package var context: PointsAnswer
    package var user: String?
    package var kind: String
    package var name: String?
    package var position: String?
    package var branch: String?
    /// The branch that a new branch leaves, or main, and the changes that it begins with.
    package var parent: String?
    package var base: PointsAnswer?
    package var device: String?
    package var start: String?
    package var changes: Stretch?

    /// Changes that a restamp, an undo or a redo is about.
    package struct Stretch: Answer {
        package var replica: String
        package var firstSequence: Int
        package var lastSequence: Int
        package var lastHash: String
    }

    package init(_ source: LogEntry.Source) {
        (self.replica, self.sequence) = (source.replica.description, Int(clamping: source.write.sequence))
        (self.index, self.hash) = (Int(source.write.index), source.header.hash.description)
        self.previous = source.previous?.description
        (self.claimedStamp, self.stamp) = (StampText.of(source.header.stamp), StampText.of(source.write.stamp))
        self.context = .of(source.context.map { ($0.replica, Hexadecimal.text($0.name.rawValue), $0.sequence) })
        self.user = source.introduction?.user.description
        switch source.edit {
        case .create: self.kind = "create"
        case .set: self.kind = "set"
        case .unset: self.kind = "unset"
        case .delete: self.kind = "delete"
        case .unknown(let kind, _): self.kind = "unknown-\(kind)"
        case .redacted(_, let name, _): (self.kind, self.name) = ("redacted", name)
        case .erase(let erasure): (self.kind, self.name) = ("erase", erasure.name)
        case .move(_, let place): (self.kind, self.position) = ("move", StateExport.text(of: place.position))
        case .introduce(let introduction):
            (self.kind, self.device) = ("introduce", introduction.device?.description)
            self.branch = introduction.branch?.description
        case .branch(let statement):
            switch statement {
            case .closes(let id): (self.kind, self.branch) = ("branch-delete", id.description)
            case .merges(let id):
                (self.kind, self.branch) = ("branch-merge", id?.description ?? Branch.mainName)
            case .opens(let opening):
                (self.kind, self.branch, self.name) = ("branch-create", opening.id.description, opening.name)
                self.parent = opening.parent?.description ?? Branch.mainName
                self.base = .of(
                    opening.base.map { ($0.replica, Hexadecimal.text(ChangeName($0.hash).rawValue), $0.sequence) }
                )
            }
        case .action(let statement):
            (self.kind, self.name, self.start) = ("action", statement.label, statement.start.map(StampText.of))
        case .rights(let statement):
            self.kind =
                switch statement {
                case .grants: "grant"
                case .removes: "removal"
                case .removesDevice: "device-removal"
                case .membershipKey: "membership-key"
                }
        case .restamp(let restamp):
            self.kind = "restamp"
            self.changes = Stretch(restamp.replica, (restamp.firstSequence, restamp.lastSequence), restamp.lastHash)
        case .undo(let undo):
            self.kind = undo.isRedo ? "redo" : "undo"
            self.changes = Stretch(undo.target.replica, (undo.target.sequence, undo.target.sequence), undo.target.hash)
        }
    }
}

extension StoredOperation.Stretch {
    fileprivate init(_ replica: ReplicaID, _ sequences: (first: UInt64, last: UInt64), _ hash: Hash256) {
        (self.replica, self.lastHash) = (replica.description, hash.description)
        (self.firstSequence, self.lastSequence) = (Int(clamping: sequences.first), Int(clamping: sequences.last))
    }
}

/// Stamps as text that sorts as they do: sixteen hexadecimal digits.
package enum StampText {
    package static func of(_ stamp: Stamp) -> String { Hexadecimal.text(stamp.rawValue) }
}

extension Hexadecimal {
    /// Sixteen digits.
    static func text(_ number: UInt64) -> String {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(number)
        return self.text(bytes)
    }
}
